// Shared by all pages, which are whole without it: search, copies, pictures of figures.
(() => {
  const base = new URL(".", document.currentScript.src);
  const parts = {};
  const waiting = {};
  // Data are scripts that register themselves: a page opened from a file cannot fetch.
  const load = (name) =>
    (waiting[name] ||= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(`data/${name}.js`, base);
      script.onload = () => resolve(parts[name]);
      script.onerror = () => reject(new Error(`data/${name}.js is missing: build the site again with make report`));
      document.head.append(script);
    }));
  const take = (name, value) => (parts[name] = value);

  // ---- words: the same for the index and for what is asked
  const words = (text) =>
    text
      .normalize("NFKC")
      .toLowerCase()
      .replace(/elastic fabric adapter/g, "efa")
      .replace(/worth the (money|price|cost)s?|pay off/g, "worth it")
      .replace(/(\d)\s*%/g, "$1%")
      .replace(/(\d) (?:or|and) (?=\d+ gbit)/g, "$1gbe ")
      .replace(/(\d)\s*(?:gbe|gbit(?:\/s)?|gbps|gigabit(?: ethernet)?)(?!\p{L})/gu, "$1gbe")
      .match(/[\p{L}\d]+(?:[.,]\d+)*%?/gu) || [];
  const spaced = (text) => ` ${words(text).join(" ")} `;
  // LS-DYNA is also sought as lsdyna, and a name of a file such as runs_per_job is a word.
  const NAMES = /[\p{L}\d]+(?:_[\p{L}\d]+)+/gu;
  const whole = (name) => name.replace(/[-_]/g, "").toLowerCase();
  const joined = (text) => [...(text.match(/\p{L}{2,}-\p{L}{2,}/gu) || []), ...(text.match(NAMES) || [])].map(whole);

  // What is left of a word without its ending: measures, measured, measuring and measurement are one. A short
  // rest is no stem: "string" is no "str". Each spelling of -ise counts.
  const stem = (word) => {
    if (!/^\p{L}{4,}$/u.test(word)) return word;
    const one = word.replace(/iz(e|es|ed|er|ing|ation)$/, "is$1");
    const short = one.replace(/(?:ations?|ments?|[ai]bilit(?:y|ies)|[ai]bles?|ings?|ies|ied|ers?|ed|es|(?<!s)s|e|y)$/, "");
    return short.length > 3 ? short.replace(/e$|([bdfglmnprt])(?=\1$)/, "") : one.replace(/(?<!s)s$/, "");
  };

  // Words that mean nearly the same to who searches.
  const SYNONYMS = [
    "wh kwh joule energy power watt kilowatt electricity",
    "wattmeter powermeter > meter",
    "repetition > repeats",
    "infiniband ib fdr qdr edr hdr ddr",
    "roce rdma",
    "1gbe gigabit gige",
    "10gbe 10gige",
    "ethernet 1gbe 10gbe 40gbe",
    "interconnect network link links fabric",
    "dimm dimms memory ram modules",
    "rank ranks processes",
    "cpu processor processors generation",
    "jobs throughput productivity",
    "job run simulation",
    "scale scalability scalable limit",
    "cost price money usd",
    "cite citation",
    "turbo frequency clock ghz underclock overclock downclock boost dvfs governor",
    "sharp switch in-network",
    "faster fast speedup speed slowdown",
    "message messages",
    "flags compiler optimisation",
    "hyperthreading smt",
    "noise repeat scatter jitter variation variability reproducible",
    "interval intervals uncertainty",
    "imbalance imbalanced waiting",
    "dual both",
    "single one",
    "efficiency peak",
    "hpl linpack",
    "data bytes volume",
    "communication mpi",
    "measure > meter",
    "cost price money > energy electricity",
    "size large distribution histogram",
    "reproduce reproducible repeat verify",
    "predict forecast whatif",
    "parser reader format",
    "upgrade update regression",
    "regression slower worse",
    "cancelled killed failed aborted excluded",
    "rss > memory resident",
    "csv spreadsheet excel table",
    "supercomputer cluster machine",
    "topology torus dragonfly > tree",
    "alltoall allgather reduce > collective allreduce",
    "libfabric ofi",
    "gcp google",
    "onprem > premises",
    "roi > cost",
    "oom > memory",
    "pinning binding affinity > placement ranks",
    "colocation oversubscription packing sharing > jobs",
    "cfd > openfoam",
    "fem fea > ls-dyna lsdyna radioss",
    "dft > vasp castep cp2k",
    "md > gromacs lammps namd",
    "whitepaper paper brochure > report",
    "debunked disproved false > refuted",
    "nic nics hca adapter card cards > interconnect",
    "mb megabyte gb gigabyte gib mib > memory",
    "document vendor > report",
    "wrong mistake > contradiction inconsistent",
    "proof prove trust > evidence",
    "errorbars stddev sigma hypothesis > interval",
    "instrumentation vtune > profiler",
    "ipynb jupyter > notebook",
    "avx simd > vectorisation",
    "licence license",
    "setup configuration configure",
    "new add",
    "numa socket sockets",
    "hyper-threading hyperthreading",
    "cloud clouds",
    "arm aarch64 a64fx graviton",
    "x86 xeon epyc",
    "carbon co2 co2e emissions greenhouse",
    "footprint > memory carbon",
    "validate check",
    "exit status",
    "ci > integration",
    "pipeline > integration",
    "definition > glossary",
    "overhead > cost slowdown",
  ].map((group) => group.split(" "));

  // A network is each of these, and none of these is the other.
  const NETWORKS = /^(interconnect|network|fabric)s?$/;
  const LINKS = "infiniband fdr qdr edr hdr ethernet 1gbe 10gbe roce efa".split(" ");

  let index = null;
  const prepare = (raw) => {
    const df = new Map(); // entries by stem
    const vocabulary = new Set();
    const names = new Set(); // OpenFOAM, IPM, NDR: words with two capitals
    const entries = raw.entries.map((one) => {
      const weights = new Map();
      const add = (text, weight) => {
        for (const word of text.match(/\p{Lu}\p{Ll}*[\p{Lu}\d][\p{L}\d]*/gu) || []) names.add(word.toLowerCase());
        // A part of a compound is less than the word itself: in-network computing is no network.
        const parts = new Set((text.match(/\p{L}+(?:-\p{L}+)+/gu) || []).flatMap(words));
        for (const word of [...words(text), ...joined(text)])
          weights.set(word, Math.max(weights.get(word) || 0, parts.has(word) ? 0.9 * weight : weight));
      };
      add(one.body || "", 1);
      add(one.terms || "", 2);
      add(one.about || "", 3);
      add(one.also || "", 4);
      add(one.alias || "", 8);
      // Of what is not measured its own words count; the campaign in brackets is no word of a question.
      if (one.kind !== "gap") add(one.title.replace(/ \([\w.-]+\)$/, ""), 8);
      for (const word of weights.keys()) vocabulary.add(word);
      for (const one of new Set([...weights.keys()].map(stem))) df.set(one, (df.get(one) || 0) + 1);
      return { ...one, weights, length: words(one.title).length, phrase: spaced(one.title), named: spaced(`${one.terms || ""} ${one.also || ""}`) };
    });
    const stems = new Map();
    for (const word of vocabulary) stems.set(stem(word), [...(stems.get(stem(word)) || []), word]);
    const synonyms = new Map();
    for (const group of SYNONYMS) {
      const at = group.indexOf(">"); // who asks what it costs wants energies, not the other way round
      for (const word of at < 0 ? group : group.slice(0, at))
        synonyms.set(stem(word), [...(synonyms.get(stem(word)) || []), ...group.slice(at + 1).filter((w) => w !== word)]);
    }
    return { entries, df, stems, synonyms, vocabulary, names, titles: entries.map((one) => one.phrase).join(""), others: entries.map((one) => one.named).join("") };
  };

  // Letters that are missing, too many, wrong, or two that changed places.
  const distance = (a, b) => {
    if (Math.abs(a.length - b.length) > 2) return 3;
    let before = [];
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[b.length];
  };
  // The nearest words to a misspelt one; of equally near ones, those with the same letters.
  const nearest = (word) => {
    const letters = [...word].sort().join();
    const found = [...index.vocabulary]
      .filter(([first, second]) => first === word[0] || (second === word[0] && first === word[1])) // seldom wrong
      .map((other) => [other, distance(word, other) - 0.5 * ([...other].sort().join() === letters)])
      .filter(([, far]) => far <= (word.length > 6 ? 2 : 1));
    const least = Math.min(...found.map(([, far]) => far));
    return found.filter(([, far]) => far === least);
  };

  // Words of a question that say nothing of its subject.
  const COMMON = new Set(
    ("a an and any are as at be best better between by can could count counts do does each effect effects enough every fast faster fastest for from get good has have help helps higher how i if impact in influence is it long lower many me" +
      " most much my need needs of off on one or own per performance real really s several should slow slower solution spend spent t take takes than that the there to two use using versus vs want was way we were what when which with worth would you")
      .split(" ")
      .map(stem)
  );
  const ASKING = new Set("how which what why is are do does did should can a an the of".split(" "));
  const rarity = (word) => Math.log(1 + index.entries.length / index.df.get(stem(word)));

  // What a word of the question may be in the index, each with its weight.
  const meanings = (word) => {
    const found = new Map([[word, 1]]);
    const add = (one, weight) => found.has(one) || found.set(one, weight);
    const same = (one, weight) => [one, ...(index.stems.get(stem(one)) || [])].forEach((other) => add(other, weight));
    if (/^\d+$/.test(word)) add(`${word}%`, 0.9);
    const number = /^\p{L}{3,}s$/u.test(word) ? word.slice(0, -1) : /^\p{L}{3,}$/u.test(word) ? `${word}s` : word;
    add(number, 1); // of singular and plural, each finds the other as itself
    same(word, 0.8);
    for (const other of index.synonyms.get(stem(word)) || []) same(other, 0.6);
    if (NETWORKS.test(word)) for (const other of LINKS) add(other, 0.3);
    if (word.length >= 3)
      for (const other of index.vocabulary) if (other.startsWith(number.length < word.length ? number : word)) add(other, 0.5);
    // A synonym or a longer word that is rarer than the word itself must not count more than the word.
    const most = Math.min(...[word, number].filter((one) => index.vocabulary.has(one)).map(rarity));
    return [...found].filter(([one]) => index.vocabulary.has(one)).map(([one, weight]) => [one, weight * Math.min(rarity(one), most)]);
  };
  // Of a word that is nowhere they are those of its stem, or of words with one or two wrong letters.
  const forms = (word) => {
    if (index.vocabulary.has(word) || word.length < 4) return meanings(word);
    const own = index.stems.has(stem(word)) || index.synonyms.has(stem(word)) ? meanings(word) : [];
    if (own.length) return own;
    const near = nearest(word);
    return near.flatMap(([other, far]) => meanings(other).map(([one, weight]) => [one, Math.min(1, 0.8 / far) * weight]));
  };

  // "openmpi" is Open MPI where a title has the two words; an unknown word also where another name has them.
  const apart = (word) => {
    const where = index.titles + (index.vocabulary.has(word) ? "" : index.others);
    for (let i = 2; i < word.length - 1; i++) {
      const two = [word.slice(0, i), word.slice(i)];
      if (where.includes(` ${two.join(" ")} `)) return two;
    }
    return [word];
  };

  const find = (question, most = 15) => {
    const typed = words(question.replace(NAMES, (name) => (index.vocabulary.has(whole(name)) ? whole(name) : name))).flatMap(apart);
    // "archer 2" is archer2 where that is a word.
    const pair = (i) => /^\p{L}+$/u.test(typed[i]) && /^\d+$/.test(typed[i + 1]) && index.vocabulary.has(typed[i] + typed[i + 1]);
    const said = [...new Set(typed.flatMap((word, i) => (pair(i) ? [word + typed[i + 1]] : i && pair(i - 1) ? [] : [word])))];
    const meaning = /^\s*what (is|are|do|does) /i.test(question); // of a word: the glossary says it
    const telling = said.filter((word) => !COMMON.has(stem(word)) && !(meaning && /^means?$/.test(word)));
    const sought = telling.length ? telling : said;
    // Of "cost of electricity" the word cost is hardly also the electricity, though one can mean the other.
    const stems = sought.map(stem);
    const elsewhere = (word, i) => stem(word) !== stems[i] && stems.includes(stem(word));
    const lessened = (word, i) => forms(word).map(([one, weight]) => [one, elsewhere(one, i) ? 0.25 * weight : weight]);
    const asked = sought.map((word, i) => lessened(NETWORKS.test(word) ? "interconnect" : word, i));
    // Nearly everything here is about jobs: an entry without the word lacks little, and without a rare word much.
    // Dual and single tell what of only by their noun: a dual socket is no dual rank.
    const number = (word) => /^(single|dual)$/.test(word);
    const share = sought.map((word) => (/^(job|run|code|simulation|benchmark|result|usage|consumption|overhead)s?$/.test(word) ? 0.25 : number(word) ? 0.3 : 1));
    const rare = asked.map((one, i) => share[i] * Math.max(0, ...one.map(([, weight]) => weight)));
    const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
    const needed = sum(share);
    const phrase = spaced(question);
    // "per watt" is more than watt where a figure or a title is called so.
    const telling_pair = ([one, word]) => !ASKING.has(one) && (sought.includes(one) || sought.includes(word));
    const pairs = typed
      .slice(1)
      .map((word, i) => [typed[i], word])
      .filter(telling_pair)
      .map((pair) => ` ${pair.join(" ")} `);
    const method = /^\s*how (to|is|are|can|do i|do you|does it|many .*(do|should) i)\b|\bhow (computed|calculated|estimated|measured)/i.test(question); // the documentation says how
    const asking = /^\s*(how|which|is|are|do|does|should|can)\b|\b(vs|versus|or)\b/i.test(question); // pages answer questions
    const wanted = method ? ["docs"] : asking ? ["page", "report"] : [];
    const figure = /\d/.test(question); // a claim is known by its figure; words alone ask for a page
    const favour = ({ kind, url }) => (meaning && url.startsWith("docs/glossary") ? 5 : wanted.includes(kind) ? 1.5 : kind === "claim" && !figure ? 0.68 : 1);
    const scored = index.entries.map((entry) => {
      let score = 0;
      let met = 0;
      let cover = 0;
      const has = [];
      for (const [i, one] of asked.entries()) {
        let best = 0;
        for (const [word, weight] of one)
          best = Math.max(best, weight * (entry.weights.get(word) || 0));
        score += number(sought[i]) ? share[i] * best : best;
        met += best > 0 ? share[i] : 0;
        has.push(best > 0);
        cover += best > 0 ? rare[i] : 0;
      }
      score *= (entry.boost || 1) * favour(entry) * (1 + 1 / (6 + entry.length));
      for (const one of pairs) if (entry.named.includes(one) || entry.phrase.includes(one)) score *= 1.4;
      if (said.length > 1 && entry.phrase.includes(phrase)) score *= 3; // the title says it word by word
      else if (entry.phrase === phrase) score *= 1.6; // nothing but this word
      return { entry, met, cover, score, has };
    });
    const all = scored.filter((one) => one.met === needed && one.met);
    const exact = all.length > 0;
    // A title with most of the words is nearer than a long passage that has them all somewhere. Of a name that
    // few entries have, such as OpenFOAM, the others say nothing.
    const named = sought.map((word) => index.names.has(word) && rarity(word) > 3);
    for (const one of scored)
      one.score *= (one.cover / sum(rare) || 0) * sought.reduce((all, _, i) => (named[i] && !one.has[i] ? 0.4 * all : all), 1);
    const some = scored.filter((one) => one.met);
    some.sort((a, b) => b.score - a.score);
    const best = some.length ? some[0].score : 0;
    const hits = some.filter((one) => one.score >= 0.3 * best).slice(0, most).map((one) => one.entry);
    return { hits, exact, claims: all.filter((one) => one.entry.kind === "claim").map((one) => one.entry) };
  };

  const ready = () => load("search").then((raw) => (index ||= prepare(raw)));

  // Rows read their details when they are opened; the event does not bubble.
  document.addEventListener("toggle", async ({ target }) => {
    const group = target.open && target.parentElement.dataset.group;
    const detail = group && target.querySelector(".detail");
    if (detail && !detail.childElementCount) detail.innerHTML = (await load(group)).details[target.parentElement.id];
  }, true);

  // Long parts of a page are scripts, too. They are read when nothing else is to do, and shown when they are
  // opened, asked for by their address, looked for in the browser's own search, or printed.
  const holders = [...document.querySelectorAll("[data-part]")];
  const show_part = (holder) => {
    const part = parts[holder.dataset.part];
    if (part === undefined || holder.dataset.filled) return;
    holder.dataset.filled = "yes";
    holder.innerHTML = part;
  };
  const fill = (holder) =>
    load(holder.dataset.part).then(
      () => show_part(holder),
      (fault) => (holder.textContent = fault.message)
    );
  for (const holder of holders)
    holder.closest("details").addEventListener("toggle", ({ currentTarget }) => currentTarget.open && fill(holder));
  const opened = [];
  const follow_part = async () => {
    const anchor = decodeURIComponent(location.hash.slice(1));
    for (const holder of holders) {
      if (!anchor || document.getElementById(anchor)) break;
      await fill(holder);
    }
    const row = anchor && document.getElementById(anchor);
    if (!row || !row.closest("[data-part]")) return;
    for (let e = row.querySelector("details"); e; e = e.parentElement.closest("details")) e.open = true;
    row.scrollIntoView({ block: "center" });
  };
  if (holders.length) {
    const idle = window.requestIdleCallback || setTimeout;
    addEventListener("load", () => idle(() => holders.forEach((one) => load(one.dataset.part).catch(() => {}))));
    addEventListener("keydown", ({ key, ctrlKey, metaKey }) => {
      if ((ctrlKey || metaKey) && key === "f") holders.forEach(show_part);
    });
    addEventListener("beforeprint", () => {
      for (const holder of holders.filter((one) => one.closest(".group"))) {
        const group = holder.closest("details");
        show_part(holder);
        if (!group.open) opened.push(group);
        group.open = true;
      }
    });
    addEventListener("afterprint", () => opened.splice(0).forEach((one) => (one.open = false)));
    addEventListener("hashchange", follow_part);
    follow_part();
  }

  window.benchbook = { take, load, ready, find: (question, most) => find(question, most), entries: () => index.entries };

  // ---- the search box
  const box = document.getElementById("find");
  const list = document.getElementById("hits");
  const status = document.getElementById("found");
  const show = () => {
    const question = box.value.trim();
    if (!question) return hide();
    ready().then(
      () => {
        const { hits, exact } = find(question);
        status.textContent = hits.length
          ? exact ? `${hits.length} hit${hits.length > 1 ? "s" : ""}, the best first` : "Nothing has all of these words. The nearest:"
          : "Nothing here has these words. Try a word of the report, such as InfiniBand.";
        list.replaceChildren(
          ...hits.map((one) => {
            const item = document.createElement("li");
            const link = document.createElement("a");
            link.href = new URL(one.url, base);
            link.append(one.title);
            const more = document.createElement("span");
            more.textContent = one.where;
            link.append(more);
            item.append(link);
            return item;
          })
        );
        list.parentElement.hidden = false;
      },
      (fault) => {
        status.textContent = fault.message;
        list.parentElement.hidden = false;
      }
    );
  };
  const hide = () => {
    list.parentElement.hidden = true;
    list.replaceChildren();
  };
  box.form.hidden = false;
  box.addEventListener("focus", () => ready().catch(() => {}), { once: true });
  box.addEventListener("input", show);
  box.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = list.querySelector("a");
    if (first) location.assign(first.href);
  });
  box.form.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      hide();
      box.focus();
    } else if (event.key === "ArrowDown" && links.length) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (links[at - 1] || box).focus();
    }
  });
  list.addEventListener("click", () => setTimeout(hide));
  document.addEventListener("click", (event) => box.form.contains(event.target) || hide());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      box.focus();
    }
  });

  // ---- copies and pictures
  const copy = async (button, text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      button.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = before), 1500);
  };
  const picture = (svg) =>
    new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = 2 * image.naturalWidth;
        canvas.height = 2 * image.naturalHeight;
        const pen = canvas.getContext("2d");
        pen.fillStyle = "#fff";
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.drawImage(image, 0, 0, canvas.width, canvas.height);
        resolve(canvas.toDataURL("image/png"));
      };
      image.onerror = () => reject(new Error("the figure cannot be drawn"));
      image.src = svg;
    });
  window.benchbook.picture = picture;
  const inline = (figure) => {
    const one = figure.querySelector("svg").cloneNode(true);
    one.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(one));
  };
  window.benchbook.inline = inline;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy], button[data-png]");
    if (!button) return;
    if (button.dataset.png) {
      const drawn = button.dataset.svg || inline(button.closest("figure"));
      picture(drawn).then((url) => {
        const link = document.createElement("a");
        link.href = url;
        link.download = button.dataset.png;
        link.click();
      });
      return;
    }
    const what = button.dataset.copy;
    copy(button, what.startsWith("#") ? new URL(what, button.dataset.page ? new URL(button.dataset.page, base) : location.href).href : what);
  });
})();

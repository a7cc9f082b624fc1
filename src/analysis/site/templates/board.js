// The scoreboard of the front page: topics whose rows are read when they are opened, and the filters.
(() => {
  const form = document.getElementById("filter");
  const groups = [...document.querySelectorAll(".group")];
  const output = document.getElementById("shown");
  const reset = form.querySelector("[type=reset]");
  const fields = [...form.elements].filter((e) => e.name);
  const FEW = 20; // rows that are opened at once

  const fill = async (group) => {
    const list = group.querySelector(".rows");
    if (group.dataset.filled) return;
    group.dataset.filled = "yes";
    const part = await benchbook.load(group.id);
    list.innerHTML = part.rows;
    narrow(group);
  };

  let wanted = null; // anchors of the claims that pass the filters
  const narrow = (group) => {
    for (const row of group.querySelector(".rows").children) row.hidden = wanted !== null && !wanted.has(row.id);
  };

  const passes = (one, want) =>
    want.every(([name, value]) =>
      name === "q" ? true : name === "evidence" ? one.facets.evidence.split(" ").includes(value) : one.facets[name] === value
    );

  const apply = async (write = true) => {
    const want = fields.map((e) => [e.name, e.value.trim()]).filter(([, value]) => value);
    await benchbook.ready();
    const claims = benchbook.entries().filter((one) => one.kind === "claim");
    const asked = want.find(([name]) => name === "q");
    const some = asked ? new Set(benchbook.find(asked[1], 0).claims) : null;
    const found = claims.filter((one) => passes(one, want) && (!some || some.has(one)));
    wanted = want.length ? new Set(found.map((one) => one.anchor)) : null;
    const count = new Map();
    for (const one of found) count.set(one.group, (count.get(one.group) || 0) + 1);
    for (const group of groups) {
      const here = count.get(group.id) || 0;
      group.hidden = want.length > 0 && !here;
      group.querySelector(".many").textContent = want.length ? `${here} of ${group.dataset.total}` : group.dataset.total;
      const details = group.firstElementChild;
      details.open = want.length > 0 && here > 0 && found.length <= FEW;
      if (group.dataset.filled) narrow(group);
      else if (details.open) fill(group);
    }
    output.textContent = `${found.length} of ${claims.length} rows`;
    if (want.length && !found.length) output.textContent += ". No claim passes all filters: clear one of them";
    reset.hidden = !want.length;
    const hash = new URLSearchParams(want).toString();
    if (write) history.replaceState(null, "", hash ? "#?" + hash : location.pathname + location.search);
  };

  const follow = async () => {
    const hash = location.hash.slice(1);
    if (hash.startsWith("?")) {
      const given = new URLSearchParams(hash.slice(1));
      for (const field of fields) field.value = given.get(field.name) || "";
      await apply(false);
      form.scrollIntoView();
      return;
    }
    if (!hash) return;
    const anchor = decodeURIComponent(hash);
    if (!document.getElementById(anchor)) {
      await benchbook.ready();
      const one = benchbook.entries().find((entry) => entry.anchor === anchor);
      if (!one) return;
      const group = document.getElementById(one.group);
      group.firstElementChild.open = true;
      await fill(group);
    }
    const target = document.getElementById(anchor);
    target.hidden = false;
    for (let e = target.querySelector("details"); e; e = e.parentElement && e.parentElement.closest("details")) e.open = true;
    target.scrollIntoView({ block: "center" });
  };

  form.hidden = false;
  for (const group of groups) group.firstElementChild.addEventListener("toggle", () => group.firstElementChild.open && fill(group));
  form.addEventListener("input", () => apply());
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  window.addEventListener("hashchange", follow);
  window.benchbook.apply = apply;
  follow();
})();

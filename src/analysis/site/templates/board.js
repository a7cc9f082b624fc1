// The page is whole without this: it adds the filters, and opens the row that a link points to.
(() => {
  const form = document.getElementById("filter");
  const rows = [...document.querySelectorAll(".row")];
  const groups = [...document.querySelectorAll(".group")];
  const shown = document.getElementById("shown");
  const reset = form.querySelector("[type=reset]");
  const fold = document.getElementById("fold");
  const fields = [...form.elements].filter((e) => e.name);

  const matches = (row, want) =>
    want.every(([name, value]) =>
      name === "q"
        ? value.toLowerCase().split(/\s+/).every((word) => row.dataset.search.includes(word))
        : name === "evidence"
          ? row.dataset.evidence.split(" ").includes(value)
          : row.dataset[name] === value
    );

  const apply = () => {
    const want = fields.map((e) => [e.name, e.value.trim()]).filter(([, value]) => value);
    let count = 0;
    for (const row of rows) {
      row.hidden = !matches(row, want);
      count += !row.hidden;
    }
    for (const group of groups) {
      group.hidden = !group.querySelector(".row:not([hidden])");
      if (want.length && !group.hidden) group.querySelector("details").open = true;
    }
    shown.textContent = `${count} of ${rows.length}`;
    reset.hidden = !want.length;
    const hash = new URLSearchParams(want).toString();
    history.replaceState(null, "", hash ? "#?" + hash : location.pathname + location.search);
  };

  const follow = () => {
    const hash = location.hash.slice(1);
    if (hash.startsWith("?")) {
      const wanted = new URLSearchParams(hash.slice(1));
      for (const field of fields) field.value = wanted.get(field.name) || "";
      apply();
      return;
    }
    const target = hash && document.getElementById(decodeURIComponent(hash));
    if (!target) return;
    for (let e = target.querySelector("details"); e; e = e.parentElement && e.parentElement.closest("details")) e.open = true;
    target.scrollIntoView({ block: "center" });
  };

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  fold.addEventListener("click", () => {
    const folded = fold.getAttribute("aria-pressed") !== "true";
    fold.setAttribute("aria-pressed", folded);
    fold.textContent = folded ? "Unfold all" : "Fold all";
    for (const group of groups) group.querySelector("details").open = !folded;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      form.elements.q.focus();
    }
  });
  window.addEventListener("hashchange", follow);
  follow();
})();

// Search, filter and sorting of the ranking; what is chosen stands behind the # of the address.
"use strict";
for (const strip of document.querySelectorAll(".tabs, .pills")) {  // what is chosen is in sight
  const here = strip.querySelector("[aria-current]");
  const left = here ? here.offsetLeft - strip.offsetLeft : 0;
  if (here && left + here.offsetWidth > strip.clientWidth) strip.scrollLeft = left - 40;
}
(() => {
  const table = document.getElementById("ranking");
  const tools = document.getElementById("tools");
  if (!table || !tools) return;
  const others = document.getElementById("others");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const search = document.getElementById("q");
  const kind = document.getElementById("kind");
  const found = document.getElementById("found");
  const words = new Intl.Collator(document.documentElement.lang, { numeric: true });

  const valueOf = (row, column) => row.cells[column].dataset.v;

  function compare(column, way) {
    return (one, other) => {
      const a = valueOf(one, column), b = valueOf(other, column);
      if (a === "" || b === "") return (a === "") - (b === "");  // unknown stays at the end
      const [x, y] = [Number(a), Number(b)];
      const both = Number.isNaN(x) || Number.isNaN(y) ? words.compare(a, b) : x - y;
      return way === "ascending" ? both : -both;
    };
  }

  function sort(column, way) {
    heads.forEach((head, number) => {
      if (number === column) head.setAttribute("aria-sort", way);
      else head.removeAttribute("aria-sort");
    });
    body.append(...[...rows].sort(compare(column, way)));
  }

  function filter() {
    const text = search.value.trim().toLowerCase();
    const fits = (row) =>
      row.dataset.search.toLowerCase().includes(text) &&
      (kind.value === "" || row.dataset.kind === kind.value);
    for (const row of [...rows, ...(others ? others.tBodies[0].rows : [])]) row.hidden = !fits(row);
    const shown = rows.filter((row) => !row.hidden).length;
    found.value = found.dataset.text.replace("{shown}", shown).replace("{total}", rows.length);
  }

  function read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    search.value = asked.get("q") || "";
    const kinds = [...kind.options].map((option) => option.value);
    kind.value = kinds.includes(asked.get("kind")) ? asked.get("kind") : "";
    const [name, way] = (asked.get("sort") || "rank:ascending").split(":");
    const column = heads.findIndex((head) => head.dataset.name === name);
    sort(Math.max(column, 0), way === "descending" ? way : "ascending");
    filter();
  }

  function write() {
    const told = new URLSearchParams();
    if (search.value.trim()) told.set("q", search.value.trim());
    if (kind.value) told.set("kind", kind.value);
    const head = heads.find((one) => one.hasAttribute("aria-sort"));
    const order = `${head.dataset.name}:${head.getAttribute("aria-sort")}`;
    if (order !== "rank:ascending") told.set("sort", order);
    history.replaceState(null, "", told.size ? `#${told}` : "#");
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.first || "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      sort(column, head.getAttribute("aria-sort") === first ? other : first);
      write();
    });
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const field of [search, kind]) {
    field.addEventListener("input", () => { filter(); write(); });
  }
  addEventListener("hashchange", read);
  tools.hidden = false;
  read();
})();

// What the pages of cases and comparisons share: chunks of data, words, and elements made of text.
// Everything that a model or a data set wrote reaches the page through `textContent` alone.
"use strict";

const waiting = new Map();

/** Called by a chunk, a script that hands over JSON: deflated, in base64. */
function evalboardChunk(name, text) {
  waiting.get(name)?.resolve(text);
}

let words = {};

/** Called by the file of words of the page's language. */
function evalboardWords(texts) {
  words = texts;
}

const site = (() => {
  const settings = document.documentElement.dataset;
  const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  const loads = new Map();
  const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

  /** The value of an object's own key: data may have a key such as "constructor". */
  const own = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);

  /** A text of the catalogue, undefined where there is none. */
  const lookUp = (key) => own(words.texts, key);

  function t(key, values = {}) {
    const text = lookUp(key) ?? key;
    return text.replace(/\{(\w+)\}/g, (mark, name) => String(own(values, name) ?? mark));
  }

  const say = (texts) => own(texts, language) ?? own(texts, "en") ?? "";

  /** A text on a line, without what hides or reorders it. */
  const line = (text, most = 120) => {
    const flat = String(text ?? "").replace(hidden, " ").split(/\s+/).filter(Boolean).join(" ");
    return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
  };

  // Numbers keep the digits that they were written with: 1.0, and integers beyond 2^53.
  class Exact {
    constructor(value, digits) {
      this.value = value;
      this.digits = digits;
    }
    valueOf() { return this.value; }
    toString() { return this.digits; }
  }

  const parse = (text) => JSON.parse(text, (key, value, context) => {
    const digits = context?.source;
    return typeof value === "number" && digits && digits !== String(value) ? new Exact(value, digits) : value;
  });

  /** JSON as it is written on the page. */
  function stringify(value, indent = "", step = "") {
    if (value instanceof Exact) return value.digits;
    if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
    const inner = indent + step;
    const items = Array.isArray(value)
      ? value.map((item) => stringify(item, inner, step))
      : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${step && " "}${stringify(item, inner, step)}`);
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    if (!items.length) return open + close;
    const gap = step ? "\n" : "";
    return `${open}${gap}${items.map((item) => (step ? inner : "") + item).join(`,${gap}`)}${gap}${step ? indent : ""}${close}`;
  }

  /** A cell as text: null as ∅, text as it is, anything else as JSON. */
  const cell = (value) => (value === null || value === undefined ? "∅" : typeof value === "string" ? value : stringify(value));

  const isNumber = (value) => typeof value === "number" || value instanceof Exact;

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return parse(await new Response(stream).text());
  }

  function request(name) {
    return new Promise((resolve, reject) => {
      if (!/^cases\/[a-z0-9_-]+$/.test(name)) return reject(new Error(name));
      waiting.set(name, { resolve });
      const script = document.createElement("script");
      script.src = `${settings.top}${name}.js`;
      script.addEventListener("error", () => reject(new Error(name)));
      document.head.append(script);
    }).then(unpack);
  }

  /** A chunk by its name, fetched once. */
  function load(name) {
    if (!loads.has(name)) loads.set(name, request(name));
    return loads.get(name);
  }

  /** The boards and targets of the site, these by their names in the language of the page. */
  async function loadIndex() {
    const index = await load("cases/index");
    for (const row of index.boards.flatMap((board) => board.rows)) row.name = own(words.names, row.name) ?? row.name;
    return index;
  }

  /** An element; strings among the children become text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }

  /** The address of a page of this site in the page's language; empty values are left out. */
  function address(page, query = {}) {
    const pairs = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== 0);
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
    return settings.home + page + (text ? `?${text}` : "");
  }

  const score = (value) => (isNumber(value) ? Number(value).toFixed(1) : "–");
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

  /** Show `build()`, or why it could not be done. */
  async function show(build) {
    const content = document.getElementById("view");
    try {
      if (typeof DecompressionStream === "undefined") throw new Error("old");
      content.replaceChildren(...(await build()));
    } catch (error) {
      const key = error.message === "old" ? "site.old_browser" : "site.load_failed";
      content.replaceChildren(make("p", { class: "notice", role: "alert" }, t(key)));
      if (key === "site.load_failed" && !(error.message || "").startsWith("cases/")) throw error;
    }
    content.removeAttribute("aria-busy");
  }

  /** Both the other language and the app show the same as this address. */
  function keepQuery(page) {
    for (const link of document.querySelectorAll("a.language")) link.search = location.search;
    const live = document.getElementById("live");
    if (live) live.href = live.dataset.base + page + location.search;
  }

  const query = () => new URLSearchParams(location.search);

  function setQuery(values) {
    const pairs = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined);
    const text = new URLSearchParams(pairs).toString();
    history.replaceState(null, "", text ? `?${text}` : location.pathname);
  }

  /** A select with its label; `options` are [value, text] pairs. */
  function select(label, options, chosen, change) {
    const field = make("select", {}, options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
    field.addEventListener("change", () => change(field.value));
    return make("label", {}, label, field);
  }

  /** A table in a region that scrolls; cells are strings or elements. */
  function table(label, titles, rows, look = {}) {
    const numbers = new Set(look.numbers ?? []);
    const mark = (index) => ({ class: numbers.has(index) ? "num" : undefined });
    return make("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
      make("table", {},
        make("thead", {}, make("tr", {}, titles.map((title, index) => make("th", mark(index), title)))),
        make("tbody", {}, rows.map((row) => make("tr", { class: row.look }, row.map((value, index) => make("td", mark(index), value)))))));
  }

  return { Exact, own, lookUp, t, say, line, stringify, cell, isNumber, load, loadIndex, make, address, score, signed, show, keepQuery, query, setQuery, select, table, language, settings, parse };
})();

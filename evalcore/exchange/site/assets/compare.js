// Two rows of a board on the cases that both were given: who is ahead, by how much, and whether it
// could be chance. The formulas are those of the app (`evalcore.scoring.intervals`).
"use strict";

const paired = (() => {
  const Z = 1.959963984540054, PRIOR = 2, PRIOR_WHOLE = Z * Z, NEGLIGIBLE = 1e-12, FLIPS = 10000, EXACT = 14;
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  /** How many equally weighted cases without strata determine the mean as well as these do. */
  function effectiveSize(strata) {
    const whole = sum(strata.map((s) => s.weight)), cases = whole ** 2 / sum(strata.map((s) => s.squares));
    const mean = sum(strata.map((s) => (s.weight / whole) * s.mean)), square = sum(strata.map((s) => (s.weight / whole) * s.square));
    const priorMean = (cases * mean + PRIOR_WHOLE / 2) / (cases + PRIOR_WHOLE);
    const priorSquare = (cases * square + PRIOR_WHOLE / 2) / (cases + PRIOR_WHOLE);
    if (strata.length === 1) return (cases * priorMean * (1 - priorMean)) / (priorSquare - priorMean ** 2);
    let smoothed = 0, variance = 0;
    for (const s of strata) {
      const n = s.weight ** 2 / s.squares, all = n + PRIOR;
      const m = (n * s.mean + PRIOR * priorMean) / all, q = (n * s.square + PRIOR * priorSquare) / all;
      smoothed += (s.weight / whole) * m;
      variance += (s.squares / whole ** 2) * (all ** 2 / (all ** 2 - n)) * (q - m ** 2);
    }
    return (smoothed * (1 - smoothed)) / variance;
  }

  function wilson(rate, size) {
    const square = (Z * Z) / size, centre = rate + square / 2;
    const half = Math.sqrt(square * (rate * (1 - rate) + square / 4));
    return [(100 * (centre - half)) / (1 + square), (100 * (centre + half)) / (1 + square)];
  }

  /** The interval of a difference, on a scale on which a loss is 0, a tie 1/2 and a win 1. */
  function interval(cases, difference) {
    const groups = new Map();
    for (const item of cases) groups.set(item.metric, [...(groups.get(item.metric) ?? []), item]);
    const whole = sum(cases.map((item) => item.weight));
    const strata = [...groups.values()].map((items) => {
      const scaled = items.map((item) => [item.weight / whole, (1 + item.second - item.first) / 2]);
      const weight = sum(scaled.map(([w]) => w));
      return {
        weight,
        squares: sum(scaled.map(([w]) => w * w)),
        mean: sum(scaled.map(([w, s]) => w * s)) / weight,
        square: sum(scaled.map(([w, s]) => w * s * s)) / weight,
      };
    }).filter((s) => s.weight > NEGLIGIBLE);
    const [low, high] = wilson((difference + 100) / 200, effectiveSize(strata));
    return [Math.max(-100, Math.min(2 * low - 100, difference)), Math.min(100, Math.max(2 * high - 100, difference))];
  }

  /** The two-sided exact p of so uneven a split of the differing cases. */
  function mcnemar(wins, losses) {
    const n = wins + losses;
    let tail = 0n, ways = 1n;
    for (let k = 0; k <= Math.min(wins, losses); k += 1) {
      tail += ways;
      ways = (ways * BigInt(n - k)) / BigInt(k + 1);
    }
    const scale = 10n ** 15n;
    return Math.min(1, Number((2n * tail * scale) / (1n << BigInt(n))) / 1e15);
  }

  /** Numbers from 0 to 1 that are the same for the same seed. */
  function randomNumbers(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  /** The two-sided p of a sum of differences under random signs: all of them where few differ. */
  function permutation(differences) {
    const sizes = differences.map(Math.abs).sort((a, b) => a - b), count = sizes.length;
    const seen = Math.abs(sum(differences)) * (1 - 1e-9);
    if (!count) return 1;
    let reached = 0;
    if (count <= EXACT) {
      for (let signs = 0; signs < 2 ** count; signs += 1) {
        reached += Math.abs(sum(sizes.map((size, index) => (signs >> index & 1 ? size : -size)))) >= seen;
      }
      return reached / 2 ** count;
    }
    const random = randomNumbers(count * 7919 + Math.round(seen * 1000));
    for (let flip = 0; flip < FLIPS; flip += 1) {
      let total = 0;
      for (const size of sizes) total += random() < 0.5 ? size : -size;
      reached += Math.abs(total) >= seen;
    }
    return (1 + reached) / (FLIPS + 1);
  }

  /** `second` against `first` over cases {metric, weight, first, second}; scores are 0 to 1. */
  function compare(cases) {
    const common = cases.filter((item) => item.weight > 0);
    if (!common.length) return null;
    const total = sum(common.map((item) => item.weight));
    const wins = common.filter((item) => item.second > item.first).length;
    const losses = common.filter((item) => item.second < item.first).length;
    const changes = common.map((item) => item.weight * (item.second - item.first)).filter(Boolean);
    const difference = (100 * sum(changes)) / total;
    const binary = common.every((item) => [item.first, item.second].every((value) => value === 0 || value === 1));
    const plain = binary && new Set(common.map((item) => item.weight)).size <= 1;
    return {
      first: (100 * sum(common.map((item) => item.weight * item.first))) / total,
      second: (100 * sum(common.map((item) => item.weight * item.second))) / total,
      common: common.length, wins, losses, difference,
      interval: interval(common, difference),
      test: plain ? "mcnemar" : "permutation",
      p: plain ? mcnemar(wins, losses) : permutation(changes),
      both: common.filter((item) => item.first === 1 && item.second === 1).length,
      onlyFirst: common.filter((item) => item.first === 1 && item.second < 1).length,
      onlySecond: common.filter((item) => item.second === 1 && item.first < 1).length,
      neither: common.filter((item) => item.first < 1 && item.second < 1).length,
    };
  }

  return { compare };
})();

(() => {
  const { own, t, say, line, load, loadIndex, make, address, query, score, signed } = site;
  const GROUPS = { differ: () => true, first: (item) => item.first === 1 && item.second < 1, second: (item) => item.second === 1 && item.first < 1,
    both: (item) => item.first === 1 && item.second === 1, neither: (item) => item.first < 1 && item.second < 1 };
  const STEP = 200;

  const rowRuns = (row) => Object.values(row.runs);

  /** Boards on which both runs of the address stand, else the one that it names, else the first. */
  function findBoard(index, runs, stem) {
    const holds = (board) => runs.length && runs.every((run) => board.rows.some((row) => rowRuns(row).includes(run)));
    const usable = index.boards.filter((board) => board.rows.length > 1);
    return usable.find((board) => board.stem === stem && (!runs.length || holds(board))) ?? usable.find(holds) ?? usable.find((board) => board.stem === stem) ?? usable[0];
  }

  async function loadColumns(board, first, second) {
    const columns = [];
    for (const [benchmark, name] of Object.entries(board.columns)) {
      const runs = [own(first.runs, benchmark), own(second.runs, benchmark)];
      if (!runs[0] || !runs[1]) continue;
      const column = await load(name);
      const rows = runs.map((run) => column.runs.find((item) => item.run === run));
      if (rows.every(Boolean)) columns.push({ benchmark, column, rows });
    }
    return columns;
  }

  const listCommon = ({ column, rows }) => column.cases.map(([metric, id], position) => ({
    position, metric, id, weight: Number(column.weights[position] ?? 0),
    first: rows[0].scores[position] === null ? null : Number(rows[0].scores[position]),
    second: rows[1].scores[position] === null ? null : Number(rows[1].scores[position]),
  })).filter((item) => item.first !== null && item.second !== null);

  const formatP = (p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

  function sentence(column, result, names) {
    const values = { title: say(column.title) };
    if (result.difference === 0) return t("published.pair.equal", values);
    values.name = names[result.difference > 0 ? 1 : 0];
    values.points = Math.abs(result.difference).toFixed(1);
    return t(result.p < 0.05 ? "published.pair.ahead" : "published.pair.open", values);
  }

  function resultRow(title, result) {
    return [title, score(result.first), score(result.second), signed(result.difference), `${signed(result.interval[0])} … ${signed(result.interval[1])}`,
      formatP(result.p), t(`compare.test.${result.test}`), String(result.both), String(result.onlyFirst), String(result.onlySecond), String(result.neither), String(result.common)];
  }

  async function build() {
    const index = await loadIndex();
    const runs = (query().get("runs") ?? "").split(",").filter(Boolean).slice(0, 2);
    const board = findBoard(index, runs, query().get("board") ?? "");
    if (!board) return [make("h1", {}, t("compare.title")), make("p", { class: "notice" }, t("site.nothing_to_compare"))];
    const rows = runs.map((run) => board.rows.find((row) => rowRuns(row).includes(run))).filter(Boolean);
    for (const row of board.rows) if (rows.length < 2 && !rows.includes(row)) rows.push(row);
    const [first, second] = rows;
    const names = [line(first.name, 80), line(second.name, 80)];
    document.title = `${names.join(" · ")} · ${site.settings.title}`;
    const go = (changes) => { location.search = new URLSearchParams({ board: board.stem, ...changes }).toString(); };
    const reference = (row) => rowRuns(row)[0];
    const pick = (label, row, other, swap) => site.select(label, board.rows.map((item, number) => [String(number), `${line(item.name, 60)}`]),
      String(board.rows.indexOf(row)), (number) => {
        const pair = [reference(board.rows[Number(number)]), reference(other)];
        go({ runs: (swap ? pair.reverse() : pair).join(",") });
      });
    const boards = index.boards.filter((item) => item.rows.length > 1);
    const form = make("form", { class: "tools" },
      site.select(t("ranking.board"), boards.map((item) => [item.stem, `${say(item.title)} · ${line(say(item.about), 80)}`]), board.stem, (stem) => { location.search = new URLSearchParams({ board: stem }).toString(); }),
      pick("A", first, second, false), pick("B", second, first, true));
    const swap = make("button", { type: "button" }, t("site.swap"));
    swap.addEventListener("click", () => go({ runs: [reference(second), reference(first)].join(",") }));
    form.append(swap);
    form.addEventListener("submit", (event) => event.preventDefault());
    const live = document.getElementById("live");
    if (live) {
      const asked = new URLSearchParams({ runs: [reference(first), reference(second)].join(",") });
      if (board.published) asked.set("source", "published");
      live.href = `${live.dataset.base}compare?${asked}`;
    }
    const parts = [make("h1", {}, t("compare.title")), make("p", { class: "about" }, t(board.published ? "site.compare_published" : "site.compare_about")), form];
    const target = (row, name) => make("a", { href: address(`targets/${own(index.targets, row.identity)}.html`) }, name);
    parts.push(make("p", {}, "A: ", target(first, names[0]), " · B: ", target(second, names[1])));
    if (first === second) return [...parts, make("p", { class: "notice" }, t("published.same_row"))];
    return parts.concat(drawColumns(board, await loadColumns(board, first, second), names));
  }

  function drawColumns(board, columns, names) {
    const said = [], table = [], tested = [];
    for (const entry of columns) {
      const cases = listCommon(entry), result = paired.compare(cases);
      if (!result) {
        const claims = entry.rows.map((row) => row.claimed);
        if (claims.every(site.isNumber)) {
          const ahead = claims[1] > claims[0] ? 1 : 0;
          said.push(claims[0] - claims[1] === 0 ? t("published.pair.equal", { title: say(entry.column.title) })
            : t("published.pair.claims", { title: say(entry.column.title), name: names[ahead], points: Math.abs(claims[1] - claims[0]).toFixed(1) }));
        }
        continue;
      }
      tested.push({ ...entry, cases });
      said.push(sentence(entry.column, result, names));
      table.push(Object.assign(resultRow(say(entry.column.title), result), { look: "whole" }));
      const metrics = [...new Set(cases.map((item) => item.metric))];
      if (metrics.length > 1) {
        for (const metric of metrics) {
          const part = paired.compare(cases.filter((item) => item.metric === metric));
          if (part) table.push(resultRow(say(own(entry.column.metrics, metric)) || metric, part));
        }
      }
    }
    if (!said.length) return [make("p", { class: "notice" }, t("site.nothing_common"))];
    const parts = [make("ul", { class: "said" }, said.map((text) => make("li", {}, text)))];
    if (!table.length) return parts;
    const titles = [t("common.metric"), "A", "B", t("published.difference"), t("compare.interval"), "p", t("compare.test"), t("site.both"), t("site.only", { name: "A" }), t("site.only", { name: "B" }), t("site.neither"), t("published.common")];
    parts.push(site.table(t("published.pairs_alt"), titles, table, { numbers: [1, 2, 3, 4, 5, 7, 8, 9, 10, 11] }), make("p", { class: "note" }, t("site.formula")));
    return parts.concat(drawCases(board, tested));
  }

  /** The cases of a benchmark by who solved them. */
  function drawCases(board, tested) {
    const state = { entry: 0, group: "differ", shown: STEP };
    const results = make("div", {}), heading = make("h2", { "aria-live": "polite" });
    function draw() {
      const { column, rows, cases } = tested[state.entry];
      const chosen = cases.filter((item) => (state.group === "differ" ? item.first !== item.second : GROUPS[state.group](item)))
        .sort((a, b) => Math.abs(b.weight * (b.second - b.first)) - Math.abs(a.weight * (a.second - a.first)) || a.position - b.position);
      heading.textContent = t("site.case_count", { count: chosen.length });
      const percent = (value) => `${value === 1 ? "✓" : value === 0 ? "✕" : "◐"} ${(100 * value).toFixed(0)}`;
      const link = (item, row, text) => (column.chunks.length ? make("a", { href: address("case.html", { run: row.run, benchmark: column.benchmark, metric: item.metric, id: item.id }) }, text) : text);
      const list = chosen.slice(0, state.shown).map((item) => [line(item.id, 80), say(own(column.metrics, item.metric)) || item.metric,
        String(Number(item.weight.toPrecision(3))), link(item, rows[0], percent(item.first)), link(item, rows[1], percent(item.second))]);
      results.replaceChildren(list.length ? site.table(t("site.case_list"), [t("common.case"), t("common.metric"), t("compare.weight"), "A", "B"], list, { numbers: [2, 3, 4] }) : make("p", { class: "notice" }, t("site.no_match")));
      if (chosen.length > state.shown) {
        const more = make("button", { type: "button", class: "more" }, t("site.show_more", { count: Math.min(STEP, chosen.length - state.shown) }));
        more.addEventListener("click", () => { state.shown += STEP; draw(); });
        results.append(more);
      }
      if (!column.chunks.length) results.append(make("p", { class: "note" }, t("published.cases_about")));
    }
    const change = (name) => (value) => { state[name] = name === "entry" ? Number(value) : value; state.shown = STEP; draw(); };
    const groups = [["differ", t("site.differ")], ["first", t("site.only", { name: "A" })], ["second", t("site.only", { name: "B" })], ["both", t("site.both")], ["neither", t("site.neither")]];
    const form = make("form", { class: "tools" },
      site.select(t("common.benchmark"), tested.map((entry, number) => [String(number), say(entry.column.title)]), "0", change("entry")),
      site.select(t("site.solved_by"), groups, "differ", change("group")));
    form.addEventListener("submit", (event) => event.preventDefault());
    draw();
    return [heading, form, results];
  }

  site.keepQuery("compare");
  site.show(build);
})();

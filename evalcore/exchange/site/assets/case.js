// A case of a run, from the question to what the verdict rests on; and the way to the next one.
"use strict";

(() => {
  const { own, t, say, line, load, loadIndex, make, address, query, isNumber } = site;
  const OUTCOMES = { p: "passed", f: "failed", n: "not_executed", s: "not_applicable", t: "target_error", j: "judge_error", e: "environment_error", m: "missing" };
  const COUNTED = new Set(["passed", "failed"]);

  const outcomeAt = (run, position, epoch) => own(OUTCOMES, run.outcomes[position * run.epochs + epoch]);

  /** The board, its column and the row of a run. */
  function findRun(index, run, benchmark) {
    for (const board of index.boards) {
      for (const row of board.rows) {
        const key = benchmark && own(row.runs, benchmark) === run ? benchmark : Object.keys(row.runs).find((name) => row.runs[name] === run);
        if (key && (!benchmark || key === benchmark)) return { board, row, benchmark: key };
      }
    }
    return null;
  }

  /** The chunk of a case and its number in it. */
  function locate(column, position) {
    let chunk = 0, rest = position;
    while (rest >= column.chunks[chunk]) rest -= column.chunks[chunk++];
    return [chunk, rest];
  }

  async function loadCase(name, column, position) {
    const [chunk, number] = locate(column, position);
    return (await load(`${name}-${chunk}`))[number];
  }

  const split = (text) => (text ?? "").split(",").filter(Boolean);

  /** The cases of a run that fit a filter: [position, epoch, outcome]. */
  function listCases(column, run, filter) {
    const cases = [];
    const outcomes = split(filter.outcome), metrics = split(filter.metrics), levels = split(filter.difficulty), causes = split(filter.cause);
    column.cases.forEach(([metric, id, difficulty], position) => {
      if (metrics.length && !metrics.includes(metric)) return;
      if (levels.length && !levels.includes(String(difficulty))) return;
      if (causes.length && !causes.includes(run.causes[run.why[position]])) return;
      for (let epoch = 0; epoch < run.epochs; epoch += 1) {
        const outcome = outcomeAt(run, position, epoch);
        if (outcome && (!outcomes.length || outcomes.includes(outcome))) cases.push([position, epoch, outcome]);
      }
    });
    return cases;
  }

  const readFilter = () => Object.fromEntries(["outcome", "metrics", "difficulty", "cause"].map((name) => [name, query().get(name) ?? ""]));

  const caseQuery = (run, column, position, epoch, filter) => {
    const [metric, id] = column.cases[position];
    return { run, benchmark: column.benchmark, metric, id, epoch, ...filter };
  };

  const outcomeBadge = (outcome) => make("span", { class: `badge ${outcome}` }, t(`common.outcome.${outcome}`));

  // The page of a case.

  function figures(view, column, position) {
    const { verdict, episode } = view.row, sample = view.sample;
    const cells = [[t("common.score"), isNumber(verdict?.score) ? `${(100 * verdict.score).toFixed(0)} / 100` : "–"],
      [t("common.difficulty"), String(sample.difficulty ?? 1)]];
    const weight = column.weights[position];
    if (weight !== null) cells.push([t("compare.weight"), String(Number(Number(weight).toPrecision(3)))]);
    if (episode) {
      const usage = episode.usage ?? {}, number = new Intl.NumberFormat("en");
      if (episode.latency > 0) cells.push([t("common.latency"), episode.latency < 0.9995 ? t("common.milliseconds", { value: (episode.latency * 1000).toFixed(0) }) : t("common.seconds", { value: Number(episode.latency).toFixed(1) })]);
      for (const name of ["input_tokens", "output_tokens"]) {
        if (isNumber(usage[name])) cells.push([t(`common.${name}`), number.format(usage[name])]);
      }
      if (isNumber(episode.cost)) cells.push([t("common.cost"), t("common.dollars", { value: Number(Number(episode.cost).toPrecision(3)) })]);
    }
    return make("dl", { class: "facts figures" }, cells.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  }

  function badges(view) {
    const { verdict } = view.row, outcome = verdict?.outcome ?? "missing";
    const shown = [outcomeBadge(outcome)];
    const add = (text, look = "") => shown.push(make("span", { class: `badge ${look}` }, text));
    if (!verdict) return shown;
    const details = verdict.details ?? {};
    if (COUNTED.has(outcome)) add(t(`common.evidence.${view.row.taken_over ? "published" : verdict.evidence_kind ?? "checked"}`), "kind");
    if (view.row.engine) add(line(view.row.engine, 60));
    if (verdict.reason) add(evidence.label("common.reason", verdict.reason));
    const group = details.error_group === "checker" && details.error_type ? details.error_type : details.error_group;
    if (group) add(site.lookUp(`common.cause.${group}`) ?? evidence.label("common.reason", group), "failed");
    if (details.lost_to_format) add(t("case.lost_to_format"));
    if (details.call_format) add(t("case.call_format", { name: line(details.call_format, 60) }));
    if (details.answer_kind) add(evidence.label("common.answer_kind", details.answer_kind));
    if (details.equivalence_level) {
      const bound = site.lookUp(`common.level_bound.${details.equivalence_level}`);
      add(bound ? t(`common.level_bound.${details.equivalence_level}`, { proof_rows: 0, databases: 0, ...details }) : line(details.equivalence_level));
    }
    if (details.stand_in) add(t("case.stand_in", { product: line(details.product), stand_in: line(details.stand_in) }));
    if (details.mode) add(evidence.label("common.mode", details.mode));
    if (details.termination) add(evidence.label("common.termination", details.termination));
    for (const name of ["tool_calls", "tool_errors", "parse_errors"]) {
      if (details[name]) add(t(`case.${name}`, { count: line(details[name]) }));
    }
    if (details.needs_web) add(t("case.needs_web"));
    if (details.flagged) add(t("case.flagged"));
    if (details.resolved_official === true && details.resolved_hardened === false) add(t("case.shield"), "failed");
    return shown;
  }

  function navigation(link, column, run, position, epoch) {
    const filter = readFilter();
    const cases = listCases(column, run, filter);
    const number = cases.findIndex(([at, repeat]) => at === position && repeat === epoch);
    const after = cases.findIndex(([at, repeat]) => at > position || (at === position && repeat > epoch));
    const before = cases.findLastIndex(([at, repeat]) => at < position || (at === position && repeat < epoch));
    const step = (key, to, keys) => (to < 0 ? make("span", { class: "step off" }, t(`case.${key}`))
      : make("a", { class: "step", id: key, title: keys, "aria-keyshortcuts": keys, href: address("case.html", caseQuery(link.run, column, cases[to][0], cases[to][1], filter)) }, t(`case.${key}`)));
    const counts = new Map();
    for (const [, , outcome] of listCases(column, run, { ...filter, outcome: "" })) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const options = [["", `${t("common.all")} (${total})`], ...[...counts].sort().map(([outcome, count]) => [outcome, `${t(`common.outcome.${outcome}`)} (${count})`])];
    if (filter.outcome && !counts.has(filter.outcome)) {
      options.push([filter.outcome, split(filter.outcome).map((name) => site.lookUp(`common.outcome.${name}`) ?? line(name)).join(", ")]);
    }
    const chosen = site.select(t("case.filter"), options, filter.outcome, (outcome) => {
      location.search = new URLSearchParams(Object.entries({ ...caseQuery(link.run, column, position, epoch, { ...filter, outcome }) }).filter(([, value]) => value !== "" && value !== 0)).toString();
    });
    const place = number >= 0 ? t("case.place", { number: number + 1, total: cases.length }) : t("case.place_outside", { total: cases.length });
    return make("nav", { class: "tools steps", "aria-label": t("case.filter") }, step("previous", before, "Alt+P"), step("next", after, "Alt+N"), chosen, make("span", { class: "caption" }, place));
  }

  /** The same case of the other runs, with their outcomes. */
  function others(index, link, column, position) {
    const rows = column.runs.filter((run) => run.run !== link.run && outcomeAt(run, position, 0));
    if (!rows.length) return [];
    return [make("h2", {}, t("site.others")), make("ul", { class: "others" }, rows.map((run) => {
      const home = findRun(index, run.run, column.benchmark);
      const name = home ? home.row.name : run.identity;
      return make("li", {}, outcomeBadge(outcomeAt(run, position, 0)), make("a", { href: address("case.html", caseQuery(run.run, column, position, 0)) }, line(name, 80)));
    }))];
  }

  function drawCase(index, home, column, run, position, epoch, stored) {
    const link = { run: run.run };
    const number = column.runs.indexOf(run);
    const answer = stored.answers.find(([at, repeat]) => at === number && repeat === epoch);
    const view = { sample: answer[3] ?? stored.sample, row: answer[2] };
    const { sample, row } = view, metric = say(own(column.metrics, sample.metric)) || sample.metric;
    const heading = line(`${metric} · ${sample.id}`, 120);
    document.title = `${heading} · ${site.settings.title}`;
    const repeat = run.epochs > 1 ? ` · ${t("case.epoch", { number: epoch + 1, total: run.epochs })}` : "";
    const filter = readFilter();
    const parts = [
      make("p", {}, make("a", { href: address("cases.html", { run: run.run, benchmark: column.benchmark, ...filter }) }, `← ${t("case.back", { name: line(home.row.name, 60) })}`)),
      make("h1", {}, heading),
      make("p", { class: "columns" }, `${say(column.title)} · `, make("a", { href: address(`targets/${own(index.targets, run.identity)}.html`) }, line(home.row.name, 80)), ` · ${line(run.run)}${repeat}`),
      row.imported ? make("p", { class: "notice" }, t(row.taken_over ? "case.published" : "case.published_again")) : null,
      navigation(link, column, run, position, epoch),
      make("div", { class: "panel" }, make("p", { class: "badges" }, badges(view)),
        row.notes?.verdict ? make("p", { class: "said" }, say(row.notes.verdict)) : null, figures(view, column, position)),
    ];
    if (row.hidden) parts.push(make("p", { class: "notice" }, t("site.gated")));
    else {
      parts.push(make("div", { class: "sides" },
        make("section", {}, make("h2", {}, t("case.question")), ...evidence.question(sample.input ?? {})),
        make("section", {}, make("h2", {}, t("case.answer")), ...evidence.answer(row), ...evidence.reference(sample, row.verdict))));
      parts.push(...evidence.sections(row));
      const said = row.episode?.messages ?? [];
      if (said.length) parts.push(evidence.fold(t("case.transcript", { count: said.length }), ...evidence.messages(said)));
    }
    parts.push(evidence.fold(t("case.facts"), evidence.raw({ details: row.verdict?.details ?? {}, views: row.verdict?.views ?? {}, meta: sample.meta ?? {} })));
    parts.push(...others(index, link, column, position));
    return parts.filter(Boolean);
  }

  function missing(text) {
    return [make("h1", {}, t("case.title")), make("p", { class: "notice" }, text), make("p", {}, make("a", { href: address("index.html") }, t("site.all_boards")))];
  }

  async function buildCase() {
    const asked = query(), run = asked.get("run") ?? "", metric = asked.get("metric") ?? "", id = asked.get("id") ?? "";
    if (!run || !metric || !id) return missing(t("case.no_case"));
    const index = await loadIndex();
    const homes = [findRun(index, run, asked.get("benchmark") ?? ""), findRun(index, run, "")].filter(Boolean);
    for (const home of homes) {
      for (const benchmark of asked.get("benchmark") ? [home.benchmark] : Object.keys(home.row.runs).filter((key) => home.row.runs[key] === run)) {
        const name = home.board.columns[benchmark], column = await load(name);
        const own = column.runs.find((item) => item.run === run);
        const position = column.cases.findIndex((item) => item[0] === metric && item[1] === id);
        const epoch = Number(asked.get("epoch") ?? 0) || 0;
        if (!own || position < 0 || !outcomeAt(own, position, epoch) || !column.chunks.length) continue;
        return drawCase(index, home, column, own, position, epoch, await loadCase(name, column, position));
      }
    }
    return missing(t(homes.length ? "site.no_case" : "site.no_run"));
  }

  // The list of the cases of a run.

  const STEP = 200;

  async function buildList() {
    const asked = query(), run = asked.get("run") ?? "";
    const index = await loadIndex();
    const home = findRun(index, run, asked.get("benchmark") ?? "");
    if (!home) return missing(t("site.no_run"));
    const column = await load(home.board.columns[home.benchmark]), own = column.runs.find((item) => item.run === run);
    if (!own) return missing(t("site.no_run"));
    return drawList(index, home, column, own);
  }

  function drawList(index, home, column, run) {
    const state = { ...readFilter(), q: query().get("q") ?? "", sort: query().get("sort") ?? "", shown: STEP };
    const results = make("div", {}), total = make("output", { "aria-live": "polite" });
    let texts = null;  // position -> text, once somebody searches them
    const hits = (position) => {
      const sought = state.q.trim().toLowerCase();
      if (!sought) return true;
      const [metric, id] = column.cases[position];
      return id.toLowerCase().includes(sought) || metric.toLowerCase().includes(sought) || Boolean(texts?.[position].includes(sought));
    };

    function draw() {
      const all = listCases(column, run, {}), cases = listCases(column, run, state).filter(([position]) => hits(position));
      const weigh = { id: ([at]) => column.cases[at][1], score: ([at]) => run.scores[at], difficulty: ([at]) => column.cases[at][2] };
      const [name, way] = state.sort.split(":"), key = own(weigh, name);
      if (key) {
        const words = new Intl.Collator(document.documentElement.lang, { numeric: true });
        cases.sort((a, b) => (name === "id" ? words.compare(key(a), key(b)) : key(a) - key(b)) * (way === "descending" ? -1 : 1));
      }
      total.value = t("site.cases_shown", { shown: cases.length, total: all.length });
      const titles = [["", t("common.outcome")], ["id", t("common.case")], ["", t("common.metric")], ["difficulty", t("common.difficulty")], ["score", t("common.score")], ["", t("common.reason")]]
        .map(([code, text]) => (code ? sortButton(code, text) : text));
      const rows = cases.slice(0, state.shown).map(([position, epoch, outcome]) => {
        const [metric, id, difficulty] = column.cases[position], cause = run.causes[run.why[position]] ?? "";
        const repeat = run.epochs > 1 ? ` (${epoch + 1})` : "";
        return [outcomeBadge(outcome), make("a", { href: address("case.html", caseQuery(run.run, column, position, epoch, readFilter())) }, line(id, 80) + repeat),
          say(site.own(column.metrics, metric)) || metric, String(difficulty), run.scores[position] === null ? "–" : (100 * run.scores[position]).toFixed(0),
          cause ? site.lookUp(`common.cause.${cause}`) ?? evidence.label("common.reason", cause) : ""];
      });
      results.replaceChildren(rows.length ? site.table(t("site.case_list"), titles, rows, { numbers: [3, 4] }) : make("p", { class: "notice" }, t("site.no_match")));
      for (const head of results.querySelectorAll("th")) {
        if (head.querySelector("button")?.dataset.code === name) head.setAttribute("aria-sort", way);
      }
      if (cases.length > state.shown) {
        const more = make("button", { type: "button", class: "more" }, t("site.show_more", { count: Math.min(STEP, cases.length - state.shown) }));
        more.addEventListener("click", () => { state.shown += STEP; draw(); });
        results.append(more);
      }
    }

    function sortButton(code, text) {
      const button = make("button", { type: "button", "data-code": code }, text);
      button.addEventListener("click", () => {
        change("sort", `${code}:${state.sort === `${code}:ascending` ? "descending" : "ascending"}`);
        results.querySelector(`[data-code="${code}"]`)?.focus();
      });
      return button;
    }

    function change(name, value) {
      state[name] = value;
      state.shown = STEP;
      const { shown, ...rest } = state;
      site.setQuery({ run: run.run, benchmark: column.benchmark, ...rest });
      site.keepQuery("case");
      draw();
    }

    const search = make("input", { type: "search", id: "q", autocomplete: "off", value: state.q });
    search.addEventListener("input", () => change("q", search.value));
    const deep = make("button", { type: "button" }, t("site.search_texts"));
    deep.addEventListener("click", async () => {
      deep.disabled = true;
      texts = await readTexts(home.board.columns[home.benchmark], column, column.runs.indexOf(run));
      deep.textContent = t("site.texts_searched");
      draw();
    });
    const options = (values, name) => [["", t("common.all")], ...values.map((value) => [value, name(value)])];
    const outcomes = [...new Set(listCases(column, run, {}).map(([, , outcome]) => outcome))].sort();
    const levels = [...new Set(column.cases.map(([, , level]) => String(level)))].sort();
    const form = make("form", { class: "tools" },
      make("label", {}, t("site.search_cases"), search), deep,
      site.select(t("common.outcome"), options(outcomes, (name) => t(`common.outcome.${name}`)), state.outcome, (value) => change("outcome", value)),
      site.select(t("common.metric"), options(Object.keys(column.metrics), (name) => say(column.metrics[name])), state.metrics, (value) => change("metrics", value)),
      levels.length > 1 ? site.select(t("common.difficulty"), options(levels, String), state.difficulty, (value) => change("difficulty", value)) : null,
      run.causes.length ? site.select(t("common.reason"), options(run.causes, (name) => site.lookUp(`common.cause.${name}`) ?? evidence.label("common.reason", name)), state.cause, (value) => change("cause", value)) : null,
      total);
    form.addEventListener("submit", (event) => event.preventDefault());
    const heading = t("case.back", { name: line(home.row.name, 80) });
    document.title = `${heading} · ${site.settings.title}`;
    draw();
    return [make("h1", {}, heading), make("p", { class: "columns" }, `${say(column.title)} · `, make("a", { href: address(`targets/${own(index.targets, run.identity)}.html`) }, line(home.row.name, 80)), ` · ${line(run.run)}`), form, results];
  }

  /** What was asked and answered, in lower case, of all cases of a run. */
  async function readTexts(name, column, number) {
    const chunks = await Promise.all(column.chunks.map((_, chunk) => load(`${name}-${chunk}`)));
    return chunks.flat().map((stored) => {
      const answers = stored.answers.filter(([at]) => at === number).map((row) => row[2]);
      if (answers.some((row) => row.hidden)) return "";
      return site.stringify([stored.sample.input ?? {}, ...answers.map((row) => row.episode?.answer ?? "")]).toLowerCase();
    });
  }

  addEventListener("keydown", (event) => {
    const step = { KeyP: "previous", KeyN: "next" }[event.code];
    if (event.altKey && !event.ctrlKey && !event.metaKey && step) document.getElementById(step)?.click();
  });
  site.keepQuery("case");
  site.show(site.settings.page === "cases" ? buildList : buildCase);
})();

// The sections of a case: what was asked, answered and expected, and what the verdict rests on.
"use strict";

const evidence = (() => {
  const { own, lookUp, t, line, cell, stringify, make, table, isNumber } = site;
  const LONG = 2000;
  const CODE = new Set(["sql", "schema", "source_schema", "data", "query", "ddl", "reference", "calls", "patch", "test_patch", "eval_script"]);
  const PROSE = new Set(["question", "problem_statement", "text", "instruction", "instructions"]);
  const DIALECTS = new Set(["dialect", "engine", "source_dialect", "target_dialect"]);
  const FOR_MACHINES = new Set(["world", "material", "slots"]);
  const SHORT = 100, DEEPEST = 2, MOST_FIELDS = 20;
  const ORDER = ["source_dialect", "target_dialect", "dialect", "engine", "description", "level", "file_name", "repo",
    "base_commit", "version", "question", "problem_statement", "source_schema", "schema", "data", "sql"];
  const FOLDED = new Set(["test_log", "true_patch", "derivation"]);
  const JSON_TEXT = new Set(["ground_truth", "scenario", "task"]);
  const REVEALING = new Set(["table_diff", "tree_diff", "calls", "turns", "true_actions", "goals", "answer_compared", "true_patch"]);
  const MARKS = { accepted: "✓", mismatch: "✕", missing: "−", extra: "+", omitted: "○", differs: "≠" };

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !isNumber(value);
  const caption = (text) => make("p", { class: "caption" }, text);
  const title = (text) => make("h3", {}, text);

  const verbatim = (text) => make("pre", { class: text.length > LONG ? "long" : undefined, tabindex: "0" }, make("code", {}, text));

  const fold = (summary, ...children) => make("details", {}, make("summary", {}, summary), ...children);

  const raw = (value) => verbatim(typeof value === "object" && value !== null && !isNumber(value) ? stringify(value, "", "  ") : cell(value));

  /** A code of an area of the catalogue in words, else as it is. */
  const label = (area, code) => lookUp(`${area}.${code}`) ?? line(code);

  const reasoning = (text) => (text ? [fold(t("case.reasoning"), verbatim(String(text)))] : []);

  const callText = (call) => `${call.name}(${call.arguments})`;

  function messages(list) {
    return list.map((message) => make("div", { class: "turn" },
      caption(label("case.role", message.role)),
      ...reasoning(message.reasoning),
      message.content ? verbatim(String(message.content)) : null,
      ...(message.tool_calls ?? []).map((call) => verbatim(callText(call)))));
  }

  const isTurns = (value) => Array.isArray(value) && value.length > 0 && value.every((turn) =>
    Array.isArray(turn) && turn.every((message) => isObject(message) && "role" in message && "content" in message));

  function parseText(text) {
    try {
      return typeof text === "string" ? site.parse(text) : text;
    } catch {
      return text;
    }
  }

  function offeredFunctions(text) {
    const offered = parseText(text);
    if (!Array.isArray(offered) || !offered.every(isObject)) return [raw(offered)];
    if (!offered.length) return [caption(t("case.no_functions"))];
    const bodies = offered.map((item) => fold(line(item.name), item.description ? verbatim(String(item.description)) : null, raw(item.parameters ?? {})));
    return [fold(t("case.functions", { count: offered.length }), ...bodies)];
  }

  const fieldTitle = (name) => lookUp(`case.field.${name}`)
    ?? line(/^[a-z]+(_[a-z0-9]+)*$/.test(name) ? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ") : name);

  const isEmpty = (value) => value === null || value === "" || ["[]", "{}"].includes(stringify(value));

  const codeLines = (value) => (Array.isArray(value) ? value.flatMap(codeLines) : [cell(value).trimEnd()]);

  /** The fields that hold anything, by their titles; of a text in both languages the reader's. */
  function fields(values, depth = 0) {
    return Object.entries(values).flatMap(([name, held]) => {
      if (name.endsWith("_zh") || FOR_MACHINES.has(name) || isEmpty(held)) return [];
      let value = JSON_TEXT.has(name) ? parseText(held) : held;
      if (document.documentElement.lang.startsWith("zh")) value = own(values, `${name}_zh`) ?? value;
      const about = fieldTitle(name);
      if (typeof value === "boolean") return [caption(`${about}: ${t(value ? "common.yes" : "common.no")}`)];
      if (DIALECTS.has(name)) value = own(words.dialects, value) ?? value;
      const short = isNumber(value) || (typeof value === "string" && !value.includes("\n") && value.length < SHORT);
      if (short && !CODE.has(name) && !PROSE.has(name)) return [caption(`${about}: ${line(cell(value), SHORT)}`)];
      return [caption(about), ...(CODE.has(name) ? [verbatim(codeLines(value).join("\n"))] : readable(value, depth))];
    });
  }

  /** A line for each call of a tool; empty where one of the values is no call. */
  function callLines(list) {
    const lines = list.map((call) => {
      const name = isObject(call) ? call.name ?? call.func_name : null;
      const given = isObject(call) ? parseText(call.arguments ?? call.kwargs ?? {}) : null;
      if (typeof name !== "string" || !isObject(given)) return null;
      const by = call.requestor === "user" ? t("case.by_user") : "";
      return `${name}(${Object.entries(given).map(([key, item]) => `${key}=${stringify(item)}`).join(", ")})${by}`;
    });
    return lines.includes(null) ? [] : lines;
  }

  /** Any value as people read it: fields, tables and calls; as JSON what is nested deeper. */
  function readable(value, depth = 0) {
    if (isObject(value) && Array.isArray(value.columns) && Array.isArray(value.rows) && value.rows.every(Array.isArray)) {
      const { columns, rows, ...rest } = value;
      return [grid(t("case.expected"), columns, rows), caption(t("case.row_count", { count: rows.length })), ...explainNull(rows), ...fields(rest, DEEPEST)];
    }
    if (isObject(value)) return depth < DEEPEST && Object.keys(value).length <= MOST_FIELDS ? fields(value, depth + 1) : [raw(value)];
    if (!Array.isArray(value) || !value.length) return [raw(value)];
    const calls = callLines(value);
    if (calls.length) return [verbatim(calls.join("\n"))];
    if (value.every((item) => !isObject(item) && !Array.isArray(item))) return [verbatim(value.map(cell).join("\n"))];
    if (!value.every(isObject)) return [raw(value)];
    const names = [...new Set(value.flatMap(Object.keys))].filter((name) => !name.endsWith("_zh"));
    return [grid(t("case.expected"), names.map(fieldTitle), value.map((item) => names.map((name) => (name in item ? item[name] : ""))))];
  }

  /** The structured input of a sample: statements as code, short values in a line. */
  function question(input) {
    const rank = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
    const names = Object.keys(input).sort((a, b) => rank(a) - rank(b));
    return names.flatMap((name) => {
      const value = input[name];
      if (isTurns(value)) {
        return value.flatMap((turn, number) => [
          ...(value.length > 1 ? [caption(t("case.turn", { number: number + 1, total: value.length }))] : []),
          ...(turn.length ? messages(turn) : [caption(t("case.turn_silent"))])]);
      }
      if (name === "functions") return offeredFunctions(value);
      return name === "question" ? [raw(value)] : fields({ [name]: value });
    });
  }

  function answer(row) {
    const episode = row.episode;
    if (!episode) return [make("p", { class: "notice" }, t("case.no_answer"))];
    const parts = [];
    if (episode.failure) {
      parts.push(make("p", { class: "notice bad" }, label("common.error", episode.failure.kind)));
      parts.push(verbatim(row.notes?.failure ? site.say(row.notes.failure) : String(episode.failure.message ?? "")));
    } else {
      const name = ["answer", "patch"].find((key) => typeof own(episode.state, key) === "string" && episode.state[key].trim());
      const last = (episode.messages ?? []).filter((message) => message.role === "assistant").at(-1);
      if (name) parts.push(caption(t(`case.final_${name}`)), verbatim(episode.state[name]));
      else if (episode.answer) parts.push(verbatim(episode.answer));
      else if (last?.tool_calls?.length) parts.push(verbatim(last.tool_calls.map(callText).join("\n")));
      else parts.push(caption(t("case.empty_answer")));
    }
    if (episode.finish_reason) parts.push(caption(`${t("case.finish_reason")}: ${line(episode.finish_reason)}`));
    parts.push(...reasoning((episode.messages ?? []).map((message) => message.reasoning).filter(Boolean).join("\n\n")));
    return parts;
  }

  /** What was expected, folded where the evidence shows it already. */
  function reference(sample, verdict) {
    const shown = new Set((verdict?.evidence ?? []).flatMap((section) => [section.kind, section.title]));
    const drawn = { patch: "true_patch", derivation: "derivation" };
    const remaining = Object.entries(sample.reference ?? {}).filter(([name, value]) =>
      !shown.has(own(drawn, name)) && !(name in (sample.input ?? {})) && !isEmpty(value));
    if (!remaining.length) return [];
    const body = fold(t("case.reference"), ...fields(Object.fromEntries(remaining)));
    body.open = ![...shown].some((name) => REVEALING.has(name));
    return [body];
  }

  // Sections of evidence by their kind.

  const word = (area, text) => (typeof text === "boolean" ? t(text ? "common.yes" : "common.no") : typeof text !== "string" ? text : text.split(", ").map((part) =>
    lookUp(`section.word.${area}.${part}`) ?? lookUp(`section.word.${part}`) ?? part).join(", "));

  function worded(section) {
    const ours = own(words.columns, section.title);
    if (!ours || !section.body?.columns) return section.body;
    const names = section.body.columns;
    return {
      columns: names.map((name) => lookUp(`section.column.${name}`) ?? name),
      rows: section.body.rows.map((row) => row.map((value, index) => (ours.includes(names[index]) ? word(section.title, value) : value))),
    };
  }

  const grid = (about, columns, rows) => table(about, columns.map((name) => line(cell(name))), rows.map((row) => Object.assign(row.map(cell), { look: row.look })));

  const explainNull = (rows) => (rows.some((row) => row.includes(null)) ? [caption(t("case.null_note"))] : []);

  /** Which rows are among the odd ones; each odd row is used up once, equal copies from the end. */
  function markOdd(rows, odd) {
    const left = new Map();
    const key = (row) => JSON.stringify(row.map(cell));
    for (const row of odd) left.set(key(row), (left.get(key(row)) ?? 0) + 1);
    return [...rows].reverse().map((row) => {
      const count = left.get(key(row)) ?? 0;
      left.set(key(row), count - 1);
      return count > 0;
    }).reverse();
  }

  function diffSide(columns, rows, odd, side) {
    const about = t(`case.diff_${side}_side`, { count: rows.length });
    const flags = markOdd(rows, odd);
    const any = flags.includes(true);
    const marked = rows.map((row, index) => Object.assign(
      any ? [flags[index] ? t(`case.diff_${side}`) : "", ...row] : [...row], { look: flags[index] ? side : undefined }));
    return make("div", {}, caption(about), grid(about, any ? ["", ...columns] : columns, marked));
  }

  const sides = (...children) => make("div", { class: "sides" }, ...children);

  const KINDS = {
    text: (section) => [raw(section.body)],
    log: (section) => [raw(section.body)],
    json: (section) => readable(section.body),
    code: (section) => [verbatim(String(section.body.text))],
    chat: (section) => messages(section.body),
    table: (section) => {
      const body = worded(section);
      return [grid(sectionTitle(section), body.columns, body.rows), caption(t("case.row_count", { count: body.rows.length })), ...explainNull(body.rows)];
    },
    table_diff: ({ body }) => {
      const answered = body.answer_columns ?? body.columns;
      let about = stringify(body.expected) === stringify(body.actual) ? t("case.diff_equal") : t("case.diff_rows_equal");
      if (body.columns.length !== answered.length) about = t("case.diff_columns", { expected: body.columns.length, actual: answered.length });
      if (body.missing.length || body.extra.length) about = t("case.diff_summary", { missing: body.missing.length, extra: body.extra.length });
      return [caption(about),
        sides(diffSide(body.columns, body.expected, body.missing, "missing"), diffSide(answered, body.actual, body.extra, "extra")),
        ...explainNull([...body.expected, ...body.actual])];
    },
    database: ({ body }) => [
      caption(t("case.database_about")),
      ...body.tables.filter((item) => item.rows.length).flatMap((item) => [
        caption(t("case.database_table", { name: line(item.name), count: item.rows.length })), grid(line(item.name), item.columns, item.rows)]),
      ...(body.tables.some((item) => !item.rows.length)
        ? [caption(t("case.database_empty", { names: body.tables.filter((item) => !item.rows.length).map((item) => line(item.name)).join(", ") }))] : []),
      ...explainNull(body.tables.flatMap((item) => item.rows))],
    plans: ({ body }) => [sides(...["before", "after"].map((side) => make("div", {},
      caption(t(`case.work_${side}`, { unit: label("case.unit", body.unit) })),
      make("b", { class: "figure" }, cell(body[side].amount)), verbatim(body[side].plan.map(String).join("\n")))))],
    votes: ({ body }) => body.flatMap((vote) => [
      make("p", { class: "badges" }, make("span", { class: "badge" }, label("case.vote", String(vote.vote).toLowerCase())), line(String(vote.judge).split("?")[0])),
      vote.reason ? verbatim(String(vote.reason)) : null]),
    calls: (section, pairs) => drawnCalls(section.body, pairs),
    tree_diff: ({ body }) => {
      if (!body.differences.length) return [caption(t("case.diff_equal")), ...readable(body.expected)];
      const rows = body.differences.map((item) => [fieldTitle(String(item.path)), item.expected ?? null, item.actual ?? null]);
      const paths = new Set(body.differences.map((item) => item.path));
      const more = isObject(body.expected) && isObject(body.actual) && Object.keys(body.expected).some((name) => !paths.has(name));
      return [grid(t("case.path"), [t("case.path"), t("case.expected"), t("case.actual")], rows),
        ...(more ? [sides(...["expected", "actual"].map((side) => make("div", {}, caption(t(`case.${side}`)), ...readable(body[side], DEEPEST - 1))))] : [])];
    },
  };

  function derivation({ body }) {
    return body.flatMap((step, number) => {
      const { code, ...rest } = step.arguments;
      return [caption(t("case.step_of_derivation", { number: number + 1, tool: line(step.tool) })),
        code ? verbatim(String(code)) : null,
        Object.keys(rest).length ? verbatim(Object.entries(rest).map(([name, value]) => `${name}: ${cell(value)}`).join("\n")) : null];
    });
  }

  function comparedAnswers(section) {
    const { columns, rows } = section.body;
    return rows.flatMap((row) => {
      const cells = Object.fromEntries(columns.map((name, index) => [name, row[index]]));
      return [sides(...["answer", "expected"].map((name) => make("div", {}, caption(lookUp(`section.column.${name}`) ?? name), verbatim(cell(cells[name]))))),
        caption(t("case.compared", { kind: cell(word(section.title, cells.compared_as)), place: cell(word(section.title, cells.found_by)) }))];
    });
  }

  function testResults(section) {
    const body = worded(section), rows = section.body.rows;
    const failed = rows.map((row) => !["PASSED", "XFAIL"].includes(row.at(-1)));
    const count = failed.filter(Boolean).length;
    const shown = body.rows.map((row, index) => Object.assign([`${failed[index] ? "✕" : "✓"} ${row.at(-1)}`, ...row.slice(0, -1)], { look: failed[index] ? "missing" : undefined }));
    return [caption(t(count ? "case.tests_failed" : "case.tests_passed", { failed: count, count: rows.length })),
      grid(t("case.tests_alt"), [body.columns.at(-1), ...body.columns.slice(0, -1)], shown)];
  }

  const TITLES = { derivation, answer_compared: comparedAnswers, tests: testResults };

  const json = (value) => {
    const text = stringify(value);
    return text.length <= 1000 ? text : `${text.slice(0, 999)}…`;
  };

  function drawnCalls(body, pairs) {
    if (!pairs) return [caption(t("case.malformed_section")), raw(body)];
    const parts = [];
    if (body.answer === null) parts.push(make("p", { class: "notice" }, t("case.calls.undecoded")));
    else if (!body.answer.length) parts.push(caption(t("case.calls.none")));
    if (body.accepted === null) parts.push(caption(t("case.calls.any")));
    else if (body.answer !== null && body.answer.length !== body.accepted.length) {
      parts.push(caption(t("case.calls.count", { answered: body.answer.length, accepted: body.accepted.length })));
    }
    return parts.concat(pairs.flatMap((pair, number) => callPair(pair, number, pairs.length, body)));
  }

  const wire = (name) => String(name ?? "").replace(/[^A-Za-z0-9_-]/g, "_");

  function callPair(pair, number, total, body) {
    const answered = pair.answered ?? "", accepted = pair.accepted ?? "", lines = pair.lines ?? [];
    let remark = null;
    if (answered && !accepted && body.accepted !== null) remark = `+ ${t("case.calls.extra_call")}`;
    else if (!answered && body.answer !== null) remark = `− ${t("case.calls.missing_call")}`;
    else if (answered && accepted && wire(answered) !== wire(accepted)) remark = `✕ ${t("case.calls.other_function")} ${line(accepted)}`;
    const head = make("p", { class: "badges" }, total > 1 ? t("case.calls.call", { number: number + 1 }) : null,
      make("code", {}, line(answered || accepted)), remark ? make("span", { class: "badge bad" }, remark) : null);
    if (!lines.length) return [head, caption(t("case.calls.no_arguments"))];
    const shown = lines.slice(0, 100).map((item) => {
      const sign = own(MARKS, item.mark);
      const path = item.mismatch_path?.length ? `: ${item.mismatch_path.join(".").slice(0, 80)}` : "";
      const values = (item.accepted ?? []).filter((value) => value !== "").map(json);
      if ((item.accepted ?? []).includes("")) values.push(t("case.calls.may_be_left_out"));
      const row = [item.name ?? "", sign ? `${sign} ${t(`case.calls.mark.${item.mark}`)}${path}` : "",
        item.is_present ? json(item.value ?? null) : "–", values.join(`  ${t("case.calls.or")}  `) || "–"];
      return Object.assign(row, { look: ["mismatch", "missing", "extra"].includes(item.mark) ? (item.mark === "extra" ? "extra" : "missing") : undefined });
    });
    const about = t("case.calls.alt", { name: line(accepted || answered) });
    const titles = [t("case.calls.argument"), t("case.calls.mark"), t("case.actual"), t("case.calls.accepted_values")];
    const rest = lines.length > 100 ? [caption(t("case.calls.more", { count: lines.length - 100 }))] : [];
    return [head, table(about, titles, shown), ...rest];
  }

  function sectionTitle(section) {
    const text = String(section.title).replaceAll("_", " ");
    return lookUp(`section.${section.title}`) ?? line(text.charAt(0).toUpperCase() + text.slice(1));
  }

  function drawSection(section, pairs) {
    const draw = own(TITLES, section.title) ?? own(KINDS, section.kind);
    let body;
    try {
      body = draw(section, pairs);
    } catch {
      body = [caption(t("case.malformed_section")), raw(section.body)];
    }
    body = body.flat().filter(Boolean);
    return FOLDED.has(section.title) ? fold(sectionTitle(section), ...body) : make("section", {}, title(sectionTitle(section)), ...body);
  }

  /** Every section of a verdict but for one that only repeats the answer. */
  function sections(row) {
    const shown = (row.verdict?.evidence ?? []).map((section, number) => [section, row.pairs?.[number]])
      .filter(([section]) => section.body !== "" && section.body !== row.episode?.answer);
    return shown.length ? [make("h2", {}, t("case.evidence")), ...shown.map(([section, pairs]) => drawSection(section, pairs))] : [];
  }

  return { question, answer, reference, sections, messages, raw, fold, label, caption, verbatim, title };
})();

"""Reports of a run: the fields other readers rely on, honest counts, and hostile text kept text."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from evalcore.errors import RunFolderError, UsageError
from evalcore.exchange.reports import CSV_COLUMNS, render_report
from tests.support.run_folders import EXAMPLE, Case, make_run

MIXED = (
    Case("A", "1", score=1.0, difficulty=1, latency=0.5),
    Case("A", "2", score=0.5, difficulty=2, latency=1.5, note="half of it"),
    Case("A", "3", score=None, difficulty=3, reason="server error", latency=1.0),
    Case("B", "2", score=0.0, difficulty=2, answer="no", latency=1.0),
    Case("B", "3", difficulty=3, journaled=False),
)

HOSTILE = (
    "a | b || c\\|d",
    "line one\nline two\r\nline three\u2028four\x85five\x0bsix",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "![tracker](https://evil.example/x.png) [click](javascript:alert(1))",
    "`code` **bold** _it_ ~~gone~~ $x^2$ {{ 7*7 }} {% raw %}",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "<!-- --> ]]> </td></tr></table><h1>owned</h1>",
    "https://evil.example www.evil.example WWW.evil.example me@evil.example",
    "\x00\x1b[31mred\x07 \u202eevil\u202c \ufeff",
    '" onmouseover="alert(1)" \' x=\'',
    "---\n# heading\n- item\n> quote\n```\nfence",
    "| --- | --- |",
    "trailing backslash \\",
)


@pytest.fixture
def mixed(tmp_path):
    return make_run(tmp_path, "mixed", cases=MIXED, options={"temperature": 0.5})


@pytest.fixture
def hostile(tmp_path):
    cases = [Case("A", f"id {text}"[:200], answer=text, note=text, reason=text) for text in HOSTILE]
    return make_run(tmp_path, "hostile", "openai:<b>|x", cases, note=" ".join(HOSTILE))


# --- json ---------------------------------------------------------------------------------------


def test_json_holds_the_fields_of_slm_evals(mixed):
    report = json.loads(render_report(mixed, "json"))
    assert report["experiment_name"] == "mixed"
    assert report["model_path"] == "openai:small"
    assert report["timestamp"] == "2026-11-01T10:00:00.000+00:00"
    assert report["aggregate_score"] == pytest.approx(1 / 5)
    assert report["missing"] == ["sql_understanding", "dialect_conversion", "sql_optimization"]
    benchmark = report["benchmarks"]["demo"]
    assert (benchmark["name"], benchmark["total"], benchmark["passed"]) == ("demo", 5, 1)
    assert benchmark["score"] == pytest.approx(1 / 5)
    assert (benchmark["error_count"], benchmark["avg_latency_s"]) == (2, 1.0)
    assert [sample["passed"] for sample in benchmark["samples"]] == [True, *[False] * 4]
    second = benchmark["samples"][1]
    assert {key: second[key] for key in ("id", "prediction", "score", "note", "latency_s")} == {
        "id": "2",
        "prediction": "42",
        "score": 0.5,
        "note": "half of it",
        "latency_s": 1.5,
    }


def test_json_adds_the_weighted_score_and_the_spec(mixed):
    report = json.loads(render_report(mixed, "json"))
    weighted = report["benchmarks"]["demo"]["weighted"]
    assert weighted["score"] == pytest.approx(100 * (1 + 1) * 4 / 34)
    assert weighted["answered"] == pytest.approx(100 * 2 * 4 / (3 * 4 + 2 * 2))
    assert weighted["coverage"] == pytest.approx(3 / 5)
    assert weighted["outcomes"] == {"failed": 2, "missing": 1, "passed": 1, "target_error": 1}
    assert weighted["interval"]["low"] < weighted["score"] < weighted["interval"]["high"]
    assert report["spec"]["target"] == {"key": "openai:small", "options": {"temperature": 0.5}}
    assert report["summary"]["state"] == "incomplete"
    assert "benchmarks" not in report["summary"]
    lost, missing = (report["benchmarks"]["demo"]["samples"][folder] for folder in (2, 4))
    assert (lost["outcome"], lost["score"], lost["reason"]) == (
        "target_error",
        None,
        "server error",
    )
    assert (missing["outcome"], missing["latency_s"]) == ("missing", None)


def test_the_experiment_may_have_its_own_name(mixed):
    assert json.loads(render_report(mixed, "json", "nightly"))["experiment_name"] == "nightly"
    assert render_report(mixed, "md", "nightly").startswith("# Report of nightly\n")


def test_every_epoch_is_a_row(tmp_path):
    cases = [Case("A", "1", score=float(epoch), epoch=epoch) for epoch in range(2)]
    run = make_run(tmp_path, "twice", cases=cases, epochs=2)
    benchmark = json.loads(render_report(run, "json"))["benchmarks"]["demo"]
    assert (benchmark["total"], benchmark["passed"], benchmark["score"]) == (2, 1, 0.5)
    assert [sample["epoch"] for sample in benchmark["samples"]] == [0, 1]
    assert "1 (epoch 2)" in render_report(run, "md")


def test_cases_that_share_an_answer_both_show_it(tmp_path):
    cases = [Case("A", "1", answer="shared", generation="g"), Case("B", "1", generation="g")]
    run = make_run(tmp_path, "shared", cases=[cases[1], cases[0]])
    samples = json.loads(render_report(run, "json"))["benchmarks"]["demo"]["samples"]
    assert [sample["prediction"] for sample in samples] == ["shared", "shared"]


# --- csv ----------------------------------------------------------------------------------------


def test_csv_has_one_row_per_benchmark(mixed):
    text = render_report(mixed, "csv")
    assert text.splitlines()[0].startswith("benchmark,total,passed,score,experiment,timestamp,")
    (row,) = csv.DictReader(io.StringIO(text))
    assert tuple(row) == CSV_COLUMNS
    assert (row["benchmark"], row["total"], row["passed"], row["score"]) == (
        "demo",
        "5",
        "1",
        "0.2",
    )
    assert (row["model_path"], row["error_count"], row["avg_latency_s"]) == (
        "openai:small",
        "2",
        "1.0",
    )
    assert float(row["weighted_score"]) == pytest.approx(800 / 34, abs=1e-3)
    assert float(row["low"]) <= float(row["weighted_score"]) <= float(row["high"])
    assert (row["coverage"], row["complete"]) == ("0.6", "False")


def test_csv_leaves_the_unknown_empty_and_defuses_formulas(tmp_path):
    cases = [Case("A", "1", journaled=False)]
    run = make_run(tmp_path, "empty", '=HYPERLINK("http://evil.example")', cases)
    (row,) = csv.DictReader(io.StringIO(render_report(run, "csv")))
    assert (row["avg_latency_s"], row["answered"], row["score"]) == ("", "", "")
    assert row["weighted_score"] == ""
    assert row["model_path"].startswith("'=")


# --- markdown -----------------------------------------------------------------------------------


def parsed(text):
    """Block and inline tokens of a CommonMark parser with tables, raw HTML allowed."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    blocks = parser.parse(text)
    return blocks, [child for block in blocks for child in block.children or ()]


def test_markdown_shows_scores_metrics_and_cases(mixed):
    text = render_report(mixed, "md")
    blocks, _ = parsed(text)
    cells = [block.content for block in blocks if block.type == "inline"]
    for shown in ("mixed", "incomplete (not ranked)", "23.5", "60.0%", "half of it", "missing"):
        assert shown in cells
    assert sum(block.type == "table_open" for block in blocks) == 5


def test_markdown_of_hostile_text_is_nothing_but_tables_of_text(hostile):
    text = render_report(hostile, "md")
    blocks, inlines = parsed(text)
    kinds = {re.sub("_(open|close)$", "", block.type) for block in blocks}
    assert kinds == {"heading", "table", "thead", "tbody", "tr", "th", "td", "inline"}
    assert {inline.type for inline in inlines} <= {"text", "text_special"}
    cases = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(cases) == len(HOSTILE)
    assert {line.count("|") for line in cases} == {10}
    assert not re.search(r"://|www\.|@", text, re.IGNORECASE), "nothing GitHub makes a link of"
    assert "{{" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u2029\u202a-\u202e]", text)


def test_markdown_shows_hostile_text_as_it_was_written(hostile):
    blocks, _ = parsed(render_report(hostile, "md"))
    shown = ["".join(child.content for child in b.children) for b in blocks if b.children]
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in shown
    assert "&lt;b&gt; &#60;b&#62; &amp;" in shown
    assert "a | b || c\\|d" in shown
    assert any(text.startswith("line one ⏎ line two ⏎ line three ⏎ four") for text in shown)
    assert any("\\u202eevil" in text for text in shown)


def test_a_long_answer_is_cut_in_markdown_and_whole_elsewhere(tmp_path):
    run = make_run(tmp_path, "long", cases=[Case("A", "1", answer="x" * 5000)])
    assert "x" * 159 + "… |" in render_report(run, "md")
    assert "x" * 5000 in render_report(run, "html")
    assert "x" * 5000 in render_report(run, "json")


# --- html ---------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """The tags, attributes and texts a browser would make of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def test_html_of_hostile_text_has_no_markup_of_its_own(hostile):
    text = render_report(hostile, "html")
    seen = Seen(text)
    assert set(seen.tags) == {
        *("html", "head", "meta", "title", "style", "body"),
        *("h1", "h2", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert seen.attributes == {"lang", "charset", "http-equiv", "content"}
    assert seen.tags.count("h1") == 1
    assert "default-src &#x27;none&#x27;" in text
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e]", text)
    for answer in (HOSTILE[2], HOSTILE[5], HOSTILE[6], HOSTILE[9]):
        assert answer in seen.texts, "shown as it was written"


def test_html_shows_scores_metrics_and_cases(mixed):
    seen = Seen(render_report(mixed, "html"))
    for shown in ("mixed", "incomplete (not ranked)", "23.5", "60.0%", "half of it", "missing"):
        assert shown in seen.texts
    assert seen.tags.count("table") == 5


# --- what cannot be reported --------------------------------------------------------------------


def test_a_report_is_in_the_language_asked_for(mixed):
    """Headings, columns, names and outcomes; the ids, answers and numbers stay."""
    text = render_report(mixed, "md", language="zh")
    for words in (
        f"# {mixed.run_id} 的评测报告",
        "## 得分（0 至 100）",
        "| 评测项 | 得分 | 95% 区间 |",
        "## demo: 指标",
        "| 规则精确核对 |",
        "未通过",
    ):
        assert words in text
    columns = [line for line in text.splitlines() if line.startswith("|")]
    english = render_report(mixed, "md")
    assert len(columns) == len([line for line in english.splitlines() if line.startswith("|")])
    assert "failed" in english
    assert '<html lang="zh-Hans">' in render_report(mixed, "html", language="zh")
    same = [render_report(mixed, "json", language=name) for name in ("en", "zh")]
    assert same[0] == same[1]


def test_a_complete_run_reports_the_worked_example(tmp_path):
    report = json.loads(render_report(make_run(tmp_path, "full"), "json"))
    assert report["aggregate_score"] == 1.0
    assert report["benchmarks"]["demo"]["weighted"]["score"] == 100.0
    assert report["benchmarks"]["demo"]["total"] == len(EXAMPLE)


def test_a_run_without_scores_names_the_remedy(tmp_path):
    run = make_run(tmp_path, "early", finished=False)
    with pytest.raises(UsageError, match="resume it"):
        render_report(run, "json")


def test_an_unknown_format_names_the_known_ones(mixed):
    with pytest.raises(UsageError, match="json, csv, md, html"):
        render_report(mixed, "pdf")


def test_a_broken_journal_names_file_and_line(mixed):
    journal = mixed.path / "verdicts" / "s1" / "w1.jsonl"
    journal.write_bytes(journal.read_bytes() + b"no json\n")
    with pytest.raises(RunFolderError, match=r"w1.jsonl, line 5"):
        render_report(mixed, "md")

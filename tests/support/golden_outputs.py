"""What the golden outputs are: each by its name, from the doors that users and programs use.

Only the command line, the routes and the pages are entered, so that no renaming inside the program
has to touch this file. Each function yields names and texts of one kind; `folder` is the data
folder of the process.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

from tests.support.golden_forms import (
    MASK,
    RUN_WORDING,
    Named,
    Skeleton,
    format_json,
    split_wording,
)

ROOT = Path(__file__).resolve().parents[2]
#: Fields of a record of a run made now that hold times, versions or the commit.
_VOLATILE = frozenset(
    {"run_id", "created_at", "finished_at", "at", "versions", "scoring"}
    | {"latency", "latency_p50", "latency_p95", "wall", "chain"}
)
_LONG_NUMBER = re.compile(r"\d+\.\d{9,}(?:e-?\d+)?")
_ENGINE_VERSION = re.compile(r"(?i)\b(sqlite|duckdb|sqlglot|postgresql|mariadb|mysql) v?\d+[.\d]*")
Outputs = dict[str, str]


def collect_part(part: str) -> Outputs:
    """Collect the outputs of one of `PARTS` in this process, whose EVALBOARD_DATA must be new."""
    data = os.environ["EVALBOARD_DATA"]
    Path(data).mkdir()
    return {
        name: _normalize(text, data) for group in PARTS[part] for name, text in group(Path(data))
    }


def hash_bytes(data: bytes) -> str:
    """Hash for a record: 80 bits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:20]


def _normalize(text: str, folder: str) -> str:
    """Replace paths of this machine, and round what may differ in the last bits elsewhere."""
    text = text.replace(folder, "DATA").replace(str(ROOT), "ROOT")
    return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.9g}", text).rstrip("\n")


# The command line


def run_cli(*arguments: str) -> str:
    """Run `evalcore` in this process; returns standard output. Raises RuntimeError if it fails."""
    from evalcore.cli.main import main

    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = main(arguments)
    if status not in (0, 3):
        raise RuntimeError(f"evalcore {' '.join(arguments)}: {status}\n{errors.getvalue()}")
    return output.getvalue()


def _cli(folder: Path) -> Named:
    """The verbs and flags (data), and their help (texts), free of what argparse adds to it."""
    for path, parser in _parsers("evalcore", _parser()):
        name = path.replace(" ", "-")
        actions = [action for action in parser._actions if action.dest != "help"]
        yield f"data/cli/{name}", format_json([_flag(action) for action in actions])
        lines = [f"{' '.join(a.option_strings) or a.metavar or a.dest}: {a.help}" for a in actions]
        for action in actions:
            if isinstance(action, argparse._SubParsersAction):
                lines += [
                    f"{choices_action.dest}: {choices_action.help}"
                    for choices_action in action._choices_actions
                ]
        yield f"texts/cli/{name}", "\n".join([str(parser.description), *lines])
    for what in ("benchmarks", "targets", "datasets", "runs"):
        yield from split_wording(f"cli/list-{what}", json.loads(run_cli("list", what, "--json")))
        yield f"texts/cli/list-{what}-text", run_cli("list", what)


def _parser() -> argparse.ArgumentParser:
    """The parser behind the public entry, whatever function builds it."""
    from evalcore.cli.main import main

    class Captured(Exception):
        pass

    def capture(parser: argparse.ArgumentParser, *_: Any) -> None:
        raise Captured(parser)

    with patch.object(argparse.ArgumentParser, "parse_args", capture):
        try:
            main([])
        except Captured as captured:
            parser: argparse.ArgumentParser = captured.args[0]
            return parser
    raise RuntimeError("evalcore.cli.main parses no arguments")


def _parsers(
    path: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from _parsers(f"{path} {name}", sub)


def _flag(action: argparse.Action) -> dict[str, Any]:
    """A flag or argument as users meet it."""
    kind = type(action).__name__.strip("_").removesuffix("Action")
    flag = {
        "flags": list(action.option_strings),
        "kind": kind,
        "nargs": action.nargs,
        "metavar": action.metavar,
        "choices": None if action.choices is None else list(action.choices),
        "required": action.required,
        "default": None if action.default in (None, argparse.SUPPRESS) else str(action.default),
        "type": action.type.__name__ if isinstance(action.type, type) else None,
    }
    return {name: value for name, value in flag.items() if value not in (None, [], False)}


# Boards, exports, site


def _boards(folder: Path) -> Named:
    """Every board by each of its orders, in every format."""
    boards = _get("/api/v1/boards")["items"]
    for board in boards:
        own = ("--suite", board["suite"], "--board", board["key"])
        for by in board["orders"]:
            name = f"{board['suite']}-{board['key']}-{by}"
            for form in ("json", "csv"):
                listing = run_cli("board", *own, "--by", by, "--format", form)
                yield f"data/board/{name}.{form}", listing
        for form in ("text", "md", "latex"):
            yield f"texts/board/{name}.{form}", run_cli("board", *own, "--format", form)


def _shipped_files(folder: Path) -> Named:
    """What the other outputs are made from."""
    root = ROOT / "data" / "shipped"
    caches = (".parquet", ".lock")
    paths = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix not in caches)
    hashes = (f"{hash_bytes(path.read_bytes())}  {path.relative_to(root)}" for path in paths)
    yield "data/shipped/files", "\n".join(hashes)


def _shipped() -> list[str]:
    return sorted(path.name for path in (ROOT / "data" / "shipped" / "runs").iterdir())


def list_run_names(step: int) -> list[str]:
    """The shipped runs that are exported one by one: every step-th."""
    return _shipped()[::step]


def is_passed_over(name: str, step: int) -> bool:
    """Whether an output is of a run that `list_run_names` leaves out."""
    own = re.fullmatch(
        r"\w+/(?:api/cases\?run=|export/)(shipped-[\w-]+?)(?:|\.\w+|-show|-show\.json|-bundle-\S+)",
        name,
    )
    return own is not None and own[1] not in list_run_names(step)


def _exported() -> list[str]:
    return list_run_names(int(os.environ.get("EVALBOARD_RUN_STEP", "1")))


def _exports(folder: Path) -> Named:
    """The reports, the official forms and the bundle of the shipped runs, and comparisons."""
    for run in _exported():
        yield from split_wording(
            f"export/{run}.json", json.loads(_export(run, "json")), RUN_WORDING
        )
        yield f"data/export/{run}.csv", _export(run, "csv")
        yield f"texts/export/{run}.md", _export(run, "md")
        yield from _page(f"export/{run}.html", _export(run, "html"))
        shown = json.loads(run_cli("show", run, "--json"))
        yield from split_wording(f"export/{run}-show.json", shown, RUN_WORDING)
        yield f"texts/export/{run}-show", run_cli("show", run)
        out = folder / f"{run}.zip"
        _export(run, "bundle", "--out", str(out))
        with zipfile.ZipFile(out) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
        hashes = "\n".join(f"{hash_bytes(data)}  {member}" for member, data in members)
        yield f"data/export/{run}-bundle-members", hashes
        yield f"data/export/{run}-bundle-manifest.json", dict(members)["manifest.json"].decode()
    run = "shipped-control-reference-agentic"
    for form in ("bfcl", "gaia", "swe_bench"):
        out = folder / f"official-{form}"
        _export(run, form, "--out", str(out))
        paths = sorted(out.rglob("*")) if out.is_dir() else [out]
        hashes = (f"{hash_bytes(p.read_bytes())}  {p.name}" for p in paths if p.is_file())
        yield f"data/export/{form}", "\n".join(hashes)
    hub = ("--hub", "bfcl=owner/name:task")
    yield "data/export/eval_results", _export("shipped-baseline-keywords", "eval_results", *hub)
    pair = ("shipped-baseline-sqlglot", "shipped-baseline-duckdb", "shipped-control-null")
    yield from split_wording("export/compare.json", json.loads(run_cli("compare", *pair, "--json")))
    yield "data/export/compare.csv", run_cli("compare", *pair, "--format", "csv")
    yield "texts/export/compare.md", run_cli("compare", *pair, "--format", "md")


def _published(folder: Path) -> Named:
    """The boards of publishers by each of their orders, comparisons and findings."""
    for publisher, pair in (
        ("scale", ("gpt-5.5", "claude-opus-4.8")),
        ("tau2", ("glm-5-2_sierra_2026-08-04", "qwen3-8-max_sierra_2026-08-04")),
    ):
        first = run_cli("board", "--published", publisher, "--format", "json")
        for by in json.loads(first)["board"]["orders"]:
            board = run_cli("board", "--published", publisher, "--by", by, "--format", "json")
            yield f"data/published/{publisher}-{by}.json", board
        yield f"texts/published/{publisher}", run_cli("board", "--published", publisher)
        compared = run_cli("published", "compare", *pair, "--json")
        yield f"data/published/{publisher}-compare.json", compared
        yield f"texts/published/{publisher}-compare", run_cli("published", "compare", *pair)
        findings = run_cli("published", "check", "--publisher", publisher, "--all", "--json")
        yield from split_wording(f"published/{publisher}-check.json", json.loads(findings))
        for route in ("ranking", "leaders"):
            address = f"/api/v1/published/{route}?publisher={publisher}"
            yield from _listing(f"published/api-{publisher}-{route}", address)
    yield "data/published/list.json", run_cli("published", "list", "--json")
    yield from _listing("published/api", "/api/v1/published")


def _export(run: str, form: str, *options: str) -> str:
    return run_cli("export", run, "--format", form, *options)


def _site(folder: Path) -> Named:
    """The static site: its files, their data, and the wording of its pages."""
    out = folder / "site"
    run_cli("site", "--out", str(out), "--base-url", "https://board.example/")
    paths = sorted(path for path in out.rglob("*") if path.is_file())
    yield "data/site/files", "\n".join(str(path.relative_to(out)) for path in paths)
    for path in paths:
        name = f"site/{path.relative_to(out)}"
        if path.suffix == ".html":
            yield from _page(name, path.read_text(encoding="utf-8"))
        elif path.suffix == ".png":
            yield f"texts/{name}", _pixels(path.read_bytes())
        elif path.name.endswith(".vl.json"):  # its axes and tooltips are wording
            yield f"texts/{name}", path.read_text(encoding="utf-8")
        elif path.suffix in (".json", ".csv"):
            yield f"data/{name}", path.read_text(encoding="utf-8")


def _page(name: str, text: str) -> Named:
    yield f"data/{name}", "\n".join(Skeleton(text).lines)
    yield f"texts/{name}", text


def _pixels(picture: bytes) -> str:
    """Hash what a picture shows: its file may differ with the compressor."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        return f"{image.size} {hash_bytes(image.convert('RGB').tobytes())}"


# The API


def _answer(address: str) -> Any:
    """The response of the API's routes to a GET, without a server."""
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from evalcore.web.application import ROUTES

    return TestClient(Starlette(routes=list(ROUTES))).get(address)


def _get(address: str) -> Any:
    return _answer(address).json()


def _api(folder: Path) -> Named:
    """Every route: good answers, all pages of lists, and refusals."""
    yield from split_wording("api/health", _get("/api/v1/health"))
    yield from split_wording("api/openapi", _get("/api/v1/openapi.json"))
    for query in ("", "?suite=sql", "?suite=agentic"):
        yield from _listing(f"api/boards{query}", f"/api/v1/boards{query}")
    for board in _get("/api/v1/boards")["items"]:
        for by in board["orders"]:
            query = urlencode({"suite": board["suite"], "board": board["key"], "by": by})
            yield from _listing(f"api/ranking?{query}", f"/api/v1/ranking?{query}")
    for query in ("kind=baseline,control&limit=2", "q=null", "suite=agentic&by=bfcl&limit=1"):
        yield from _listing(f"api/ranking?{query}", f"/api/v1/ranking?{query}")
    for query in ("limit=3", "state=done", "benchmark=bfcl", "target=baseline:duckdb"):
        yield from _listing(f"api/runs?{query}", f"/api/v1/runs?{query}")
    for run in _exported():
        address = f"/api/v1/cases?run={run}&limit=500"
        yield from _listing(f"api/cases?run={run}", address)
    for query in ("metric=execution_accuracy", "outcome=failed&difficulty=3", "q=ea-01", "limit=7"):
        address = f"/api/v1/cases?run=shipped-baseline-duckdb&{query}"
        yield from _listing(f"api/cases?{query}", address, pages=3)
    for address in (
        *(
            "ranking?by=nothing",
            "ranking?board=nothing",
            "boards?suite=nothing",
            "cases",
            "nothing",
        ),
        *("cases?run=nothing", "runs?limit=0", "runs?color=red", "runs?cursor=x", "badge.svg"),
    ):
        answer = _answer(f"/api/v1/{address}")
        yield from split_wording(
            f"api/refused/{address}", {"status": answer.status_code} | answer.json()
        )
    yield from _pictures()
    for address in (
        *("share", "share/ranking?suite=agentic", "share/target?key=baseline:duckdb&lang=zh"),
        *("share/compare?runs=shipped-baseline-duckdb,shipped-control-null", "share/nothing"),
        "share/case?run=shipped-baseline-duckdb&benchmark=sql_understanding"
        "&metric=execution_accuracy&id=ea-001",
    ):
        yield from _page(f"api/{address}", _answer(f"/{address}").text)


def _pictures() -> Named:
    """Badges and previews of the shipped targets on each suite."""
    for run in _shipped():
        target = run.removeprefix("shipped-").replace("-", ":")
        for query in ("", "&suite=agentic", "&benchmark=sql_understanding&lang=zh"):
            address = f"badge.svg?target={target}{query}"
            yield from _page(f"api/{address}", _answer(f"/api/v1/{address}").text)
    for query in ("", "?suite=agentic", "?target=baseline:duckdb", "?target=nobody&by=bfcl"):
        answer = _answer(f"/api/v1/preview.png{query}")
        yield f"texts/api/preview.png{query}", _pixels(answer.content)


def _listing(name: str, address: str, pages: int = 100) -> Named:
    """The pages of a list as one; `next` holds the state of the store, so only its being there."""
    answers: list[Any] = []
    following: str | None = address
    while following and len(answers) < pages:
        answers.append(_get(following))
        following = answers[-1]["next"]
    for answer in answers:
        answer["next"] = answer["next"] and re.sub(
            r"cursor=[\w-]+", f"cursor={MASK}", answer["next"]
        )
    yield from split_wording(name, answers, RUN_WORDING)


# Runs made now


def _fresh_runs(folder: Path) -> Named:
    """Records of runs by baselines on bundled cases that need no server and no sandbox."""
    for target, benchmark, count in (
        ("baseline:sqlglot", "sql_understanding", 24),
        ("baseline:constant", "sql_understanding", 12),
        ("baseline:keywords", "bfcl", 24),
    ):
        number = str(count)
        arguments = ("--target", target, "--benchmarks", benchmark, "--max-samples", number)
        summary = json.loads(run_cli("run", *arguments, "--concurrency", "1", "--json"))
        run = folder / "runs" / summary["run_id"]
        name = f"run/{target}-{benchmark}"
        yield f"data/{name}/printed", format_json(_stable(summary))
        for file in ("spec.json", "summary.json"):
            yield f"data/{name}/{file}", format_json(_stable(json.loads((run / file).read_text())))
        for journal in ("samples.jsonl", "generations", "verdicts"):
            lines = [
                _stable(json.loads(line))
                for path in (
                    [run / journal] if "." in journal else (run / journal).rglob("*.jsonl")
                )
                for line in path.read_text(encoding="utf-8").split("\n")
                if line
            ]
            lines.sort(key=lambda line: json.dumps(line, sort_keys=True))
            yield from split_wording(f"{name}/{journal}", lines, RUN_WORDING)


def _stable(value: Any, depth: int = 2) -> Any:
    """Mask times and versions in a record and in the records right below it, and
    versions of engines everywhere; what lies deeper is content."""
    if isinstance(value, dict):
        return {
            name: MASK
            if depth and name in _VOLATILE and part is not None
            else _stable(part, max(depth - 1, 0))
            for name, part in value.items()
            if not (depth and name == "git_commit")  # none outside a checkout
        }
    if isinstance(value, list):
        return [_stable(part, 0) for part in value]
    return _ENGINE_VERSION.sub(rf"\1 {MASK}", value) if isinstance(value, str) else value


# The pages


def _pages(folder: Path, every_state: bool = False) -> Named:
    """What a link leaves in the address, the widgets' values and links (data), and the words."""
    from streamlit.testing.v1 import AppTest

    from evalcore.settings import Settings
    from tests.support import linked_store
    from tests.support.link_states import BOARD, STATES

    key = linked_store.fill(Settings(data=str(folder), shipped=f"{folder}/none"))
    for page, states in STATES.items():
        queries = [state.query for state in states]
        for query in queries if every_state else _cover(queries):
            named = {name: key if text == BOARD else text for name, text in query.items()}
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
            for name, text in {"page": page, **named}.items():
                app.query_params[name] = text
            app.run()
            if app.exception:
                raise RuntimeError(f"{page}?{urlencode(named)}: {app.exception}")
            name = f"pages/{page}?{urlencode(query)}"
            yield f"data/{name}", format_json(_seen(app))
            yield f"texts/{name}", _words(app)


def _cover(queries: list[dict[str, str]]) -> list[dict[str, str]]:
    """Choose few queries, the longest first, that use every parameter once."""
    chosen, used = [], set[str]()
    for query in sorted(queries, key=len, reverse=True):
        if not used.issuperset(query):
            chosen.append(query)
            used |= set(query)
    return chosen


def _seen(app: Any) -> dict[str, Any]:
    """The address after the run, the value of each widget by kind, the shape of each table."""
    kinds = ("selectbox", "multiselect", "button_group", "toggle", "text_input", "checkbox")
    return {
        "address": dict(app.query_params),
        "widgets": [[kind, element.value] for kind in kinds for element in app.get(kind)],
        "tables": [list(frame.value.shape) for frame in app.dataframe],
    }


def _words(app: Any) -> str:
    from tests.support.pages import drawn_html, read_html_text

    kinds = ("title", "header", "subheader", "markdown", "caption", "warning", "error", "info")
    labelled = ("selectbox", "multiselect", "button_group", "toggle", "text_input", "button")
    lines = [f"{kind}: {element.value}" for kind in kinds for element in app.get(kind)]
    lines += [f"html: {read_html_text(body)}" for body in drawn_html(app)]
    return "\n".join(lines + [f"{k}: {element.label}" for k in labelled for element in app.get(k)])


#: What one process collects.
PARTS: dict[str, tuple[Callable[[Path], Named], ...]] = {
    "store": (_shipped_files, _cli, _boards, _published, _exports, _site, _api, _fresh_runs),
    "states": (_pages,),
    "every_state": (partial(_pages, every_state=True),),
}

"""Where files lie on the machine stands nowhere that strangers read: API, pages, site, exports.

Real runs over a data set named by its absolute path, whose every free text names paths, and runs
of models that are folders, judged by another, go through every route, every page, every file of the
site and every form of export.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import replace

from evalcore.access.policy import OPERATOR
from evalcore.access.redaction import dataset_name, is_path, mask_target, redact_paths
from evalcore.cli.main import main
from evalcore.exchange import board_export
from evalcore.exchange.page_jobs import build_export_file
from evalcore.exchange.scale import exporter
from evalcore.exchange.site.publish import SiteOptions, publish_site
from evalcore.i18n import t
from evalcore.records import from_json, to_json
from evalcore.runner.jobs import TaskContext
from evalcore.runner.jobs.data_client import BUNDLE_FORM
from evalcore.settings import ROOT, Settings
from evalcore.store.headers import RunHeader, intern_header_texts, mask_header
from evalcore.store.run_folder import RunFolder
from evalcore.target_cards import (
    FILE,
    NO_CARD,
    TABLE,
    TargetCard,
    load_cards,
    load_local_card,
    save_card,
)
from evalcore.views import boards, stored_boards
from evalcore.views.board_titles import display_name
from evalcore.views.runs import load_run_target
from evalcore.web.resources import RESOURCES
from tests.support.api import V1, client
from tests.support.app_session import AppSession
from tests.support.boards import Plan, make_run
from tests.support.bundles import files_of
from tests.support.server import serve

pytestmark = pytest.mark.slow

SECRET_FOLDER = "secretplace"  # a word that no markup escapes
BENCHMARKS = ("sql_understanding", "dialect_conversion")
LOCAL = ("hf", "app", "openai")
FOLDER = f"my {SECRET_FOLDER}"  # a folder whose name holds a space
#: Models in folders below and beside the one where the command was given.
RELATIVE = (
    f"hf:./{SECRET_FOLDER}/tiny",
    f"hf:../{FOLDER}/models/tiny",
    f"hf:{SECRET_FOLDER}/models/tiny",
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Settings:
    """Two finished runs over data sets in a folder of the machine."""
    base = tmp_path_factory.mktemp("machine")
    cases = base / FOLDER / "mine"
    cases.mkdir(parents=True)
    for benchmark in BENCHMARKS:
        for path in sorted((ROOT / "datasets" / benchmark).glob("*.jsonl"))[:1]:
            lines = path.read_text("utf-8").splitlines()[:3]
            (cases / benchmark).mkdir()
            (cases / benchmark / path.name).write_text("\n".join(lines) + "\n", "utf-8")
    settings = Settings(
        data=str(base / SECRET_FOLDER / "data"), shipped=str(base / SECRET_FOLDER / "none")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_DATA", settings.data)
        patch.setenv("EVALBOARD_SHIPPED", settings.shipped)
        for benchmark in BENCHMARKS:
            for target in ("control:null", "control:reference"):
                words = ["run", "--target", target, "--benchmarks", benchmark, "--dataset"]
                assert main([*words, str(cases / benchmark)]) == 0
        _make_local_runs(settings, cases)
        for folder in settings.runs_dir.iterdir():
            spec = json.loads((folder / "spec.json").read_bytes())
            spec["note"] = f"tried with '{cases}/notes.txt'"
            (folder / "spec.json").write_text(json.dumps(spec), "utf-8")
        for target in LOCAL:  # as an older version wrote it: under the path
            _write_card(settings, f"{target}:{cases}/tiny", {"name": f"Tiny of {target}"})
    return settings


def _make_local_runs(settings: Settings, cases: Path) -> None:
    """Two models, a service and a served model, each named by its path; the second model has an
    adapter, and a judge voted on it that is a folder too."""
    for target in (*(f"{kind}:{cases}/tiny" for kind in LOCAL), f"hf:{cases}/other/tiny"):
        make_run(settings, Plan(target=target, skill=0.6, cases=4))
    for target in RELATIVE:
        options = {"adapter": f"../{FOLDER}/lora"}
        folder = make_run(settings, Plan(target=target, options=options, cases=4))
        folder.write_card({"parameters": 1000, "adapter": options["adapter"], "model": target[3:]})
        spec = folder.read_spec()
        command = f"evalcore run --target '{target}' --adapter '{options['adapter']}'"
        own = tuple(
            replace(benchmark, dataset=f"./{SECRET_FOLDER}/cases") for benchmark in spec.benchmarks
        )
        relative = replace(spec, command=command, benchmarks=own)
        (folder.path / "spec.json").write_bytes(to_json(relative))
    options = {"adapter": f"{cases}/lora", "dtype": "int4"}
    folder = make_run(settings, Plan(target=f"hf:{cases}/tiny", options=options, cases=4))
    folder.write_card(
        {
            "parameters": 1000,
            "architecture": "Qwen3",
            "adapter": options["adapter"],
            "notes": [f"the adapter says that it was made for '{cases}/base'"],
        }
    )
    judge = f"hf:{cases}/judge?dtype=int4"
    spec = folder.read_spec()
    panel = tuple(replace(benchmark, judges=(judge,)) for benchmark in spec.benchmarks)
    judged = replace(
        spec,
        judges=(judge,),
        benchmarks=panel,
        command=f"evalcore run --target '{spec.target.key}' --judge '{judge}'",
    )
    (folder.path / "spec.json").write_bytes(to_json(judged))
    [journal] = (folder.path / "verdicts").rglob("*.jsonl")
    votes = [{"judge": judge, "vote": "yes", "reason": "so it is"}]
    section = {"kind": "votes", "title": "votes", "body": votes}
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    for line in lines:
        line["verdict"]["evidence"] = [section]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _write_card(settings: Settings, key: str, card: dict[str, str]) -> None:
    path = settings.data_dir / FILE
    document = json.loads(path.read_bytes()) if path.exists() else {TABLE: {}}
    document[TABLE][key] = card
    path.write_text(json.dumps(document), "utf-8")


def local_runs(settings: Settings) -> dict[str, str]:
    """The path under which each target is stored that is named by one, by run."""
    specs = {run: RunFolder(settings.runs_dir / run).read_spec() for run in runs_of(settings)}
    return {
        run: spec.target.identity for run, spec in specs.items() if SECRET_FOLDER in spec.target.key
    }


@pytest.fixture
def here(stored, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", stored.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", stored.shipped)
    return stored


def places(content: bytes) -> list[str]:
    """What of a content names the place, as it is written there or in an address."""
    text = content.decode("utf-8", "replace")
    hits = []
    for word in (SECRET_FOLDER, quote(f"/{SECRET_FOLDER}/", safe="")):
        start = text.find(word)
        if start >= 0:
            hits.append(text[max(0, start - 80) : start + 80])
    return hits


def runs_of(settings: Settings) -> list[str]:
    return sorted(path.name for path in settings.runs_dir.iterdir())


@pytest.mark.full
def test_the_runs_do_name_the_place(stored):
    spec = RunFolder(stored.runs_dir / runs_of(stored)[0]).read_spec()
    assert SECRET_FOLDER in spec.benchmarks[0].dataset
    assert SECRET_FOLDER in spec.note
    assert len(local_runs(stored)) == len(LOCAL) + len(RELATIVE) + 2
    assert places((stored.data_dir / FILE).read_bytes())
    assert places(stored.index_path.read_bytes())


def addresses(settings: Settings) -> Iterator[str]:
    """Every route of the API with what its parameters may be."""
    headers = stored_boards.load_run_headers(settings)
    runs = [{"run": run} for run in runs_of(settings)]
    all_boards = boards.list_boards(headers, "sql")
    of_boards = [{"suite": "sql", "board": board.key} for board in all_boards]
    targets = [{"target": header.identity} for header in headers]
    for path in (*RESOURCES, f"{V1}/health", "/share", "/share/target"):
        for query in ({}, {"lang": "zh"}, *runs, *of_boards, *targets):
            yield f"{path}?{urlencode(query)}"


@pytest.mark.full
def test_no_answer_of_the_api_names_a_place(here):
    asked, answered = client(), 0
    for address in addresses(here):
        answer = asked.get(address)
        answered += answer.status_code == 200
        content = answer.content + repr(answer.headers).encode()
        assert places(content) == [], address
    assert answered > 20


@pytest.mark.full
def test_targets_named_by_a_path_stay_apart_and_are_reached_by_either_name(here):
    """The masked name, and the path in links of before, give the same answer."""
    asked, rows = (
        client(),
        {header.run_id: header for header in stored_boards.load_run_headers(here)},
    )
    local = local_runs(here)
    masked = {run: rows[run].identity for run in local}
    assert len(set(masked.values())) == len(local)
    cards = load_cards(here)
    for run, identity in local.items():
        assert masked[run] == mask_target(identity)
        assert re.fullmatch(r"\w+:tiny~[0-9a-f]{8}(#[0-9a-f]{8})?", masked[run])
        written = "other" not in identity and not identity.startswith(RELATIVE)
        assert not written or cards[rows[run].target_key].name.startswith("Tiny of")
        for route in ("badge.svg", "preview.png", "runs"):
            answers = [
                asked.get(f"{V1}/{route}", params={"target": name})
                for name in (identity, masked[run])
            ]
            assert answers[0].status_code == 200
            assert answers[0].content == answers[1].content, route
        listed = asked.get(f"{V1}/runs", params={"target": identity}).json()
        assert [row["run_id"] for row in listed["items"]] == [run]
        badge = asked.get(f"{V1}/badge.svg", params={"target": identity}).text
        assert t("badge.unknown", "en") not in badge
        board, by = stored_boards.find_run_board(list(rows.values()), run)
        where = {"suite": board.suite, "board": board.key, "by": by, "q": identity}
        ranked = asked.get(f"{V1}/ranking", params=where).json()["items"]
        assert masked[run] in [row["identity"] for row in ranked]
        picture = asked.get("/share/target", params={"key": masked[run]}).text
        options = rows[run].target_options
        name = display_name(masked[run], rows[run].target_key, cards, options)
        assert name in unescape(picture)


def test_a_card_is_written_under_the_masked_name(here, tmp_path):
    settings = Settings(data=str(tmp_path), shipped=here.shipped)
    key = f"hf:/{SECRET_FOLDER}/models/tiny"
    _write_card(settings, key, {"name": "Before"})
    assert (
        load_local_card(settings, key).name
        == load_local_card(settings, mask_target(key)).name
        == "Before"
    )
    save_card(settings, OPERATOR, key, TargetCard(name="After"))
    assert places((tmp_path / FILE).read_bytes()) == []
    assert load_cards(settings)[mask_target(key)].name == "After"
    save_card(settings, OPERATOR, mask_target(key), NO_CARD)
    assert load_local_card(settings, key) == NO_CARD


def test_what_a_run_needs_to_go_on_is_asked_of_its_real_target(here):
    for run, identity in local_runs(here).items():
        assert load_run_target(here.run_roots, run).identity == identity


def test_no_file_of_the_site_names_a_place(here, tmp_path):
    publish_site(here, SiteOptions(out=tmp_path / "site"))
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert places(path.read_bytes() + path.name.encode()) == [], path.name


def test_no_export_names_a_place(here, capsys, tmp_path):
    for run in runs_of(here):
        for form in ("json", "csv", "md", "html", BUNDLE_FORM):
            content = build_export_file(TaskContext(here), run, form)
            if form == BUNDLE_FORM:
                (tmp_path / f"{run}.zip").write_bytes(content)
                content = b"".join(files_of(tmp_path / f"{run}.zip").values())
            assert places(content) == [], form
    for form in board_export.FORMATS:
        assert main(["board", "--suite", "sql", "--format", form]) == 0
        assert places(capsys.readouterr().out.encode()) == [], form
    runs = runs_of(here)[:2]
    for form in ("text", "md", "csv"):
        assert main(["compare", *runs, "--format", form]) == 0
        assert places(capsys.readouterr().out.encode()) == [], form


def test_no_file_for_the_site_of_scale_names_a_place(here, tmp_path):
    for run in local_runs(here):
        exporter.export_scale_run(RunFolder(here.runs_dir / run), tmp_path / run)
        files = [path for path in (tmp_path / run).rglob("*") if path.is_file()]
        assert len(files) > 2
        for path in files:
            assert places(path.read_bytes() + path.name.encode()) == [], path.name


@pytest.mark.full
def test_no_page_for_readers_names_a_place(here, monkeypatch):
    """All that the server sends for every page, as it goes over the wire."""
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    headers = stored_boards.load_run_headers(here)
    pages = ["", "metrics", "methodology", "launch", "runs", "datasets"]
    pages += [
        f"?suite=sql&board={quote(board.key)}" for board in boards.list_boards(headers, "sql")
    ]
    pages += [f"methodology?benchmark={item}" for item in BENCHMARKS]
    pages += [f"target?key={quote(header.identity)}" for header in headers]
    pages += [f"compare?runs={','.join(runs_of(here))}"]
    for run in runs_of(here):
        sample = next(iter(RunFolder(here.runs_dir / run).read_samples())).sample
        pages += [f"runs?run={run}", f"case?run={run}&metric={sample.metric}&id={sample.id}"]
    with serve(Path(here.data).parent) as served, AppSession(served.url) as visitor:
        for identity in local_runs(here).values():
            drawn = [
                b"".join(m.SerializeToString() for m in visitor.open("target", f"key={quote(key)}"))
                for key in (identity, mask_target(identity))
            ]
            for content in drawn:
                assert mask_target(identity).encode() in content.replace(b"\\", b"")
                assert t("target.not_found", "en", name="")[:20].encode() not in content
        for address in pages:
            page, _, query = address.partition("?")
            for message in visitor.open(page, query):
                assert places(message.SerializeToString()) == [], address


def test_an_index_that_an_older_version_wrote_is_read_without_its_places(here):
    """What the older version kept of a run goes, the run and its column stay."""
    fresh = {header.run_id: header for header in stored_boards.load_run_headers(here)}
    document = json.loads(here.index_path.read_bytes())
    for run_id, row in document["runs"].items():
        for score in row["benchmarks"].values():
            score["dataset"] = f"/srv/{SECRET_FOLDER}/cases"
            score["label"] = (
                f"/srv/{SECRET_FOLDER}/cases · verified · files=/srv/{SECRET_FOLDER}/x · 3 samples"
            )
        with_shared = intern_header_texts(from_json(RunHeader, json.dumps(row).encode()))
        assert places(to_json(mask_header(with_shared))) == []
        assert with_shared.source != fresh[run_id].source
    here.index_path.write_text(json.dumps(document), "utf-8")
    again = {header.run_id: header for header in stored_boards.load_run_headers(here)}
    assert again == fresh


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("hf:/srv/models/tiny", "hf:tiny~0f5db2c9"),
        ("hf:/srv/models/tiny#0123abcd", "hf:tiny~0f5db2c9#0123abcd"),
        ("openai:/srv/models/tiny", "openai:tiny~0f5db2c9"),
        ("hf: /srv/x", "hf:x~"),
        ("hf:~/models/tiny", "hf:tiny~"),
        ("hf:~", "hf:folder~"),
        ("hf:/", "hf:folder~"),
        ("hf:/srv/~x/", "hf:x~"),
        ("hf:/srv/ ~x", "hf:x~"),
        ("hf:C:\\Users\\ada\\tiny", "hf:tiny~"),
        ("hf:\\\\server\\share\\tiny", "hf:tiny~"),
        ("app:/srv/my services/a.yaml", "app:a.yaml~"),
        ("hf:/srv/\ud800/\udfff", "hf:\udfff~"),
        ("hf:/srv/a:/b", "hf:b~"),
        ("hf:./secret/tiny", "hf:tiny~"),
        ("hf:./tiny", "hf:tiny~"),
        ("hf:../../secret/tiny/", "hf:tiny~"),
        ("hf:../tiny#0123abcd", "hf:tiny~"),
        ("hf: ./tiny", "hf:tiny~"),
        ("hf:.", "hf:folder~"),
        ("hf:..#0123abcd", "hf:folder~"),
        ("hf:secret/../..", "hf:folder~"),
        ("hf:.secret/tiny", "hf:tiny~"),
        ("hf:.\\secret\\tiny", "hf:tiny~"),
        ("hf:secret\\tiny", "hf:tiny~"),
        ("hf:secret/models/tiny", "hf:tiny~"),
        ("hf:a/../b", "hf:b~"),
        ("openai:./secret/tiny", "openai:tiny~"),
        ("app:./secret/a.yaml", "app:a.yaml~"),
        ("app:secret/a.yaml", "app:a.yaml~"),
    ],
)
def test_a_target_is_named_without_its_place(target, name):
    masked = mask_target(target)
    assert masked.startswith(name)
    assert mask_target(masked) == masked
    assert mask_target(f"{target}x") != masked


@pytest.mark.parametrize(
    "target",
    [
        *("", "hf", "/srv/x", "hf:Qwen/Qwen3-0.6B", "hf:tiny~0f5db2c9", "hf:.hidden"),
        *("openai:~vendor/latest#0123abcd", "openai:http://host/v1"),
        *("openai:accounts/fireworks/models/x", "scale:a/b/c", "hf:Qwen/Qwen3-0.6B#0123abcd"),
        *("control:null", "app:sqlglot", "baseline:x#0123abcd"),
    ],
)
def test_a_target_that_is_no_path_keeps_its_name(target):
    assert mask_target(target) == target


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--target hf:/srv/models/tiny --x", "--target hf:tiny~0f5db2c9 --x"),
        ("hf:/srv/models/tiny: not there.", "hf:tiny~0f5db2c9: not there."),
        ("'hf:/srv/models/tiny?dtype=int4'", "'hf:tiny~0f5db2c9?dtype=int4'"),
        ("see app://x/y and https://example.org/a/b", "see app://x/y and https://example.org/a/b"),
        ("chaff:/srv/x", "chaff:/srv/x"),
        ("--judge 'hf:/srv/my models/tiny?dtype=int4'", "--judge 'hf:tiny~f7725638?dtype=int4'"),
        ("no file '/srv/my secret/cases 1.jsonl'; or", "no file '…/cases 1.jsonl'; or"),
        ('at "C:\\Users\\ada b\\tiny"', 'at "…/tiny"'),
        ("it's /srv/x/y and that's 1/2", "it's …/y and that's 1/2"),
        ("'/single name'", "'/single name'"),
        ("--target hf:./secret/tiny --x", "--target hf:tiny~e7c80f25 --x"),
        ("'hf:./secret/tiny?dtype=int4'", "'hf:tiny~e7c80f25?dtype=int4'"),
        ("'hf:my secret/of/tiny?dtype=int4'", "'hf:tiny~3480dc7d?dtype=int4'"),
        ("hf:secret/models/tiny.", "hf:tiny~fc30a1da."),
        ("--adapter=../secret/lora", "--adapter=…/lora"),
        ("no folder './secret place/tiny'; or", "no folder '…/tiny'; or"),
        ("--target hf:Qwen/Qwen3-0.6B 'hf:Qwen/Qwen3'", None),
        ("and so on.../ or ./x and a.b/c/d", None),
    ],
)
def test_a_target_within_a_text_has_its_masked_name(text, shown):
    assert redact_paths(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("sql_understanding", "sql_understanding"),
        ("team/ours", "team/ours"),
        ("scale-2026-03", "scale-2026-03"),
        ("/srv/secret/cases.jsonl", "cases.jsonl (0123abcd)"),
        ("/srv/secret place/my cases/", "my cases (0123abcd)"),
        ("//srv/x", "x (0123abcd)"),
        ("~/cases", "cases (0123abcd)"),
        ("C:\\Users\\ada\\cases", "cases (0123abcd)"),
        ("\\\\server\\share\\cases", "cases (0123abcd)"),
        ("/", "dataset (0123abcd)"),
        ("./secret/cases.jsonl", "cases.jsonl (0123abcd)"),
        ("../cases", "cases (0123abcd)"),
        ("..", "dataset (0123abcd)"),
        ("secret/my/cases.jsonl", "cases.jsonl (0123abcd)"),
        ("/srv/~x", "x (0123abcd)"),
    ],
)
def test_a_data_set_is_named_without_its_place(dataset, name):
    assert dataset_name(dataset, "0123abcd4567") == name
    assert not is_path(dataset_name(dataset))

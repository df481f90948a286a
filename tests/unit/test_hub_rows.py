"""Own cases from the Hub: rows of a repository on the loopback become an own set, and what is
published loads back equal."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import datasets
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange import hub_publish, hub_rows
from evalcore.runner.dataset_check import DatasetLocation
from evalcore.runner.jobs import TaskContext, dataset_service
from evalcore.runner.uploads import MAX_CASES, MAX_FILE_BYTES
from evalcore.store.datasets import load_own_cards
from evalcore.views.datasets import list_dataset_entries
from tests.support import hub_repository
from tests.support.boards import settings_in

REPO = hub_repository.REPO
KEY = "sql_understanding"
BUNDLED = "datasets/sql_understanding/sql_identification.jsonl"


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The library reads its address once, when it is imported."""
    with hub_repository.serving(hub_repository.Store()) as server:
        constants = huggingface_hub.constants
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", hub_repository.TOKEN)
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", server.address)
        address = server.address + "/datasets/{repo_id}/resolve/{revision}/{path}"
        monkeypatch.setattr(datasets.config, "HUB_DATASETS_URL", address)
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "sets")
        monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
        monkeypatch.setattr(datasets.config, "USE_PARQUET_EXPORT", False)
        yield server


@pytest.fixture(scope="module")
def lines():
    return Path(BUNDLED).read_text(encoding="utf-8").splitlines(keepends=True)[:6]


def call(capsys, store, *words):
    status = main([*words, "--data", store.data])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def add(capsys, store, address=f"hf://{REPO}", *more):
    words = ("datasets", "add", address, "--benchmark", KEY, "--name", "mine", *more)
    return call(capsys, store, *words)


def card(**configurations):
    configs = [{"config_name": name, "data_files": files} for name, files in configurations.items()]
    return f"---\n{json.dumps({'license': 'cc0-1.0', 'configs': configs})}\n---\n# Cases\n".encode()


def test_a_published_set_loads_back_equal_at_its_commit(capsys, store, hub, lines, tmp_path):
    file = tmp_path / "sql_identification.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    words = ("--benchmark", KEY, "--name", "first", "--licence", "MIT")
    assert call(capsys, store, "datasets", "add", str(file), *words)[0] == 0
    status, _, err = call(capsys, store, "hub", "dataset", "first", "--push", REPO)
    assert (status, err) == (0, "")
    text = hub.files["README.md"].decode()
    command = f"evalcore datasets add hf://{REPO} --benchmark {KEY} --name NAME"
    assert command in text.splitlines()
    status, shown, err = call(capsys, store, *command.replace("NAME", "back").split()[1:])
    assert (status, err) == (0, "")
    assert f"from hf://{REPO}@{hub.head}" in shown.splitlines()
    cards = {each.name: each for each in load_own_cards(store)}
    assert cards["back"].hash == cards["first"].hash
    assert cards["back"].source == f"hf://{REPO}@{hub.head}"
    assert cards["back"].licence == "mit"
    entries = {entry.name: entry for entry in list_dataset_entries(store)}
    assert entries["back"].source == cards["back"].source


def load_index(benchmark, folder):
    return dataset_service._build_dataset_index(DatasetLocation(benchmark, str(folder)))[1]


@pytest.mark.parametrize("name", ["dialect_conversion", "sql_optimization", KEY])
def test_all_rows_of_a_bundled_set_are_read_back(store, hub, tmp_path, name):
    out = tmp_path / "out"
    hub_publish.write_dataset_repository(name, store, out, REPO)
    hub.add({path.name: path.read_bytes() for path in out.iterdir()})
    assert f"datasets add hf://{REPO} " in (out / "README.md").read_text()
    rows = hub_rows.read_hub_rows(f"hf://{REPO}", name)
    upload = dataset_service.Upload(name, f"rows{rows.suffix}", rows.content, rows.part)
    validation = dataset_service.validate_upload(TaskContext(store), upload, str(tmp_path / "room"))
    assert validation.ok
    assert validation.summary.hash == load_index(name, f"datasets/{name}").hash


@pytest.mark.parametrize("name", ["bfcl", "tau_bench", "tau2_bench", "gaia", "swe_bench"])
def test_a_set_that_is_more_than_rows_is_run_from_its_folder(store, tmp_path, name):
    out = tmp_path / "out"
    hub_publish.write_dataset_repository(name, store, out)
    text = (out / "README.md").read_text()
    assert "evalcore hub fetch OWNER/NAME --out FOLDER" in text
    assert f"evalcore run --target TARGET --benchmarks {name} --dataset FOLDER" in text
    assert load_index(name, out).hash == load_index(name, f"datasets/{name}").hash != ""


AGENTIC = ["bfcl", "tau_bench", "tau2_bench", "gaia", "swe_bench"]
FETCHED = [*AGENTIC, "academic", "sql_understanding"]


def add_to_hub(hub, out):
    files = [path for path in out.rglob("*") if path.is_file()]
    hub.add({path.relative_to(out).as_posix(): path.read_bytes() for path in files})


@pytest.mark.parametrize("name", FETCHED)
def test_a_bundled_set_is_fetched_back_with_equal_samples(capsys, store, hub, tmp_path, name):
    out, back = tmp_path / "out", tmp_path / "back"
    hub_publish.write_dataset_repository(name, store, out, REPO)
    add_to_hub(hub, out)
    for number in range(2):  # a complete folder is left in place
        asked = len(hub.asked)
        status, shown, _ = call(capsys, store, "hub", "fetch", REPO, "--out", str(back))
        assert status == 0
        assert shown.count(str(back)) == 2  # with the command
        assert f"evalcore run --target TARGET --benchmarks {name} --dataset {back}" in shown
        assert (len(hub.asked) == asked) == bool(number)
    assert hub.head[:12] in shown
    bundled = Path("datasets") / name
    for file in bundled.rglob("*.*"):
        if file.is_file() and file.name != "README.md":
            assert (back / file.relative_to(bundled)).read_bytes() == file.read_bytes()
    if name != "academic":  # its cases are read by lm-eval
        assert load_index(name, back).hash == load_index(name, bundled).hash != ""


@pytest.mark.parametrize("name", ["bfcl", "gaia", "swe_bench", "academic"])
def test_a_set_that_is_more_than_rows_names_the_command_that_fetches_it(
    capsys, store, hub, tmp_path, name
):
    hub_publish.write_dataset_repository(name, store, tmp_path / "out", REPO)
    add_to_hub(hub, tmp_path / "out")
    words = ("datasets", "add", f"hf://{REPO}", "--benchmark", name, "--name", "mine")
    status, shown, err = call(capsys, store, *words)
    assert status == 2
    assert f"`evalcore hub fetch {REPO} --out FOLDER`" in shown + err
    assert load_own_cards(store) == []


def test_a_name_of_a_task_leads_into_no_command(capsys, store, hub, tmp_path):
    hub.add({"eval.yaml": b"tasks:\n- id: bfcl; rm -rf x\n- id: evil\n", "a.jsonl": b"{}\n"})
    status, shown, _ = call(capsys, store, "hub", "fetch", f"hf://{REPO}")
    assert status == 0
    assert "--benchmarks BENCHMARK --dataset" in shown
    assert f"{store.data}/datasets/hub-lab--board" in shown


@pytest.mark.parametrize("name", ["tau_bench", "tau2_bench"])
def test_tasks_are_read_back_by_rows(store, hub, tmp_path, name):
    """An own set of tau names its tasks anew; what is asked stays, and the command that keeps the
    names is given."""
    hub_publish.write_dataset_repository(name, store, tmp_path / "out", REPO)
    add_to_hub(hub, tmp_path / "out")
    rows = hub_rows.read_hub_rows(f"hf://{REPO}", name)
    upload = dataset_service.Upload(name, f"rows{rows.suffix}", rows.content, rows.part)
    room = tmp_path / "room"
    assert "evalcore hub fetch" in rows.whole
    validation = dataset_service.validate_upload(TaskContext(store), upload, str(room))
    assert validation.ok
    assert validation.summary.samples == load_index(name, f"datasets/{name}").samples


def test_columns_are_rows_and_their_nulls_are_absent(capsys, store, hub, lines):
    rows = [json.loads(line) for line in lines]
    names = {name: None for row in rows for name in row} | {"never": None}
    table = pa.Table.from_pylist([dict(names) | row for row in rows])
    content = io.BytesIO()
    pq.write_table(table, content)
    hub.add({"data/test-00000-of-00001.parquet": content.getvalue()})
    read = hub_rows.read_hub_rows(f"hf://{REPO}", KEY)
    assert [json.loads(line) for line in read.content.splitlines()] == rows
    assert read.locate_line(2) == "default/test, row 2"
    assert add(capsys, store, f"hf://{REPO}:default/test", "--part", "sql_identification")[0] == 0


def test_columns_that_unpack_without_end_are_not_read(capsys, store, hub):
    """The texts differ in a few bytes each, so that the file is small and its columns are not."""
    table = pa.Table.from_pylist([{"sql": f"{n}{'x' * 400_000}"} for n in range(60)])
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    assert len(content.getvalue()) < 100_000
    hub.add({"cases.parquet": content.getvalue()})
    status, shown, err = add(capsys, store)
    assert (status, shown) == (2, "")
    assert "contains more than 10 MB of cases" in err


def test_a_csv_is_taken_as_it_stands(hub):
    hub.add({"cases.csv": b'case_id,question\r\n007,"a\nb"\r\n'})
    rows = hub_rows.read_hub_rows(f"hf://datasets/{REPO}", KEY)
    assert (rows.content, rows.suffix) == (b'case_id,question\n007,"a\nb"\n', ".csv")


def test_problems_are_told_by_the_row_of_their_split(capsys, store, hub, lines):
    bad = json.loads(lines[1])
    del bad["sql"]
    files = {"a.jsonl": "".join(lines[2:]), "b.jsonl": f"{lines[0]}{json.dumps(bad)}\nnot JSON\n"}
    configs = {"explain_detection": "a.jsonl", "sql_identification": "b.jsonl", "notes": "a.jsonl"}
    hub.add({name: text.encode() for name, text in files.items()} | {"README.md": card(**configs)})
    status, shown, err = add(capsys, store, f"hf://{REPO}:sql_identification")
    assert (status, err) == (2, "")
    assert "sql_identification/train, row 2, sql: " in shown
    assert "sql_identification/train, row 3: " in shown
    rows = hub_rows.read_hub_rows(f"hf://{REPO}", KEY)
    assert rows.unread == ("notes",)
    assert rows.locate_line(len(lines) - 2 + 2) == "sql_identification/train, row 2"
    assert load_own_cards(store) == []


SPLITS = {"a.jsonl": b"{}\n", "README.md": card(one="a.jsonl", two="a.jsonl")}
MANY = b"{}\n" * (2 * MAX_CASES + 1)


@pytest.mark.parametrize(
    ("files", "address", "problem"),
    [
        ({}, "hf://lab", "is not the address of a dataset"),
        ({}, f"hf://{REPO}:one/two/three", "is not the address of a dataset"),
        (SPLITS, "hf://lab/other", "the Hub has no dataset lab/other"),
        (SPLITS, f"hf://{REPO}@v9", "has no revision 'v9'"),
        (SPLITS, f"hf://{REPO}", "several configurations; name one after a colon: one, two"),
        (SPLITS, f"hf://{REPO}:three", "no configuration three; there are: one, two"),
        (SPLITS, f"hf://{REPO}:one/test", "no split test; name one after a slash: train"),
        ({"README.md": b"# Nothing\n"}, f"hf://{REPO}", "cannot be read as rows"),
        ({"README.md": b"---\n[\n---\n"}, f"hf://{REPO}", "README.md is not a readable card"),
        ({"a.jsonl.gz": b"x"}, f"hf://{REPO}", "a.jsonl.gz cannot be read as cases"),
        ({"a.csv": b"a\n", "b.csv": b"a\n"}, f"hf://{REPO}", "several CSV files"),
        ({"a.jsonl": b" " * (MAX_FILE_BYTES + 1)}, f"hf://{REPO}", "more than 10 MB"),
        ({"a.jsonl": MANY}, f"hf://{REPO}", "more than 5000 rows"),
        ({"board.py": b"raise SystemExit", "a.jsonl": b"{}"}, f"hf://{REPO}", "scripts are no"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(capsys, store, hub, files, address, problem):
    hub.add(files)
    status, shown, err = add(capsys, store, address)
    assert (status, shown) == (2, "")
    assert problem in err
    assert load_own_cards(store) == []


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/a.jsonl", "../other/a.jsonl"),
        *("hf://datasets/lab/a/a.jsonl", "zip://a.jsonl::a.zip", "~/a.jsonl", "x/..\\a.jsonl"),
    ],
)
@pytest.mark.parametrize("file", ["README.md", ".huggingface.yaml"])
def test_a_card_names_files_of_its_repository_only(hub, path, file):
    files = [{"split": "test", "path": ["a.jsonl", path]}]
    text = card(default=files) if file == "README.md" else card(default=files).split(b"---\n")[1]
    hub.add({"a.jsonl": b"{}\n", file: text})
    with pytest.raises(UsageError, match="outside its own files"):
        hub_rows.read_hub_rows(f"hf://{REPO}", KEY)
    assert hub.count("GET", "a.jsonl") == 0


def test_a_gated_repository_asks_for_a_token(capsys, store, hub, monkeypatch):
    hub.add(SPLITS)
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 30)
    status, _, err = add(capsys, store)
    assert status == 2
    assert "HF_TOKEN" in err
    assert "x" * 30 not in err


def test_no_network_names_the_address(capsys, store, hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    status, _, err = add(capsys, store)
    assert status == 2
    assert "check the network, or name a mirror in HF_ENDPOINT" in err


def test_a_run_names_the_command_that_adds_it(capsys, store):
    words = ("--target", "control:null", "--benchmarks", KEY, "--dataset", "hf://a/b")
    status, _, err = call(capsys, store, "run", *words)
    assert status == 2
    assert f"evalcore datasets add hf://a/b --benchmark {KEY} --name NAME" in err


def test_a_local_file_does_not_pay_for_the_library(store, tmp_path, lines):
    file = tmp_path / "sql_identification.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    program = (
        "import sys; from evalcore.cli.main import main; main(sys.argv[1:]);"
        "print({'datasets', 'pyarrow', 'huggingface_hub'} & set(sys.modules), file=sys.stderr)"
    )
    words = ["datasets", "validate", str(file), "--benchmark", KEY, "--data", store.data]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "set()"

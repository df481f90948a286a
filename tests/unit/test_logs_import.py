"""Logs of other frameworks in: the scores are those of the framework, per sample and in total, and
hostile files are named. The fixtures are made by `tests/support/log_fixtures.py`."""

from __future__ import annotations

import json
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import msgspec
import pytest

from evalcore.cli.main import main
from evalcore.errors import DatasetError, FileError, UsageError
from evalcore.exchange.logs import archive, inspect_logs, records
from evalcore.exchange.logs.importer import find_logs, import_logs
from evalcore.exchange.logs.runs import TASKS_PER_RUN, make_benchmark_key
from evalcore.records import to_json
from evalcore.store.headers import LIMIT
from evalcore.store.index import open_index
from evalcore.store.run_folder import RunFolder, find_run, read_published
from evalcore.views.boards import list_board_rows, list_boards, list_suites
from evalcore.views.comparison import compare_benchmarks, load_common_cases
from evalcore.views.target_scores import count_failure_causes, count_failure_reasons
from tests.support.boards import settings_in
from tests.support.log_fixtures import FIXTURES, QUESTIONS

OFFICIAL = ("bfcl_eval", "tau2_results", "swebench")
KNOWN = {"large": [1.0] * 8, "small": [1.0, 0.0] * 4}


def silent(line: str) -> None:
    assert line


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


def import_all(path, store, framework=""):
    return import_logs(Path(path), store, framework, silent)


def read_scores(folder: RunFolder) -> dict[tuple[str, int], float | None]:
    verdicts = [line.verdict for line in folder.read_verdicts("published")]
    return {(verdict.id, verdict.epoch): verdict.score for verdict in verdicts}


def find_folder(store, target: str, epochs: int = 1) -> RunFolder:
    header = next(
        each
        for each in open_index(store).headers()
        if each.target_key == target and each.epochs == epochs
    )
    return find_run(header.run_id, store.run_roots)


@pytest.mark.parametrize(
    ("framework", "target", "ids"),
    [
        ("inspect", "inspect:openai-api/board/{}", [f"q{n}" for n in range(1, 9)]),
        ("lm_eval", "lm_eval:{}", [str(n) for n in range(8)]),
        ("evalscope", "evalscope:{}", [str(n) for n in range(8)]),
    ],
)
def test_scores_are_those_of_the_framework(store, framework, target, ids):
    done = import_all(FIXTURES / framework, store)
    assert {score.reading for score in done.scores} == {"exact"}
    assert {score.claimed for score in done.scores} == {100.0, 50.0}
    for model, scores in KNOWN.items():
        folder = find_folder(store, target.format(model))
        assert read_scores(folder) == {(n, 0): s for n, s in zip(ids, scores, strict=True)}
        (score,) = folder.read_summary().benchmarks.values()
        assert score.score == 100 * sum(scores) / 8
        assert score.level == 1
        assert score.complete
        assert score.interval.low < score.score or score.score == 0
        episodes = [line.episode for line in folder.read_episodes()]
        assert len(episodes) == 8
        assert all(episode.answer for episode in episodes)
        samples = {line.sample.id: line.sample for line in folder.read_samples()}
        question, answer = next(iter(QUESTIONS.items()))
        assert question in json.dumps(samples[ids[0]].input)
        assert framework == "evalscope" or answer in json.dumps(samples[ids[0]].reference)


def test_epochs_of_inspect_are_epochs(store):
    import_all(FIXTURES / "inspect" / "small.json", store)
    folder = find_folder(store, "inspect:openai-api/board/small", epochs=2)
    scores = read_scores(folder)
    assert [scores[f"q{n}", epoch] for n in (1, 2) for epoch in (0, 1)] == [1, 1, 0, 0]
    (score,) = folder.read_summary().benchmarks.values()
    assert (score.score, score.samples) == (50.0, 8)
    assert folder.read_summary().totals.input_tokens == 16 * 12


def test_rows_share_a_board_of_their_own_and_are_compared_in_pairs(store):
    import_all(FIXTURES / "lm_eval", store)
    headers = open_index(store).headers()
    assert list_suites(headers) == ["imported"]
    (board,) = list_boards(headers, "imported")
    assert (board.key, list(board.columns)) == ("lm_eval", ["lm-eval-counting"])
    assert board.published
    assert {row.target_key for row in list_board_rows(headers, board)} == {
        "lm_eval:large",
        "lm_eval:small",
    }
    runs = [find_folder(store, f"lm_eval:{model}").run_id for model in KNOWN]
    (paired,) = compare_benchmarks(load_common_cases(store.run_roots, *runs))
    assert (paired.first, paired.second) == (100.0, 50.0)
    assert 0 < paired.result.p <= 0.15


def test_failures_without_a_reason_make_no_empty_one(store):
    import_all(FIXTURES / "lm_eval" / "small", store)
    run = find_folder(store, "lm_eval:small").run_id
    reasons = count_failure_reasons(store.run_roots, run, "lm-eval-counting")
    assert list(reasons["why"]) == []
    causes = count_failure_causes(store.run_roots, run, "lm-eval-counting")
    assert list(causes["cause"]) == []


def test_the_same_task_with_other_samples_is_another_board(store, tmp_path):
    folder = tmp_path / "more" / "large"
    shutil.copytree(FIXTURES / "lm_eval" / "large", folder)
    samples = next(folder.glob("samples_*.jsonl"))
    samples.write_text("".join(samples.read_text().splitlines(keepends=True)[:4]))
    import_all(FIXTURES / "lm_eval" / "small", store)
    import_all(folder, store)
    boards = list_boards(open_index(store).headers(), "imported")
    assert [len(list_board_rows(open_index(store).headers(), board)) for board in boards] == [1, 1]
    assert len({board.key for board in boards}) == 2


def test_a_second_import_changes_nothing(store):
    first = import_all(FIXTURES, store)
    assert len(first.created) == 13
    again = import_all(FIXTURES, store)
    assert (again.created, again.replaced, len(again.unchanged)) == ([], [], 13)


def test_results_without_samples_are_claims(store, tmp_path):
    result = next((FIXTURES / "lm_eval" / "small").glob("results_*.json"))
    shutil.copy(result, tmp_path / "results_2026-11-29T00-00-00.json")
    done = import_all(tmp_path / "results_2026-11-29T00-00-00.json", store)
    (run,) = done.created
    published = read_published(find_run(run, store.run_roots))
    score = published.scores["lm-eval-counting"]
    assert (score.level, score.claimed) == (0, 50.0)
    assert "log_no_samples" in {flag.kind for flag in score.flags}
    summary = find_run(run, store.run_roots).read_summary()
    assert not summary.benchmarks["lm-eval-counting"].complete


def write_lm_eval(folder: Path, tasks: dict[str, list[float]], **fields) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    results = {name: {"acc,none": sum(v) / len(v)} for name, v in tasks.items()}
    content = {"results": results, "model_name": "model", "date": 1e9, "config": {}} | fields
    path = folder / "results_now.json"
    path.write_text(json.dumps(content))
    for name, values in tasks.items():
        rows = [
            {"doc_id": n, "doc": {"n": n}, "target": "1", "metrics": ["acc"], "acc": value}
            for n, value in enumerate(values)
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"samples_{name}_now.jsonl").write_text(lines)
    return path


def test_many_tasks_become_runs_of_one_target_with_small_headers(store, tmp_path):
    names = [f"a_rather_long_name_of_a_task_that_somebody_made_{n:02}" for n in range(9)]
    done = import_all(write_lm_eval(tmp_path / "log", {n: [1.0, 0.0] for n in names}), store)
    assert len(done.created) == -(-9 // TASKS_PER_RUN)
    headers = open_index(store).headers()
    assert {header.identity for header in headers} == {"lm_eval:model"}
    sizes = [len(to_json(msgspec.structs.replace(header, source=""))) for header in headers]
    assert max(sizes) < LIMIT
    (board,) = list_boards(headers, "imported")
    assert len(board.columns) == 9
    (row,) = list_board_rows(headers, board)
    assert len(row.runs) == 9


def test_a_metric_that_is_no_share_is_left_out_and_said(store, tmp_path):
    path = write_lm_eval(tmp_path / "log", {"text": [1.0, 0.5]})
    content = json.loads(path.read_text())
    content["results"]["text"] |= {"perplexity,none": 12.5, "error,none": 0.25}
    content["results"]["text"] |= {"bits_per_byte,none": 0.8}  # of a version without directions
    content["higher_is_better"] = {"text": {"error": False}}
    content["results"]["corpus"] = {"perplexity,none": 12.5}
    path.write_text(json.dumps(content))
    done = import_all(path, store)
    assert done.flags["log_left_out"] == 3
    (line,) = done.skipped
    assert "task corpus has no score from 0 to 1" in line


def test_what_is_not_finite_is_no_score(store, tmp_path):
    path = write_lm_eval(tmp_path / "log", {"text": [1.0, 1.0, 0.0]})
    samples = tmp_path / "log" / "samples_text_now.jsonl"
    samples.write_text(samples.read_text().replace('"acc": 0.0', '"acc": NaN'))
    done = import_all(path, store)
    (run,) = done.created
    summary = find_run(run, store.run_roots).read_summary()
    score = summary.benchmarks["lm-eval-text"]
    assert (score.complete, score.answered) == (False, 100.0)
    assert score.outcomes == {"not_executed": 1, "passed": 2}
    assert done.flags["score_differs"] == 1


def test_duplicates_are_named_with_file_line_and_field(store, tmp_path):
    path = write_lm_eval(tmp_path / "log", {"text": [1.0, 0.0]})
    samples = tmp_path / "log" / "samples_text_now.jsonl"
    samples.write_text(samples.read_text() + samples.read_text().splitlines()[0] + "\n")
    with pytest.raises(DatasetError, match="also in line 1") as caught:
        import_all(path, store)
    assert (Path(caught.value.path).name, caught.value.line, caught.value.field) == (
        samples.name,
        3,
        "doc_id",
    )
    assert open_index(store).headers() == []


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"results": {"text": {"acc,none": 1}}, "config": {}}, "model_name"),
        ({"results": [], "model_name": "m"}, "results"),
        ({"results": {"text": 3}, "model_name": "m"}, "results.text"),
        ({"model_name": "m"}, "results"),
    ],
)
def test_missing_fields_are_named(store, tmp_path, content, field):
    path = tmp_path / "results_x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError) as caught:
        import_all(path, store)
    assert caught.value.field == field


def test_a_file_of_other_kind_is_said_to_be_none(store, tmp_path):
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(UsageError, match="contains no log in a known format"):
        import_all(tmp_path, store)
    with pytest.raises(UsageError, match="no such file"):
        import_all(tmp_path / "absent", store)


def test_an_archive_is_read_within_bounds(store, tmp_path, monkeypatch):
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", b"[" + b" " * 1_000_000 + b"]")
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 100_000)
    with pytest.raises(DatasetError, match="unpacks to more than"):
        import_all(path, store)


def test_an_archive_with_zstandard_is_read_within_bounds(store, monkeypatch):
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 1_500)
    with pytest.raises(DatasetError, match="unpacks to more than"):
        import_all(FIXTURES / "inspect" / "large.eval", store)


def make_wide_log(path: Path, samples: int, answer: str) -> Path:
    """A log of Inspect whose samples are answered at length."""
    evaluation = {"model": "openai/m", "task": "sums", "created": "2026-11-01T00:00:00+00:00"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps({"eval": evaluation, "status": "success"}))
        for number in range(samples):
            sample = {"id": f"q{number}", "epoch": 1, "input": "?", "scores": {"s": {"value": 1}}}
            content = json.dumps(sample | {"output": {"completion": answer}})
            out.writestr(f"samples/q{number}_epoch_1.json", content)
    return path


def measure_refusal(path: Path, store, match: str) -> int:
    """The bytes that refusing a log took at most."""
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match=match):
            import_all(path, store)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_samples_that_fill_the_memory_are_refused_at_their_entry(store, tmp_path, monkeypatch):
    path = make_wide_log(tmp_path / "wide.eval", 40, "x" * 200_000)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(records, "KEPT_LIMIT", 1 << 20)
    match = (
        r"wide\.eval!samples/q1\d_epoch_1\.json: the samples up to this point take more than 1 MB"
    )
    assert measure_refusal(path, store, match) < 6_000_000  # of the 8 MB that all have


def test_a_member_that_is_packed_too_well_is_a_bomb(store, tmp_path, monkeypatch):
    path = make_wide_log(tmp_path / "bomb.eval", 1, "x" * 20_000_000)
    monkeypatch.setattr(archive, "_RATIO", 100)
    match = r"bomb\.eval!samples/q0_epoch_1\.json: unpacks to more than 4 MB"
    assert measure_refusal(path, store, match) < 16_000_000


def test_a_log_ends_where_its_members_unpack_to_too_much(store, tmp_path, monkeypatch):
    path = make_wide_log(tmp_path / "long.eval", 10, "x" * 100_000)
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 300_000)
    match = r"long\.eval!samples/q3_epoch_1\.json: the log unpacks to more than 0 MB by this point"
    measure_refusal(path, store, match)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_compression_without_bounds_is_refused(store, tmp_path, method):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", method) as out:
        out.writestr("header.json", b"{}")
    with pytest.raises(DatasetError, match="compression is not supported"):
        import_all(path, store)


def test_damage_in_an_archive_is_named(store, tmp_path):
    content = bytearray((FIXTURES / "inspect" / "large.eval").read_bytes())
    at = content.index(b"samples/q3_epoch_1.json")
    content[at + 60 : at + 90] = bytes(30)
    path = tmp_path / "damaged.eval"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"damaged.eval!samples/q3_epoch_1.json"):
        import_all(path, store)
    path.write_bytes(content[:1000])
    with pytest.raises(FileError, match=r"damaged\.eval"):
        import_all(path, store)


def test_a_log_that_ended_early_is_incomplete(store, tmp_path):
    content = json.loads((FIXTURES / "inspect" / "small.json").read_text())
    content["status"], content["results"] = "error", None
    content["samples"] = content["samples"][:3]
    path = tmp_path / "early.json"
    path.write_text(json.dumps(content))
    done = import_all(path, store)
    (run,) = done.created
    (score,) = find_run(run, store.run_roots).read_summary().benchmarks.values()
    assert not score.complete
    assert score.samples == 8
    assert done.flags["log_unfinished"] == 1


@pytest.mark.parametrize(
    ("value", "score"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), ("yes", 1.0), (True, 1.0), ("0.25", 0.25)],
)
def test_values_are_read_as_inspect_reads_them(store, tmp_path, value, score):
    content = json.loads((FIXTURES / "inspect" / "small.json").read_text())
    for sample in content["samples"]:
        sample["scores"] = {"match": {"value": value}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    log = inspect_logs.read_inspect_log(path)
    assert {each.scores["match"] for each in log.tasks[0].samples} == {score}


def test_keys_of_tasks_are_usable_and_differ():
    keys = [make_benchmark_key("inspect", name) for name in ("a/b", "ü", "x" * 200, "gaia")]
    assert keys[0] == "inspect-a-b"
    assert keys[3] == "inspect-gaia"
    assert all(len(key) <= 64 for key in keys)
    assert len(set(keys)) == 4


def test_the_command_needs_no_kind(store, capsys):
    words = ["--data", store.data]
    assert main(["import", str(FIXTURES / "lm_eval"), *words]) == 0
    assert "runs: 2 created" in capsys.readouterr().out
    assert main(["import", "lm_eval", str(FIXTURES / "lm_eval"), "--json", *words]) == 0
    assert len(json.loads(capsys.readouterr().out)["unchanged"]) == 2
    assert main(["import", "helm", str(FIXTURES / "inspect" / "small.json"), *words]) == 2
    assert "field adapter_spec: is missing" in capsys.readouterr().err


def test_kinds_are_told_apart():
    kinds = {form.framework for form, _ in find_logs(FIXTURES)}
    assert kinds == {*("inspect", "lm_eval", "evalscope"), *OFFICIAL}
    assert [form.framework for form, _ in find_logs(FIXTURES, "helm")] == []

"""Logs that no tool makes here: lighteval, HELM and Every Eval Ever, in their form with our own
content."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.logs import lighteval
from evalcore.exchange.logs.importer import import_logs
from evalcore.store.index import open_index
from evalcore.store.run_folder import find_run, read_published
from tests.support.boards import settings_in


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


def import_one(path: Path, store):
    """The score, what was published, the verdicts by sample and the target of the only run."""
    done = import_logs(path, store, "", str)
    (run,) = done.created
    folder = find_run(run, store.run_roots)
    (score,) = folder.read_summary().benchmarks.values()
    (published,) = read_published(folder).scores.values()
    verdicts = [line.verdict for line in folder.read_verdicts("published")]
    return score, published, {verdict.id: verdict.score for verdict in verdicts}, folder


def write(path: Path, content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


DATE = "2026-11-29T10-00-00.000000"


def make_lighteval(root: Path, values: list[float]) -> Path:
    mean = sum(values) / len(values)
    results = {"custom|sums|0": {"em": mean, "em_stderr": 0.1}, "all": {"em": mean}}
    general = {"model_name": "org/model", "max_samples": None, "lighteval_sha": "abc"}
    content = {"config_general": general, "results": results, "versions": {}}
    rows = [
        {
            "doc": {"id": str(n), "query": f"{n} + 1?", "choices": [str(n + 1)], "gold_index": 0},
            "model_response": {"text": [str(n)]},
            "metric": {"em": value},
        }
        for n, value in enumerate(values)
    ]
    details = root / "details" / "org" / "model" / DATE
    details.mkdir(parents=True)
    parquet.write_table(
        pa.Table.from_pylist(rows), details / f"details_custom|sums|0_{DATE}.parquet"
    )
    return write(root / "results" / "org" / "model" / f"results_{DATE}.json", content)


def test_details_of_lighteval_are_samples(store, tmp_path):
    make_lighteval(tmp_path / "out", [1.0, 0.0, 1.0, 1.0])
    score, published, scores, folder = import_one(tmp_path / "out", store)
    assert (score.benchmark, score.score, score.level) == ("lighteval-custom-sums-0", 75.0, 1)
    assert (published.claimed, published.reading) == (75.0, "exact")
    assert scores == {"0": 1.0, "1": 0.0, "2": 1.0, "3": 1.0}
    assert folder.read_spec().created_at == "2026-11-29T10:00:00.000+00:00"
    assert next(folder.read_episodes()).episode.answer == "0"


def test_damaged_details_are_named(store, tmp_path):
    make_lighteval(tmp_path / "out", [1.0])
    (file,) = (tmp_path / "out").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DatasetError, match="not a readable Parquet file"):
        import_logs(tmp_path / "out", store, "", str)


def name_stat(metric: str, mean: float, **more):
    return {"name": {"name": metric, "split": "test", **more}, "count": 1, "mean": mean}


def make_helm(folder: Path, values: list[float]) -> Path:
    spec = {
        "name": "sums:size=small,model=org_model",
        "scenario_spec": {"class_name": "Sums"},
        "adapter_spec": {"model": "org/model", "temperature": 0.0, "max_train_instances": 2},
        "metric_specs": [{"args": {"names": ["exact_match", "absent"]}}],
    }
    mean = sum(values) / len(values)
    other = {"name": "robustness"}
    stats = [name_stat("exact_match", mean), name_stat("exact_match", 0.0, perturbation=other)]
    instances = [
        {
            "instance_id": f"id{n}",
            "train_trial_index": 0,
            "stats": [name_stat("exact_match", value), name_stat("num_prompt_tokens", 7)],
        }
        for n, value in enumerate(values)
    ]
    states = [
        {
            "instance": {
                "id": f"id{n}",
                "input": {"text": f"{n} + 1?"},
                "references": [{"output": {"text": str(n + 1)}, "tags": ["correct"]}],
            },
            "train_trial_index": 0,
            "request": {"prompt": f"Say {n} + 1"},
            "result": {"success": True, "completions": [{"text": str(n)}], "request_time": 0.5},
        }
        for n in range(len(values))
    ]
    write(folder / "stats.json", stats)
    write(folder / "per_instance_stats.json", instances)
    write(folder / "scenario_state.json", {"request_states": states})
    return write(folder / "run_spec.json", spec)


def test_a_run_of_helm_is_a_run(store, tmp_path):
    make_helm(tmp_path / "run", [1.0, 0.0])
    score, published, scores, folder = import_one(tmp_path / "run", store)
    assert (score.benchmark, score.score) == ("helm-sums-size-small", 50.0)
    assert published.reading == "exact"
    assert {flag.kind for flag in published.flags} == {"log_no_version", "log_no_date"}
    assert scores == {"id0": 1.0, "id1": 0.0}
    episode = next(folder.read_episodes()).episode
    assert (episode.answer, episode.usage.input_tokens, episode.latency) == ("0", 7, 0.5)
    assert episode.messages[0].content == "Say 0 + 1"
    target = folder.read_spec().target
    assert (target.key, target.options) == ("helm:org/model", {"temperature": 0.0})


def test_a_case_of_helm_twice_is_named(store, tmp_path):
    make_helm(tmp_path / "run", [1.0, 0.0])
    file = tmp_path / "run" / "per_instance_stats.json"
    rows = json.loads(file.read_text())
    write(file, [*rows, rows[0]])
    with pytest.raises(DatasetError) as caught:
        import_logs(tmp_path / "run", store, "", str)
    assert caught.value.field == "[2].instance_id"


def build_record(scores: dict[str, float], **config):
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "sums/org/model/1",
        "retrieved_timestamp": "1790000000",
        "source_metadata": {"source_type": "documentation"},
        "eval_library": {"name": "ours", "version": "1"},
        "model_info": {"name": "model", "id": "org/model"},
        "evaluation_results": [
            {
                "evaluation_name": name,
                "source_data": {"dataset_name": name, "source_type": "other"},
                "metric_config": {"metric_id": "accuracy", "lower_is_better": False, **config},
                "score_details": {
                    "score": score,
                    "uncertainty": {"standard_error": {"value": 0.05 * config.get("max_score", 1)}},
                },
            }
            for name, score in scores.items()
        ],
    }


@pytest.mark.parametrize(
    ("score", "config", "claimed"),
    [
        (0.4, {}, 40.0),
        (40.0, {"min_score": 0, "max_score": 100}, 40.0),
        (4.0, {"min_score": 1, "max_score": 5}, 75.0),
        (62.5, {"metric_unit": "percent"}, 62.5),
    ],
)
def test_a_record_is_a_claim_on_its_own_scale(store, tmp_path, score, config, claimed):
    write(tmp_path / "record.json", build_record({"sums": score}, **config))
    counted, published, scores, _ = import_one(tmp_path / "record.json", store)
    assert (counted.level, counted.score, published.claimed) == (0, claimed, claimed)
    assert scores == {}
    assert counted.interval.low < claimed < counted.interval.high


def test_scores_out_of_range_are_left_out_of_a_record(store, tmp_path):
    path = write(tmp_path / "record.json", build_record({"sums": 0.5, "elo": 1200.0}))
    done = import_logs(path, store, "", str)
    assert [score.capability for score in done.scores] == ["every-eval-ever-sums"]
    assert "task elo has no score from 0 to 1" in done.skipped[0]


def test_rows_of_a_record_are_named_where_they_are_wrong(store, tmp_path):
    path = write(tmp_path / "record.json", build_record({"sums": 0.5}))
    row = {
        "evaluation_name": "sums",
        "sample_id": "1",
        "input": {"raw": "1 + 1?", "reference": ["2"]},
        "output": {"raw": ["2"]},
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    samples = tmp_path / "record_samples.jsonl"
    samples.write_text(
        json.dumps(row) + "\n" + json.dumps(row | {"sample_id": "2", "input": 3}) + "\n"
    )
    with pytest.raises(DatasetError) as caught:
        import_logs(path, store, "", str)
    assert (caught.value.line, caught.value.field) == (2, "input")
    samples.write_text(json.dumps(row | {"evaluation_name": "others"}) + "\n")
    with pytest.raises(DatasetError, match="is not a result of this record"):
        import_logs(path, store, "", str)
    assert open_index(store).headers() == []
    right = row | {"sample_id": "2", "evaluation": {"score": 0.0, "is_correct": False}}
    samples.write_text(json.dumps(row) + "\n" + json.dumps(right) + "\n")
    score, published, scores, _ = import_one(path, store)
    assert (score.score, published.reading, scores) == (50.0, "exact", {"1": 1.0, "2": 0.0})


def import_quietly(path: Path, store) -> str:
    """What an import says against a log, "" where it is taken in; nothing else may be raised."""
    try:
        import_logs(path, store, "", str)
    except UsageError as error:
        return str(error)
    return ""


def edit(path: Path, *keys, value) -> None:
    content = json.loads(path.read_text())
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    write(path, content)


STATS = "per_instance_stats.json"


@pytest.mark.parametrize(
    ("file", "keys", "value", "problem"),
    [
        ("run_spec.json", ["name"], "model=", ""),
        (STATS, [0, "train_trial_index"], 10**12, "the epoch must be 0 to 1000"),
        (STATS, [0, "stats", 0, "name", "name"], ["exact_match"], ""),
        (STATS, [0, "stats", 1, "mean"], 1e300, ""),
        ("stats.json", [0, "mean"], 10**400, "has no score from 0 to 1"),
        ("scenario_state.json", ["request_states", 0, "instance", "references", 0, "tags"], 5, ""),
        ("scenario_state.json", ["request_states", 0, "result", "request_time"], -5.0, ""),
    ],
    ids=["name", "trial", "list", "view", "total", "tags", "time"],
)
def test_odd_values_of_helm_break_nothing(store, tmp_path, file, keys, value, problem):
    make_helm(tmp_path / "run", [1.0, 0.0])
    edit(tmp_path / "run" / file, *keys, value=value)
    said = import_quietly(tmp_path / "run", store)
    assert problem in said
    assert bool(said) == bool(problem)


def test_a_list_that_is_none_is_named(store, tmp_path):
    make_helm(tmp_path / "run", [1.0, 0.0])
    write(tmp_path / "run" / STATS, 5)
    assert "must be of type list" in import_quietly(tmp_path / "run", store)


def test_the_score_of_helm_is_the_first_that_is_a_share(store, tmp_path):
    make_helm(tmp_path / "run", [1.0, 0.0])
    names = ["bleu_4", "exact_match"]
    edit(tmp_path / "run" / "run_spec.json", "metric_specs", 0, "args", "names", value=names)
    for file, holders in (("stats.json", [[]]), (STATS, [[0, "stats"], [1, "stats"]])):
        content = json.loads((tmp_path / "run" / file).read_text())
        for keys in holders:
            stats = content
            for key in keys:
                stats = stats[key]
            stats.append(name_stat("bleu_4", 31.5))
        write(tmp_path / "run" / file, content)
    score, published, _, _ = import_one(tmp_path / "run", store)
    assert (score.score, published.claimed) == (50.0, 50.0)
    assert [flag.metric for flag in published.flags if flag.kind == "log_left_out"] == ["bleu_4"]


@pytest.mark.parametrize("name", ["/", ".", "..", "a" * 300, "x/\0"])
def test_a_record_names_no_file_elsewhere(store, tmp_path, name):
    record = build_record({"sums": 0.5}) | {"detailed_evaluation_results": {"file_path": name}}
    score, _, _, _ = import_one(write(tmp_path / "record.json", record), store)
    assert score.level == 0


def test_a_task_of_lighteval_leads_nowhere(store, tmp_path):
    path = make_lighteval(tmp_path / "out", [1.0])
    (details,) = (tmp_path / "out").rglob("*.parquet")
    outside = tmp_path / f"secret_{DATE}.parquet"
    outside.write_bytes(details.read_bytes())
    folder = details.parent / "details_x"
    folder.mkdir()
    task = f"x/{'../' * 6}secret"
    assert (details.parent / f"details_{task}_{DATE}.parquet").is_file()
    content = json.loads(path.read_text())
    write(path, content | {"results": {task: {"em": 1.0}}})
    score, _, _, _ = import_one(tmp_path / "out", store)
    assert score.level == 0


def make_evalscope(root: Path, dataset: str, subset: str, values: list[float]) -> None:
    report = {
        "dataset_name": dataset,
        "model_name": "model",
        "metrics": [{"name": "acc", "score": sum(values) / len(values)}],
    }
    write(root / "reports" / "model" / f"{dataset}.json", report)
    rows = [
        {
            "index": n,
            "input": "?",
            "target": "a",
            "sample_score": {"score": {"value": {"acc": value}, "prediction": "a"}},
        }
        for n, value in enumerate(values)
    ]
    file = root / "reviews" / "model" / f"{dataset}_{subset}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(json.dumps, rows)))


def test_reviews_of_evalscope_are_those_of_their_own_dataset(store, tmp_path):
    make_evalscope(tmp_path / "out", "mmlu", "law", [1.0, 1.0])
    make_evalscope(tmp_path / "out", "mmlu_pro", "law", [0.0, 1.0])
    done = import_logs(tmp_path / "out", store, "", str)
    scores = {score.capability: (score.claimed, score.recomputed) for score in done.scores}
    assert scores == {"evalscope-mmlu": (100.0, 100.0), "evalscope-mmlu_pro": (50.0, 50.0)}


def test_details_that_unpack_without_end_are_refused(store, tmp_path, monkeypatch):
    path = make_lighteval(tmp_path / "out", [1.0])
    (details,) = (tmp_path / "out").rglob("*.parquet")
    row = {
        "doc": {"id": "", "query": "x" * 10_000, "choices": ["a"], "gold_index": 0},
        "model_response": {"text": ["a"]},
        "metric": {"em": 1.0},
    }
    parquet.write_table(pa.Table.from_pylist([row] * 1000), details)
    assert details.stat().st_size < 200_000
    monkeypatch.setattr(lighteval, "_BYTES_LIMIT", 1 << 20)
    assert "is larger than 1 MB" in import_quietly(path, store)


def test_records_of_two_libraries_share_no_board(store, tmp_path):
    columns = set()
    for library in ("ours", "theirs"):
        record = build_record({"sums": 0.5}) | {"eval_library": {"name": library, "version": "1"}}
        folder = write(tmp_path / library / "record.json", record).parent
        score, _, _, _ = import_one(folder, store)
        columns.add(score.column)
    assert len(columns) == 2

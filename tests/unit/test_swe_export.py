"""Patches of ours as the official harness reads them, as extracted or in a form that applies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.swe_bench.dataset import load_swe_samples
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.swe_bench import SweBenchExport, export_swe_bench_run
from evalcore.records import BenchmarkSpec, Episode, Failure, RunSpec, Sample, TargetSpec
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode
from tests.support.swe_tasks import make_task


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A task with its repository, as a run declares it."""
    folder = tmp_path_factory.mktemp("task")
    task = make_task(folder)
    fields = ("instance_id", "repo", "base_commit", "problem_statement", "patch", "test_patch")
    row = {name: getattr(task, name) for name in fields}
    row |= {"FAIL_TO_PASS": list(task.fail_to_pass), "PASS_TO_PASS": list(task.pass_to_pass)}
    (folder / "tasks.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (folder / "repositories").mkdir()
    (folder / "repositories" / task.instance_id).symlink_to(task.repository)
    source = DatasetSource(path=str(folder / "tasks.jsonl"))
    [result] = load_swe_samples(source, str(folder / "repositories"))
    assert result.meta["repository"]
    return result


def make_run(root: Path, sample: Sample, *episodes: Episode, key: str = "openai:a/m") -> RunFolder:
    benchmark_spec = BenchmarkSpec("swe_bench", "agentic", "d", "d1", {}, {}, "1", "1", "c1", 1)
    folder = RunFolder(root / "run")
    spec = RunSpec("run", "2026-02-01T10:00:00.000+00:00", TargetSpec(key), (benchmark_spec,))
    folder.create(spec, [("swe_bench", sample)])
    with Journal(folder.path / "generations" / "w1.jsonl") as journal:
        for episode in episodes:
            journal.append(StoredEpisode("swe_bench", episode))
    return folder


def build_episode(sample: Sample, answer: str = "", **more) -> Episode:
    return Episode(key=sample.key, epoch=0, answer=answer, **more)


def written(tmp_path: Path, folder: RunFolder, *patch: str) -> tuple[SweBenchExport, str]:
    out = tmp_path / "preds.jsonl"
    done = export_swe_bench_run(folder, out, *patch)
    [row] = [json.loads(line) for line in out.read_text(encoding="ascii").splitlines()]
    assert list(row) == ["instance_id", "model_name_or_path", "model_patch"]
    assert (row["instance_id"], row["model_name_or_path"]) == ("evalboard__wordbox-1", done.model)
    return done, row["model_patch"]


def test_a_patch_goes_out_as_it_is_officially_extracted(tmp_path, sample):
    gold = sample.reference["patch"]
    folder = make_run(tmp_path, sample, build_episode(sample, f"So:\n```diff\n{gold}```\nDone."))
    assert written(tmp_path, folder) == (SweBenchExport("a/m", 1, 0, 0), gold)


def test_the_work_of_an_agent_goes_out_as_it_left_it(tmp_path, sample):
    episode = build_episode(sample, "I am done.", state={"patch": "diff --git a/x b/x\n"})
    folder = make_run(tmp_path, sample, episode)
    for form in ("official", "repaired"):
        assert written(tmp_path, folder, form) == (
            SweBenchExport("a/m", 1, 0, 0),
            "diff --git a/x b/x\n",
        )


def test_a_broken_form_is_repaired_on_demand_only(tmp_path, sample):
    gold = sample.reference["patch"]
    broken = gold.replace("a/wordbox/", "").replace("b/wordbox/", "").replace(" @@", ",9 @@")
    folder = make_run(tmp_path, sample, build_episode(sample, f"```diff\n{broken}```"))
    assert written(tmp_path, folder, "official")[1] == broken
    done, repaired = written(tmp_path, folder, "repaired")
    assert done.repaired == 1
    assert "--- a/wordbox/core.py\n" in repaired
    changed = [line for line in gold.splitlines() if line[:1] in "+-" and line[:3] not in _HEADS]
    assert [line for line in repaired.splitlines() if line in changed] == changed


_HEADS = ("+++", "---")


@pytest.mark.parametrize("form", ["official", "repaired"])
def test_what_defies_repair_goes_out_as_it_was_said(tmp_path, sample, form):
    prose = "The width is wrong.\u2028\x00"
    folder = make_run(tmp_path, sample, build_episode(sample, prose))
    assert written(tmp_path, folder, form) == (SweBenchExport("a/m", 1, 0, 0), prose)


@pytest.mark.parametrize(
    "episodes",
    [(), ("",), (" \n",), (Failure("timeout", "too late"),)],
    ids=["nothing", "empty", "blank", "failed"],
)
def test_every_declared_sample_has_its_line(tmp_path, sample, episodes):
    made = [
        build_episode(sample, "half", failure=episode)
        if isinstance(episode, Failure)
        else build_episode(sample, episode)
        for episode in episodes
    ]
    folder = make_run(tmp_path, sample, *made)
    for form in ("official", "repaired"):
        done, patch = written(tmp_path, folder, form)
        assert (done.samples, done.missing, patch.strip()) == (1, 1, "")


def test_a_repair_needs_the_repository(tmp_path, sample):
    bare = Sample(sample.metric, sample.id, sample.input, sample.reference)
    folder = make_run(tmp_path, bare, build_episode(sample, "x"))
    with pytest.raises(UsageError, match=r"1 of 1 tasks had no repository.*--patch official"):
        export_swe_bench_run(folder, tmp_path / "out.jsonl", "repaired")
    gone = Sample(
        sample.metric, sample.id, sample.input, sample.reference, meta={"repository": "/none/there"}
    )
    folder = make_run(tmp_path / "gone", gone, build_episode(sample, "x"))
    with pytest.raises(EnvironmentFailure, match="is missing"):
        export_swe_bench_run(folder, tmp_path / "out.jsonl", "repaired")
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unknown_form_names_the_known_ones(tmp_path, sample):
    with pytest.raises(UsageError, match="official, repaired"):
        export_swe_bench_run(make_run(tmp_path, sample), tmp_path / "out.jsonl", "gold")


def test_the_model_is_named_without_its_kind(tmp_path, sample):
    for number, key in enumerate(("control:null", "odd")):
        folder = make_run(tmp_path / str(number), sample, key=key)
        assert written(tmp_path, folder)[0].model == ("null", "odd")[number]

"""One case out of a run: sample, episode and verdict, paired rightly and found fast."""

from __future__ import annotations

import pytest

from evalcore.errors import RunFolderError, UsageError
from evalcore.records import Sample
from evalcore.store import journal
from evalcore.store.cases import load_run_case
from evalcore.store.run_folder import RunFolder, StoredSample
from tests.support import stored_runs
from tests.support.stored_runs import BENCHMARK, SAMPLES, SCORING, answer, judge

EXECUTION = "execution_accuracy"


@pytest.fixture
def folder(tmp_path):
    return stored_runs.finish(tmp_path, "run-1")


def declare(folder: RunFolder, *samples: Sample) -> None:
    (folder.path / "samples.jsonl").unlink(missing_ok=True)
    with journal.Journal(folder.path / "samples.jsonl") as lines:
        for sample in samples:
            lines.append(StoredSample(benchmark=BENCHMARK, sample=sample))


def test_a_case_is_its_sample_with_answer_and_verdict(folder):
    stored, episode, verdict = load_run_case(folder, BENCHMARK, EXECUTION, "2")
    assert stored == StoredSample(benchmark=BENCHMARK, sample=SAMPLES[1])
    assert episode.answer == "answer to execution_accuracy/2"
    assert verdict.outcome == "failed"


def test_equal_ids_of_two_metrics_are_two_cases(folder):
    for metric in (EXECUTION, "syntax_error_detection"):
        stored, episode, verdict = load_run_case(folder, BENCHMARK, metric, "1")
        assert stored.sample.metric == verdict.metric == metric
        assert episode.key == f"{metric}/1"


@pytest.mark.parametrize(
    ("benchmark", "metric", "case"),
    [
        ("bfcl", EXECUTION, "1"),
        (BENCHMARK, "other", "1"),
        (BENCHMARK, EXECUTION, "9"),
        (BENCHMARK, EXECUTION, ""),
        (BENCHMARK, EXECUTION, '1"'),
    ],
)
def test_an_undeclared_case_is_refused_by_name(folder, benchmark, metric, case):
    with pytest.raises(UsageError, match="has no case"):
        load_run_case(folder, benchmark, metric, case)


def test_what_is_not_there_yet_is_none(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1")
    assert load_run_case(folder, BENCHMARK, EXECUTION, "1")[1:] == (None, None)
    episode = answer(folder, SAMPLES[0])
    assert load_run_case(folder, BENCHMARK, EXECUTION, "1")[1:] == (episode, None)


def test_an_imported_run_may_have_verdicts_without_episodes(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1")
    verdict = judge(folder, SAMPLES[0], passed=True)
    assert load_run_case(folder, BENCHMARK, EXECUTION, "1")[1:] == (None, verdict)


def test_each_epoch_has_its_own_answer(tmp_path):
    folder = stored_runs.plan(tmp_path, "run-1", epochs=2)
    for epoch in range(2):
        answer(folder, SAMPLES[0], epoch=epoch, answer=f"try {epoch}")
        judge(folder, SAMPLES[0], epoch=epoch, passed=bool(epoch))
    for epoch in range(2):
        _, episode, verdict = load_run_case(folder, BENCHMARK, EXECUTION, "1", epoch)
        assert (episode.answer, verdict.score) == (f"try {epoch}", float(epoch))


def test_the_last_of_several_lines_counts(folder):
    answer(folder, SAMPLES[0], answer="second")
    judge(folder, SAMPLES[0], passed=False)
    _, episode, verdict = load_run_case(folder, BENCHMARK, EXECUTION, "1")
    assert (episode.answer, verdict.outcome) == ("second", "failed")


def test_a_shared_generation_is_found_by_the_key_in_the_verdict(folder):
    answer(folder, SAMPLES[0], key="shared/7", answer="for both")
    judge(folder, SAMPLES[1], passed=True, details={"generation": "shared/7"})
    assert load_run_case(folder, BENCHMARK, EXECUTION, "2")[1].answer == "for both"


def test_another_scoring_is_read_when_asked_for(folder):
    judge(folder, SAMPLES[0], passed=False, scoring="s2")
    assert load_run_case(folder, BENCHMARK, EXECUTION, "1", scoring="s2")[2].outcome == "failed"
    assert load_run_case(folder, BENCHMARK, EXECUTION, "1")[2].outcome == "passed"
    with pytest.raises(UsageError, match="not a scoring"):
        load_run_case(folder, BENCHMARK, EXECUTION, "1", scoring="../..")


@pytest.mark.parametrize(
    "case", ["a/b", 'quo"te', "back\\slash", "中文", "new\nline", "😀", "x y", "\u2028", "é1"]
)
def test_any_id_is_found(tmp_path, case):
    folder = stored_runs.plan(tmp_path, "run-1")
    sample = Sample(metric="m", id=case, input={})
    declare(folder, *SAMPLES, sample)
    episode, verdict = answer(folder, sample), judge(folder, sample, passed=True)
    stored, *rest = load_run_case(folder, BENCHMARK, "m", case)
    assert stored.sample == sample
    assert rest == [episode, verdict]


def test_other_lines_are_not_decoded_and_a_broken_one_of_this_case_is_named(folder):
    path = folder.verdicts_dir(SCORING) / "w1.jsonl"
    path.write_bytes(b"{broken}\n" + path.read_bytes())
    assert load_run_case(folder, BENCHMARK, EXECUTION, "2")[2].outcome == "failed"
    path.write_bytes(b'{"broken": "2"}\n')
    with pytest.raises(RunFolderError, match=r"w1\.jsonl, line 1"):
        load_run_case(folder, BENCHMARK, EXECUTION, "2")


def test_a_case_of_a_large_run_is_read_without_decoding_the_others(tmp_path, monkeypatch):
    folder = stored_runs.plan(tmp_path, "run-1")
    samples = [Sample(metric=EXECUTION, id=str(n), input={"sql": "x" * 500}) for n in range(3000)]
    declare(folder, *samples)
    decoded, decode = [], journal.from_json
    monkeypatch.setattr(journal, "from_json", lambda *line: decoded.append(1) or decode(*line))
    assert len(list(folder.read_samples())) == len(decoded) == 3000
    decoded.clear()
    assert load_run_case(folder, BENCHMARK, EXECUTION, "2999")[0].sample == samples[-1]
    assert len(decoded) == 1

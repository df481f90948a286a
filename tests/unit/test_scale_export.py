"""Runs in SCALE's form: written, then read back by the import."""

from __future__ import annotations

import json

import pytest

from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.scale import exporter
from evalcore.exchange.scale.cases import read_process_log
from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.records import Episode, Section, Verdict
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredEpisode, StoredVerdict, find_run
from tests.support.boards import BENCHMARK, SCORING, Plan, make_run, settings_in
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, indicator, model, row


@pytest.fixture
def settings(tmp_path):
    return settings_in(tmp_path / "store")


def again(out, tmp_path):
    """The headers of an import of what was exported."""
    other = settings_in(tmp_path / "other")
    done = import_scale_tree(out, other, progress=lambda line: None)
    return other, done


def test_a_run_comes_back_with_its_score_and_every_claim_exact(settings, tmp_path):
    folder = make_run(settings, Plan(target="openai:org/model-a", skill=0.6))
    done = exporter.export_scale_run(folder, tmp_path / "out")
    assert (done.month, done.model, done.unmeasured) == ("2026-11", "openai-org-model-a", 0)
    assert len(done.files) == 1 + 1 + 4
    other, imported = again(tmp_path / "out", tmp_path)
    assert (imported.reading_counts, imported.flags) == ({"exact": 1}, {})
    back = find_run(imported.created[0], other.run_roots).read_summary().benchmarks[BENCHMARK]
    ours = folder.read_summary().benchmarks[BENCHMARK]
    assert back.score == pytest.approx(ours.score)
    assert back.interval == ours.interval
    assert back.samples == ours.samples
    assert {m: metric.passed for m, metric in back.metrics.items() if metric.samples} == {
        m: metric.passed for m, metric in ours.metrics.items() if metric.samples
    }


def test_what_was_not_measured_goes_out_as_fail_and_is_counted(settings, tmp_path):
    folder = make_run(settings, Plan(target="openai:a", failing=3))
    done = exporter.export_scale_run(folder, tmp_path / "out")
    assert done.unmeasured == 3
    other, imported = again(tmp_path / "out", tmp_path)
    back = find_run(imported.created[0], other.run_roots).read_summary().benchmarks[BENCHMARK]
    assert back.score == pytest.approx(folder.read_summary().benchmarks[BENCHMARK].score)
    assert imported.flags["empty_answer"] >= 1


def test_the_board_keeps_other_rows_and_replaces_its_own(settings, tmp_path):
    out = tmp_path / "out"
    first, second = (
        make_run(settings, Plan(target=f"openai:{name}"), f"run-{name}") for name in "ab"
    )
    for folder in (first, second, first):
        exporter.export_scale_run(folder, out)
    rows = json.loads((out / "eval_reports/models-2026-11.json").read_text())["models"]
    assert [item["id"] for item in rows] == ["openai-a", "openai-b"]
    assert rows[0]["real_model_namne"] == "openai:a"
    assert set(rows[0]["scores"][BENCHMARK]) == {"ability_score", "indicator_score"}
    (out / "eval_reports/models-2026-11.json").write_text("{]")
    with pytest.raises(UsageError, match="nothing was written"):
        exporter.export_scale_run(find_run("run-a", settings.run_roots), out)


def test_other_rows_keep_what_we_do_not_know_and_are_never_overwritten(settings, tmp_path):
    out = tmp_path / "out"
    tree = TreeBuilder(out)
    theirs = model("openai-b", {CAPABILITY: claim(10.0)}, badge={"new": [1]})
    tree.board("2026-11", theirs)
    exporter.export_scale_run(make_run(settings, Plan(target="openai:a"), "run-a"), out)
    path = out / "eval_reports/models-2026-11.json"
    rows = json.loads(path.read_text())["models"]
    assert rows[0] == theirs
    before = path.read_bytes()
    with pytest.raises(UsageError, match="another model with the id openai-b"):
        exporter.export_scale_run(make_run(settings, Plan(target="openai:b"), "run-b"), out)
    assert path.read_bytes() == before
    assert not list(out.rglob("openai-b*"))


def test_a_bare_claim_goes_out_as_it_came_in(settings, tmp_path):
    tree = TreeBuilder(tmp_path / "public")
    message = claim(70.5, {"explain_detection": 61.5})
    tree.board("2026-05", model("b", {CAPABILITY: message}))
    import_scale_tree(tree.root, settings, progress=lambda line: None)
    done = exporter.export_scale_run(
        find_run("scale-2026-05-b", settings.run_roots), tmp_path / "out"
    )
    assert done.files == ("eval_reports/models-2026-05.json",)
    [back] = json.loads((tmp_path / "out" / done.files[0]).read_text())["models"]
    assert back["scores"][CAPABILITY] == message


def test_reports_have_the_fields_of_the_site(settings, tmp_path):
    out = tmp_path / "out"
    exporter.export_scale_run(make_run(settings, Plan(target="openai:a")), out)
    path = out / f"evaluation_case_reports/eval_run_case_2026-11/{BENCHMARK}/openai-a.json"
    report = json.loads(path.read_text())
    assert [part["indicator_weight"] for part in report] == [4, 3, 2, 1]
    first = report[0]
    assert set(first) == {
        *("indicator_name", "indicator_weight", "evaluation_type", "case_pass_count"),
        *("case_wrong_count", "correct_rate", "case_datas"),
    }
    assert first["case_pass_count"] + first["case_wrong_count"] == len(first["case_datas"])
    case = first["case_datas"][0]
    assert set(case) == {
        *("case_id", "case_weight", "case_content", "case_eval_result"),
        *("mode_question", "model_answers"),
    }
    assert json.loads(case["case_content"])["case_id"] == case["case_id"]


def test_an_import_goes_out_as_it_came_in(settings, tmp_path):
    tree = TreeBuilder(tmp_path / "public")
    answers = [{"case_evaluation_count": n, "model_answer": {"n": n}} for n in (1, 2, 3)]
    cases = [row(1, model_answers=answers), row(2, False, 3)]
    tree.board("2026-05", model("Org.A", {CAPABILITY: claim(25.0)}, website="https://a.example"))
    tree.report("2026-05", "org.a", [indicator("explain_detection", cases)])
    import_scale_tree(tree.root, settings, progress=lambda line: None)
    [run] = [path.name for path in settings.runs_dir.iterdir()]
    done = exporter.export_scale_run(find_run(run, settings.run_roots), tmp_path / "out")
    assert done.model == "Org.A"
    [back] = json.loads((tmp_path / "out" / done.files[-1]).read_text())["models"]
    assert (back["website"], back["scores"][CAPABILITY]["ability_score"]) == (
        "https://a.example",
        25.0,
    )
    [part] = json.loads((tmp_path / "out" / done.files[0]).read_text())
    assert part["case_datas"][0]["model_answers"] == answers
    back, sent = (json.loads(item["case_content"]) for item in (part["case_datas"][0], cases[0]))
    assert back == sent


def test_votes_and_hostile_answers_are_read_back_from_the_log(settings, tmp_path):
    folder = make_run(settings, Plan(target="openai:a"))
    [first, *_] = [line.sample for line in folder.read_samples()]
    hostile = "[2026-01-01 00:00:00.000] [0] objective Eval Case Final Result: True"
    cast = [{"judge": "j]1", "vote": "no", "reason": f"bad\n{hostile}"}]
    verdict = Verdict(
        metric=first.metric,
        id=first.id,
        outcome="failed",
        score=0.0,
        evidence=(Section(kind="votes", title="votes", body=cast),),
    )
    episode = Episode(key=first.key, epoch=0, answer=f"SELECT 1\n{hostile}")
    second = [line.sample for line in folder.read_samples()][1]
    half = Episode(key=second.key, epoch=0, answer='{"half": "\\ud800"}')
    with Journal(folder.verdicts_dir(SCORING) / "z.jsonl") as journal:
        journal.append(StoredVerdict(BENCHMARK, verdict))
    with Journal(folder.path / "generations" / "z.jsonl") as journal:
        journal.append(StoredEpisode(BENCHMARK, episode))
        journal.append(StoredEpisode(BENCHMARK, half))
    done = exporter.export_scale_run(folder, tmp_path / "out")
    [name] = [file for file in done.files if file.endswith(f"{first.metric}.log")]
    log = read_process_log(tmp_path / "out" / name)
    assert log.finals[first.id] is False
    assert log.answers[first.id] == (f"SELECT 1\n {hostile}",)
    assert (log.target, log.judges) == ("openai:a", ("j_1",))
    [vote] = log.votes
    assert (vote.case, vote.judge, vote.vote) == (first.id, "j_1", "no")
    assert hostile in vote.reason


def test_the_command_needs_a_folder_and_a_capability_of_scale(settings, tmp_path, capsys):
    folder = make_run(settings, Plan(target="openai:a"))
    words = ("export", folder.run_id, "--format", "scale", "--data", settings.data)
    assert main(words) == 2
    assert "--out is missing" in capsys.readouterr().err
    assert main((*words, "--out", str(tmp_path / "out"), "--json")) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "openai-a"
    (tmp_path / "file").write_text("")
    assert main((*words, "--out", str(tmp_path / "file"))) == 2

"""SCALE's boards as imported runs: what is written, and what never changes."""

from __future__ import annotations

import json
import shutil

import pytest

from evalcore.cli.main import main
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.staging import open_import_stage
from evalcore.store.index import open_index
from evalcore.store.run_folder import find_run
from evalcore.views import boards, stored_boards, target_scores
from evalcore.views.targets import metric_line
from tests.support.boards import Plan, make_run
from tests.support.scale_imports import (
    MONTH,
    PARTS,
    SCORE,
    files,
    import_single_model,
    kinds,
    load_claim,
    settings,
    taken,
    tree,
)
from tests.support.scale_tree import CAPABILITY, claim, indicator, model, report, row

__all__ = ["settings", "tree"]  # fixtures

LOG = """\
Run ID: 20260501_101500_123
Evaluation Timestamp: 2026-05-01T10:20:00.000000
Target: A
Judge LLMs: j1, j2

[2026-05-01 10:15:01.0] [Case:1][Run:1] [a] Model Input Prompt:
Convert.
[2026-05-01 10:15:02.0] [Case:1][Run:1] [a] Model Output Response:
x
[2026-05-01 10:15:03.0] [Case:1][Run:1] [j1] Model Output Response:
{"answer": "yes"}
[2026-05-01 10:15:04.0] [Case:1][Run:1] [j2] Model Output Response:
{"answer": "no", "reason": "no <b>join</b>"}
"""


def test_a_report_becomes_a_run_whose_score_is_the_published_one(tree, settings):
    import_single_model(tree, report())
    done = taken(tree, settings)
    assert (done.created, done.reading_counts) == ([f"scale-{MONTH}-a"], {"exact": 1})
    folder = find_run(f"scale-{MONTH}-a", settings.run_roots)
    spec, summary = folder.read_spec(), folder.read_summary()
    assert (spec.origin, spec.target.key, folder.current_state()) == ("imported", "scale:a", "done")
    score = summary.benchmarks[CAPABILITY]
    assert (score.score, score.level, score.views) == (SCORE, 1, {"claimed": SCORE})
    assert score.interval is not None
    assert (score.samples, score.complete, summary.is_complete) == (6, True, True)
    samples = [line.sample for line in folder.read_samples()]
    assert samples[0].input == {"sql": "SELECT 1"}
    assert samples[0].reference == {"expected": {"has_syntax_error": "no"}}
    verdicts = [line.verdict for line in folder.read_verdicts("published")]
    assert [verdict.outcome for verdict in verdicts[:2]] == ["passed", "failed"]
    assert load_claim(settings, f"scale-{MONTH}-a").flags == ()


def test_a_second_import_changes_nothing_and_a_changed_source_replaces(tree, settings):
    import_single_model(tree, report())
    taken(tree, settings)
    before = files(settings)
    again = taken(tree, settings)
    assert (again.created, again.replaced, len(again.unchanged)) == ([], [], 1)
    assert files(settings) == before
    import_single_model(tree, report(wins=2), 100.0)
    changed = taken(tree, settings)
    assert changed.replaced == [f"scale-{MONTH}-a"]
    assert stored_boards.load_run_headers(settings)[0].benchmarks[CAPABILITY].score == 100.0


def test_a_claim_without_cases_is_level_0_and_never_ranked(tree, settings):
    import_single_model(tree, report())
    tree.board(
        MONTH,
        model("a", {CAPABILITY: claim(SCORE, PARTS)}),
        model("B", {CAPABILITY: claim(70.5, {"explain_detection": 55.5})}),
    )
    taken(tree, settings)
    headers = stored_boards.load_run_headers(settings)
    [board] = boards.list_boards(headers, "sql")
    assert board.key == f"scale-{MONTH}"
    frame = stored_boards.board_ranking(settings, board).set_index("identity")
    assert list(frame["status"]) == ["ranked", "claimed"]
    assert frame.loc["scale:B", "score"] == 70.5
    assert frame.loc["scale:B", f"{CAPABILITY}/explain_detection"] == 55.5
    assert frame.loc["scale:a", "rank"] == 1
    [bare] = [header for header in headers if header.identity == "scale:B"]
    assert bare.benchmarks[CAPABILITY].is_bare_claim
    assert metric_line(bare.benchmarks[CAPABILITY], "execution_accuracy")[0] is None
    assert bare.run_id.startswith(f"scale-{MONTH}-b-")


def test_published_boards_stand_beside_ours_and_mix_with_nothing(tree, settings):
    make_run(settings, Plan(target="openai:a"))
    for month in ("2026-04", MONTH):
        import_single_model(tree, report(), month=month)
    taken(tree, settings)
    result = boards.list_boards(stored_boards.load_run_headers(settings), "sql")
    assert [board.key for board in result] == ["default", f"scale-{MONTH}", "scale-2026-04"]
    assert [column.executed for board in result for column in board.columns.values()] == [
        True,
        False,
        False,
    ]
    assert boards.list_board_rows(stored_boards.load_run_headers(settings), result[1])[0].runs[
        CAPABILITY
    ].run_id == (f"scale-{MONTH}-a")


def test_one_month_is_imported_alone_and_still_knows_the_earlier(tree, settings):
    import_single_model(tree, report(), month="2026-04")
    import_single_model(tree, report(), month=MONTH)
    assert taken(tree, settings, MONTH).created == [f"scale-{MONTH}-a"]
    assert ("carried_over", "") in kinds(settings, f"scale-{MONTH}-a")


def test_votes_of_the_log_become_evidence(tree, settings):
    import_single_model(tree, report())
    tree.log(MONTH, "a", "explain_detection", LOG)
    taken(tree, settings)
    folder = find_run(f"scale-{MONTH}-a", settings.run_roots)
    [section] = [s for line in folder.read_verdicts("published") for s in line.verdict.evidence]
    assert section.body == [
        {"judge": "j1", "vote": "yes", "reason": ""},
        {"judge": "j2", "vote": "no", "reason": "no <b>join</b>"},
    ]
    assert load_claim(settings, folder.run_id).judges == ("j1", "j2")
    assert load_claim(settings, folder.run_id).graded_at == "2026-05-01T10:20:00.000000"


def test_an_id_is_no_path_and_ids_in_other_case_stay_apart(tree, settings, tmp_path):
    (tmp_path / "secret.json").write_text(json.dumps(report()))
    rows = ("../../../../secret", "a", "A")
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(SCORE)}) for name in rows))
    tree.report(MONTH, "a", report())
    done = taken(tree, settings)
    assert len(set(done.created)) == 3
    levels = {run: load_claim(settings, run).level for run in done.created}
    assert sorted(levels.values()) == [0, 1, 1]
    assert all(path.parent == settings.runs_dir for path in settings.runs_dir.iterdir())


def test_what_is_no_such_folder_or_report_is_refused(tree, settings):
    with pytest.raises(UsageError, match="public/data"):
        taken(tree, settings)
    import_single_model(tree, {"no": "list"})
    with pytest.raises(DatasetError, match=r"a\.json"):
        taken(tree, settings)
    with pytest.raises(UsageError, match=f"it has: {MONTH}"):
        taken(tree, settings, "2026-01")
    assert not settings.runs_dir.exists()


def test_nothing_is_imported_where_anything_is_broken(tree, settings):
    import_single_model(tree, report(), month="2026-04")
    import_single_model(tree, report())
    path = tree.log(MONTH, "a", "explain_detection", "no log")
    with pytest.raises(DatasetError, match=f"{MONTH}.*explain_detection.*Run ID"):
        taken(tree, settings)
    assert list(settings.runs_dir.iterdir()) == []
    path.unlink()
    assert len(taken(tree, settings).created) == 2
    assert not [path for path in settings.runs_dir.iterdir() if path.name.startswith(".")]


def test_what_was_left_out_by_a_kill_is_added_by_the_next_import(tree, settings):
    for month in ("2026-04", MONTH):
        import_single_model(tree, report(), month=month)
    taken(tree, settings)
    (settings.runs_dir / ".importing" / "runs").mkdir(parents=True)
    open_index(settings).remove("scale-2026-04-a")
    shutil.rmtree(settings.runs_dir / f"scale-{MONTH}-a")
    done = taken(tree, settings)
    assert (done.created, done.unchanged) == ([f"scale-{MONTH}-a"], ["scale-2026-04-a"])
    assert len(stored_boards.load_run_headers(settings)) == 2
    assert not (settings.runs_dir / ".importing").exists()


def test_what_months_share_is_on_the_disk_once(tree, settings):
    for month in ("2026-04", MONTH):
        import_single_model(tree, report(), month=month)
    taken(tree, settings, "2026-04")
    taken(tree, settings)
    name = f"generations/{CAPABILITY}.jsonl"
    first, second = (settings.runs_dir / f"scale-{m}-a" / name for m in ("2026-04", MONTH))
    assert first.samefile(second)
    shutil.rmtree(first.parents[1])
    assert second.read_bytes()


def test_two_imports_at_once_are_refused(tree, settings):
    import_single_model(tree, report())
    with open_import_stage(settings), pytest.raises(UsageError, match="another import"):
        taken(tree, settings)
    assert taken(tree, settings).created


def test_the_index_is_rebuilt_with_everything_published(tree, settings):
    import_single_model(tree, report())
    taken(tree, settings)
    before = stored_boards.load_run_headers(settings)
    settings.index_path.unlink()
    assert open_index(settings).rebuild() == 1
    assert stored_boards.load_run_headers(settings) == before


def test_other_text_than_json_is_kept_as_the_question(tree, settings):
    odd = ["no json", '"text"', '{"sql": "\\ud800"}', "[" * 5000]
    rows = [row(n, case_content=text) for n, text in enumerate(odd, 1)]
    import_single_model(tree, [indicator("explain_detection", rows)])
    taken(tree, settings)
    samples = find_run(f"scale-{MONTH}-a", settings.run_roots).read_samples()
    assert [line.sample.input["question"] for line in samples] == odd


def test_a_case_of_no_points_counts_for_nothing(tree, settings):
    import_single_model(
        tree, [indicator("explain_detection", [row(1, True, 0), row(2, False, 2)])], 0.0
    )
    taken(tree, settings)
    assert load_claim(settings, f"scale-{MONTH}-a").recomputed == 0.0
    assert load_claim(settings, f"scale-{MONTH}-a").reading == "exact"


@pytest.mark.parametrize("weight", [-1, 1.5, 1e300, "many"])
def test_weights_and_scores_out_of_range_are_refused(tree, settings, weight):
    import_single_model(tree, [indicator("explain_detection", [row(1, weight=weight)])])
    with pytest.raises(DatasetError, match="case_weight"):
        taken(tree, settings)
    import_single_model(tree, report(), 100.1)
    with pytest.raises(DatasetError, match="ability_score"):
        taken(tree, settings)


def test_a_run_of_ours_is_never_overwritten(tree, settings):
    import_single_model(tree, report())
    make_run(settings, Plan(target="openai:a"), f"scale-{MONTH}-a")
    with pytest.raises(UsageError, match="not an import"):
        taken(tree, settings)


def test_an_unknown_capability_is_left_out_and_said(tree, settings):
    tree.board(MONTH, model("a", {"poetry": claim(99.0)}))
    done = taken(tree, settings)
    assert done.created == []
    assert any("poetry is unknown" in line for line in done.skipped)


def test_the_frames_of_a_published_run(tree, settings):
    import_single_model(tree, report(wins=2), 55.5)
    taken(tree, settings)
    published = target_scores.load_published(settings.run_roots, f"scale-{MONTH}-a")
    [line] = target_scores.build_published_scores(published).to_dict("records")
    assert (line["level"], line["claimed"], line["recomputed"]) == (1, 55.5, 100.0)
    assert "score_differs" in set(target_scores.build_published_flags(published)["kind"])
    ours = make_run(settings, Plan(target="openai:a"))
    assert target_scores.load_published(settings.run_roots, ours.run_id) is None


def test_the_command_prints_what_became_of_the_runs(tree, settings, capsys):
    import_single_model(tree, report())
    words = ("import", "scale", str(tree.root), "--data", settings.data)
    assert main(words) == 0
    assert "1 created" in capsys.readouterr().out
    assert main((*words, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] == [f"scale-{MONTH}-a"]
    assert main(("import", "scale", settings.data)) == 2


@pytest.mark.parametrize("verb", ["resume", "rescore"])
def test_an_import_is_never_repeated(tree, settings, capsys, verb):
    import_single_model(tree, report())
    taken(tree, settings)
    before = files(settings)
    assert main((verb, f"scale-{MONTH}-a", "--data", settings.data)) == 2
    assert "was imported" in capsys.readouterr().err
    assert files(settings) == before


def test_damage_of_another_run_refuses_no_import(tree, settings):
    damaged = settings.runs_dir / "damaged"
    damaged.mkdir(parents=True)
    for name in ("spec.json", "published.json"):
        (damaged / name).write_bytes(b"\xff{")
    import_single_model(tree, report())
    assert taken(tree, settings).created == [f"scale-{MONTH}-a"]
    assert (damaged / "published.json").read_bytes() == b"\xff{"

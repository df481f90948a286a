"""The recipe of a run: its command repeats it, its file keeps types, and neither tells secrets."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import msgspec
import pytest
import yaml

from evalcore.cli import main, run
from evalcore.errors import RunFolderError, UsageError
from evalcore.records import TargetSpec
from evalcore.runner import plan
from evalcore.runner.run_request import RunRequest
from evalcore.settings import ROOT, Settings
from evalcore.views.reproduce import CONFIG, build_recipe
from tests.support.boards import Plan, make_run, settings_in

SHIPPED = ROOT / "data" / "shipped"


def words(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " "))


def altered(folder, **changes):
    """The run with another spec, which is written once and never changed by the project itself."""
    spec = msgspec.structs.replace(folder.read_spec(), **changes)
    (folder.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    return spec


def benchmark_with(folder, **changes):
    return (msgspec.structs.replace(folder.read_spec().benchmarks[0], **changes),)


def scores(settings, run):
    """Score and column by benchmark."""
    text = (Path(settings.runs_dir) / run / "summary.json").read_text(encoding="utf-8")
    return {
        key: (benchmark["score"], benchmark["column"])
        for key, benchmark in json.loads(text)["benchmarks"].items()
    }


def test_the_command_of_a_shipped_run_gives_the_same_scores_in_an_empty_folder(tmp_path, capsys):
    recipe = build_recipe(
        Settings(data=str(tmp_path), shipped=str(SHIPPED)), "shipped-baseline-keywords"
    )
    text = words(recipe.command)
    assert text[:2] == ["evalcore", "run"]
    assert recipe.keys == ()
    assert main.main([*text[1:], "--data", str(tmp_path), "--json"]) == main.DONE
    capsys.readouterr()
    [folder] = (tmp_path / "runs").iterdir()
    own = Settings(data=str(tmp_path), shipped="")
    was = Settings(data=str(SHIPPED), shipped="")
    assert scores(own, folder.name) == scores(was, "shipped-baseline-keywords")


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest("baseline:sqlglot", ("sql_understanding",)),
        RunRequest(
            "baseline:sqlglot",
            ("sql_understanding", "dialect_conversion"),
            options={"sql_understanding": {"mode": "scale", "weights.execution_accuracy": "2.5"}},
            metrics=("syntax_error_detection",),
            max_samples=3,
            seed=7,
            epochs=2,
            concurrency=2,
        ),
    ],
)
@pytest.mark.parametrize("by", ["flags", "file"])
def test_what_is_printed_plans_the_same_columns(tmp_path, monkeypatch, request_, by):
    settings = settings_in(tmp_path)
    made = plan.plan_run(request_, settings)
    folder = plan.create_folder(made, settings)
    recipe = build_recipe(settings, folder.run_id)
    monkeypatch.chdir(tmp_path)
    Path(CONFIG).write_text(recipe.config, encoding="utf-8")
    text = words(recipe.command if by == "flags" else recipe.with_config)
    asked, _ = run.build_run_request(main.build_parser().parse_args(text[1:]))
    again = plan.plan_run(asked, settings)
    assert again.spec.benchmarks == made.spec.benchmarks
    assert again.samples == made.samples
    for name in ("seed", "epochs", "concurrency", "max_samples", "judges", "target"):
        assert getattr(again.spec, name) == getattr(made.spec, name)


def test_one_metric_draws_the_same_of_its_cases(tmp_path):
    settings = settings_in(tmp_path)
    asked = RunRequest("baseline:sqlglot", ("sql_understanding",), max_samples=10, seed=3)
    made = plan.plan_run(asked, settings)
    folder = plan.create_folder(made, settings)
    recipe = build_recipe(settings, folder.run_id, "sql_understanding", "sql_identification")
    narrow, _ = run.build_run_request(main.build_parser().parse_args(words(recipe.command)[1:]))
    drawn = plan.plan_run(narrow, settings).samples["sql_understanding"]
    held = made.samples["sql_understanding"]
    assert drawn == [item for item in held if item.metric == "sql_identification"]
    assert len(drawn) < len(held)


def test_options_that_are_no_text_go_by_the_file_since_they_are_the_targets_identity(tmp_path):
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan("openai:m", options={"temperature": 0.0, "stop": ["a b"]}))
    recipe = build_recipe(settings, folder.run_id)
    assert words(recipe.command)[2:4] == ["--config", CONFIG]
    assert yaml.safe_load(recipe.config)["target_options"] == {"temperature": 0.0, "stop": ["a b"]}
    assert recipe.keys == ("OPENAI_API_KEY",)


def test_a_prompt_of_ones_own_comes_as_a_file(tmp_path):
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan("baseline:sqlglot"))
    altered(folder, benchmarks=benchmark_with(folder, options={"prompt": "Q: $question"}))
    recipe = build_recipe(settings, folder.run_id)
    assert recipe.prompts == {"prompt-sql_understanding.txt": "Q: $question"}
    assert "sql_understanding.prompt=prompt-sql_understanding.txt" in recipe.command
    assert "$question" not in recipe.command


def test_keys_and_places_of_this_machine_are_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "abcdef-secret-value")
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan("openai:m"))
    altered(
        folder,
        target=TargetSpec(
            "hf:/srv/models/tiny", {"adapter": "/home/who/adapter", "note": "abcdef-secret-value"}
        ),
        benchmarks=benchmark_with(folder, dataset="/home/who/cases.jsonl"),
        judges=("openai:j?api_key=sk-abcdefghijklmnop",),
        note=f"see {settings.data} and /home/who/notes",
        command="evalcore run --dataset /home/who/cases.jsonl",
    )
    recipe = build_recipe(settings, folder.run_id)
    text = "\n".join([recipe.command, recipe.config, recipe.with_config, recipe.spec])
    for secret in ("abcdef-secret-value", "/home/who", "/srv", str(tmp_path), "sk-abcdef"):
        assert secret not in text
    assert "hf:tiny" in text
    assert "data_path=cases.jsonl" in recipe.command


@pytest.mark.parametrize("name", ["$(touch x)", "a b'c\"d", "`id`", "x; rm -rf ~", "--json"])
def test_names_from_outside_are_one_word_of_the_command(tmp_path, name):
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan(f"openai:{name}"))
    text = words(build_recipe(settings, folder.run_id).command)
    assert text[text.index("--target") + 1].startswith("openai:")
    assert "--benchmarks" in text


def test_a_run_of_others_has_a_spec_and_no_command(tmp_path):
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan("openai:m"))
    altered(folder, origin="imported")
    recipe = build_recipe(settings, folder.run_id)
    assert (recipe.imported, recipe.command, recipe.config, recipe.keys) == (True, "", "", ())
    assert json.loads(recipe.spec)["run_id"] == folder.run_id


def test_columns_say_what_a_score_rests_on(tmp_path):
    settings = settings_in(tmp_path)
    folder = make_run(settings, Plan("openai:m", cases=5))
    [column] = build_recipe(settings, folder.run_id).columns
    spec = folder.read_spec().benchmarks[0]
    assert (column.key, column.dataset_hash) == (spec.column, spec.dataset_hash)
    assert column.samples == spec.samples


def test_what_is_not_there_is_said(tmp_path):
    settings = settings_in(tmp_path)
    with pytest.raises(UsageError, match="nowhere"):
        build_recipe(settings, "nowhere")
    folder = make_run(settings, Plan("openai:m"))
    with pytest.raises(UsageError, match="did not run"):
        build_recipe(settings, folder.run_id, "gaia", "level_1")
    (folder.path / "spec.json").write_text("{torn", encoding="utf-8")
    with pytest.raises(RunFolderError):
        build_recipe(settings, folder.run_id)

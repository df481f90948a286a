"""A sweep: variants by lists and patterns, names that say what differs, one table, one picture."""

from __future__ import annotations

import json
import shlex
import signal

import pytest
from msgspec.structs import replace

from evalcore.charts.sweeps import build_sweep_chart
from evalcore.cli import run
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.runner import sweep
from evalcore.runner.energy import EnergyMeter
from evalcore.settings import Settings
from evalcore.store import sweeps
from evalcore.views.sweeps import SweepReport, SweepRow, build_sweep_frame, build_sweep_report
from tests.support import tool_server
from tests.support.cases import syntax_cases
from tests.support.tiny_models import TinyModel, tiny  # noqa: F401


def labels(*specs: TargetSpec) -> list[str]:
    return sweep.label_variants(specs)


def test_names_say_what_differs():
    assert labels(
        TargetSpec("hf:/m/base"),
        TargetSpec("hf:/m/base", {"adapter": "/out/lora"}),
        TargetSpec("hf:/m/base", {"dtype": "int8"}),
        TargetSpec("hf:/m/base", {"adapter": "/out/lora", "dtype": "int4"}),
    ) == ["base", "base + lora", "base · int8", "base + lora · int4"]
    assert labels(TargetSpec("hf:a/run1/last"), TargetSpec("hf:a/run2/last")) == [
        "run1/last",
        "run2/last",
    ]
    assert labels(
        TargetSpec("openai:m", {"temperature": "0"}), TargetSpec("openai:m", {"temperature": "1"})
    ) == ["m · temperature=0", "m · temperature=1"]
    assert labels(TargetSpec("hf:m", {"dtype": "auto"}), TargetSpec("hf:m")) == [
        TargetSpec("hf:m", {"dtype": "auto"}).identity,
        "hf:m",
    ]


def test_patterns_name_checkpoints_in_the_order_of_training(tmp_path):
    for step in (1000, 200, 30):
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-5.txt").touch()
    variants = sweep.list_variants([f"hf:{tmp_path}/checkpoint-*"], {"device": "cpu"})
    assert [variant.step for variant in variants] == [30, 200, 1000]
    assert variants[0].label == "checkpoint-30"
    assert all(variant.target.options == {"device": "cpu"} for variant in variants)
    adapters = sweep.list_variants(["hf:base"], {}, adapters=[f"{tmp_path}/checkpoint-*"])
    assert [variant.step for variant in adapters] == [None, 30, 200, 1000]


def test_every_target_is_run_with_each_adapter_in_each_precision():
    variants = sweep.list_variants(["hf:a", "hf:b"], {}, ["x"], ["auto", "int8"])
    assert [variant.label for variant in variants] == [
        *("a", "a · int8", "a + x", "a + x · int8"),
        *("b", "b · int8", "b + x", "b + x · int8"),
    ]
    own = sweep.list_variants(["hf:a", "hf:a?adapter=x", "hf:a?dtype=int8"], {})
    assert [variant.label for variant in own] == ["a", "a + x", "a · int8"]


@pytest.mark.parametrize(
    ("targets", "more", "words"),
    [
        (["hf:a"], {}, "2 to 64 variants, got 1"),
        (["hf:a", "hf:a"], {}, "got 1"),
        (["hf:/no/such/checkpoint-*"], {}, "no folder matches"),
        (["openai:gpt-*"], {}, "only local models"),
        (["openai:a"], {"dtypes": ["int8"]}, "has no option dtype"),
    ],
)
def test_what_is_no_sweep_is_refused(targets, more, words):
    with pytest.raises(UsageError, match=words):
        sweep.list_variants(targets, {}, **more)


def test_a_sweep_of_baselines_is_one_table_and_one_picture(tmp_path, capsys):
    data = tmp_path / "data"
    cases = str(syntax_cases(tmp_path / "cases", 12))
    picture = tmp_path / "sweep.svg"
    command = ["sweep", "--target", "control:reference", "control:null", "baseline:sqlglot"]
    command += ["--benchmarks", "sql_understanding", "--dataset", cases, "--data", str(data)]
    assert main([*command, "--picture", str(picture)]) == 0
    shown = capsys.readouterr()
    assert "best: reference" in shown.out
    assert picture.read_text().startswith("<svg")
    name = next((data / "sweeps").glob("*.json")).stem
    assert main(["sweep", "--show", name, "--data", str(data), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in report["rows"]] == ["reference", "null", "sqlglot"]
    assert report["rows"][1]["change"]["difference"] < 0
    run_id = report["rows"][1]["run_id"]
    settings = Settings(data=str(data))
    assert sweeps.find_run_sweep(run_id, settings) == sweeps.load_sweep(name, settings)
    assert sweeps.find_run_sweep("20200101-000000-aaaaaa", settings) is None
    with pytest.raises(UsageError, match="no sweep"):
        sweeps.load_sweep("../../etc/passwd", settings)


def test_an_interrupted_sweep_goes_on_as_a_whole(tmp_path, capsys, monkeypatch):
    cases, data = str(syntax_cases(tmp_path / "cases", 4)), str(tmp_path / "data")
    command = ["sweep", "--target", "control:reference", "control:null", "--data", data]

    def interrupt(args, run_id):
        raise run.Interrupted("", signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(run, "work_on", interrupt)
        ended = main([*command, "--benchmarks", "sql_understanding", "--dataset", cases])
    assert ended == 128 + signal.SIGINT
    words = shlex.split(capsys.readouterr().err.splitlines()[-1].partition("with: ")[2])
    assert words[:3] == ["evalcore", "sweep", "--resume"]
    assert main(words[1:]) == 0
    assert "best: reference" in capsys.readouterr().out


def test_nothing_starts_where_one_variant_cannot(tmp_path, capsys):
    data = tmp_path / "data"
    missing = f"hf:{tmp_path}/none"
    command = ["sweep", "--target", "control:reference", missing, "--data", str(data)]
    assert main([*command, "--benchmarks", "sql_understanding"]) == 2
    assert f"{tmp_path}/none" in capsys.readouterr().err
    assert not list(data.glob("runs/*"))


def test_checkpoints_are_drawn_as_a_learning_curve():
    rows = [
        SweepRow(f"c-{step}", "r", "b", "done", step, score, score - 5, score + 5)
        for step, score in ((100, 40.0), (200, 55.0))
    ]
    report = SweepReport("x", (SweepRow("base", "r0", "b", "done", None, 30.0, 25.0, 35.0), *rows))
    drawn = json.dumps(build_sweep_chart(build_sweep_frame(report), "en").to_dict())
    assert all(mark in drawn for mark in ('"area"', '"line"', '"rule"', "Checkpoint"))


def test_a_target_is_asked_in_every_way_and_the_format_has_its_price(tmp_path, capsys, monkeypatch):
    choose = tool_server.ToolServer._choose_reply

    def wrap_in_prose(self, body):
        answer = choose(self, body)
        if body.get("tools"):
            return answer
        return replace(answer, text=f"Of course, this is the call:\n\n{answer.text}\n\nReady.")

    monkeypatch.setattr(tool_server.ToolServer, "_choose_reply", wrap_in_prose)
    data = ["--data", str(tmp_path / "data")]
    with tool_server.serve() as server:
        command = ["sweep", "--target", "openai:m", "--asking", "native", "prompt", "text"]
        command += ["--target-option", f"base_url={server.base_url}", "--benchmarks", "bfcl"]
        command += ["--metrics", "simple_python", "multiple", "--max-samples", "8"]
        assert main([*command, *data]) == 0
    shown = capsys.readouterr().out
    assert "lost to format" in shown
    name = next((tmp_path / "data" / "sweeps").glob("*.json")).stem
    assert main(["sweep", "--show", name, *data, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["label"] for row in rows] == [
        *("m · asking=native", "m · asking=prompt", "m · asking=json"),
    ]
    assert [row["score"] for row in rows] == [100.0, 0.0, 0.0]
    assert [row["lost_points"] for row in rows] == [0.0, 100.0, 100.0]
    assert all(row["call_cases"] == 8 for row in rows)
    assert rows[1]["change"]["difference"] == -100.0


def test_ways_of_asking_are_for_what_may_have_tools():
    variants = sweep.list_variants(["openai:a"], {}, asking=("native", "prompt", "text"))
    assert [v.target.options["asking"] for v in variants] == ["native", "prompt", "json"]
    with pytest.raises(UsageError, match="has no option asking"):
        sweep.list_variants(["baseline:sqlglot"], {}, asking=("native", "prompt"))
    with pytest.raises(UsageError, match="got 1"):
        sweep.list_variants(["openai:a"], {}, asking=("text", "json"))


@pytest.mark.full
def test_base_lora_and_int8_are_one_command_and_one_picture(
    tiny: TinyModel,  # noqa: F811
    tmp_path,
    capsys,
):
    data = tmp_path / "data"
    words = ["sweep", "--target", f"hf:{tiny.base}", f"hf:{tiny.base}?adapter={tiny.adapter}"]
    words += [f"hf:{tiny.base}?dtype=int8", "--target-option", "device=cpu"]
    words += ["--target-option", "max_tokens=48", "--benchmarks", "sql_understanding"]
    words += ["--dataset", str(tiny.cases / "lora"), "--max-samples", "20", "--data", str(data)]
    assert main(words) == 0
    assert "best: base + adapter" in capsys.readouterr().out
    [picture] = (data / "sweeps").glob("*.svg")
    text = picture.read_text()
    assert all(label in text for label in ("base", "base + adapter", "base · int8"))
    settings = Settings(data=str(data))
    report = build_sweep_report(sweeps.load_sweep(picture.stem, settings), settings)
    assert [row.label for row in report.rows] == ["base", "base + adapter", "base · int8"]
    assert report.rows[1].change.p < 0.05
    [cost] = report.precision
    assert (cost.label, cost.reference) == ("base · int8", "base")
    assert all(row.peak_bytes and row.tokens_per_second for row in report.rows)
    assert len(build_sweep_frame(report)) == 3


def test_energy_is_read_where_the_kernel_tells(tmp_path):
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (tmp_path / "intel-rapl:0:0").mkdir()
    (package / "max_energy_range_uj").write_text("1000000000")
    (package / "energy_uj").write_text("999000000")
    meter = EnergyMeter(tmp_path)
    (package / "energy_uj").write_text("4000000")  # it began anew
    assert meter.read_joules() == pytest.approx(5.0, abs=1e9 if meter._gpus else 1e-6)
    assert EnergyMeter(tmp_path / "none").read_joules() is None or meter._gpus

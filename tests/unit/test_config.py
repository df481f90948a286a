"""A run from a YAML file: slm-evals' fields, typed; flags win over it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.runner import run_request
from evalcore.runner.run_request import RunRequest

FLAGS = {
    "target": "openai:a",
    "benchmarks": ("bfcl",),
    "max_samples": 3,
    "options": {"bfcl": {"strict": "true"}},
}


def applied(tmp_path: Path, text: str, **flags: object) -> tuple[RunRequest, list[str]]:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    file, args = run_request.read_run_config(path)
    return run_request.apply_flags(file, args, flags)


FILE = """
model_path: ./models/tiny
device: cpu
dtype: int8
max_new_tokens: 64
temperature: 0.0
benchmarks: [sql_understanding]
max_samples: 10
judges: [openai:j]
benchmark_overrides:
  sql_understanding: {mode: scale}
target_options: {revision: main}
"""


def test_a_file_alone_is_the_request(tmp_path: Path) -> None:
    request, overridden = applied(tmp_path, FILE)
    assert request == RunRequest(
        target="hf:./models/tiny",
        benchmarks=("sql_understanding",),
        target_options={
            "device": "cpu",
            "dtype": "int8",
            "max_new_tokens": 64,
            "temperature": 0.0,
            "revision": "main",
        },
        max_samples=10,
        judges=("openai:j",),
        options={"sql_understanding": {"mode": "scale"}},
    )
    assert overridden == []


@pytest.mark.parametrize(
    ("flags", "notice"),
    [
        ({"target": "hf:./other"}, "--target hf:./other overrides model_path: hf:./models/tiny"),
        ({"benchmarks": ("bfcl", "gaia")}, "--benchmarks bfcl gaia overrides benchmarks: "),
        ({"max_samples": 3}, "--max-samples 3 overrides max_samples: 10"),
        ({"judges": ("openai:k",)}, "--judge openai:k overrides judges: openai:j"),
        (
            {"target_options": {"dtype": "fp32"}},
            "--target-option dtype=fp32 overrides target_options.dtype: int8",
        ),
        (
            {"options": {"sql_understanding": {"mode": "verified"}}},
            "--option sql_understanding.mode=verified overrides "
            "benchmark_overrides.sql_understanding.mode: scale",
        ),
    ],
)
def test_a_flag_wins_over_the_file_and_says_so(tmp_path: Path, flags, notice) -> None:
    request, (message,) = applied(tmp_path, FILE, **flags)
    assert message.startswith(notice)
    plain, _ = applied(tmp_path, FILE)
    for field in RunRequest.__struct_fields__:
        value = getattr(request, field)
        if field in flags and isinstance(value, dict):
            continue
        assert value == flags.get(field, getattr(plain, field)) or field == "options"
    assert request.target_options.get("revision") == "main"


def test_a_flag_that_says_the_same_is_no_news(tmp_path: Path) -> None:
    same = {"target_options": {"temperature": "0.0"}, "max_samples": 10}
    request, overridden = applied(tmp_path, FILE, **same)
    assert (request.target_options["temperature"], overridden) == ("0.0", [])


def test_options_of_the_files_model_are_not_forced_upon_another_kind(tmp_path: Path) -> None:
    text = "model_path: ./m\ndevice: cpu\ntemperature: 0.5\n"
    request, overridden = applied(tmp_path, text, target="openai:a")
    assert request.target_options == {"temperature": 0.5}
    assert overridden[1:] == ["device does not apply to --target openai:a"]


def test_what_the_file_leaves_out_comes_from_the_flags(tmp_path: Path) -> None:
    request, overridden = applied(tmp_path, "temperature: 0.5\nmax_new_tokens: 10\n", **FLAGS)
    assert request.target_options == {"temperature": 0.5, "max_tokens": 10}
    assert (request.target, request.benchmarks, request.max_samples) == ("openai:a", ("bfcl",), 3)
    assert overridden == []


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert applied(tmp_path, "", **FLAGS) == (RunRequest(**FLAGS), [])


def test_without_a_list_all_benchmarks_run(tmp_path: Path) -> None:
    request, _ = applied(tmp_path, "target: openai:a")
    cards = catalog.benchmark_cards()
    assert set(request.benchmarks) == {key for key, card in cards.items() if not card.extra}
    assert len(request.benchmarks) < len(cards)


def test_overrides_of_what_is_not_run_are_left_alone(tmp_path: Path) -> None:
    text = "benchmarks: [bfcl]\nbenchmark_overrides: {gaia: {levels: [1]}, bfcl: {strict: true}}"
    assert applied(tmp_path, text, target="openai:a")[0].options == {"bfcl": {"strict": True}}


def test_the_files_of_slm_evals_have_its_place() -> None:
    def placed(**fields: str) -> Path | None:
        return run_request.find_output_folder(run_request.RunConfig(**fields), frozenset(fields))

    assert placed(target="openai:a") is None
    assert placed(target="openai:a", experiment_name="one") == Path("results/one")
    assert placed(output_dir="out", experiment_name="one") == Path("out/one")
    stamped = placed(model_path="m")
    assert stamped is not None
    assert re.fullmatch(r"results/\d{8}-\d{6}", stamped.as_posix())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "max_sample: 3",
            r"in line 1: unknown field 'max_sample'; known: target.*\(did you mean max_samples\?\)",
        ),
        ("seed: 1\nmax_samples: many", "in line 2: max_samples must be a whole number, not text"),
        ("benchmarks: 3", "in line 1: benchmarks must be a list of values, not a whole number"),
        ("benchmarks:\n- 3", r"in line 1: benchmarks\[0\] must be text, not a whole number"),
        ("\njudges: [1]", r"in line 2: judges\[0\] must be text"),
        ("executor: cloud", "in line 1: executor: Invalid enum value 'cloud'"),
        ("options: {}", r"\(did you mean benchmark_overrides\?\)"),
        ("judge: x", "did you mean judges"),
        ("- a\n- b", "must contain fields"),
        ("a: [", "run.yaml (?:is not valid|cannot be read as) YAML"),
        ("experiment_name: 2024-99-99", "run.yaml (?:is not valid|cannot be read as) YAML"),
        ("max_samples: !!int many", "run.yaml (?:is not valid|cannot be read as) YAML"),
        ("a: " + "[" * 5000, "run.yaml (?:is not valid|cannot be read as) YAML"),
        ("target_options: {a: &a [x, x], b: [*a, *a]}", "aliases"),
        (
            "benchmark_overrides: {bfc: {strict: true}}",
            "unknown field 'benchmark_overrides.bfc'; known: .*bfcl",
        ),
        ("dtype: int8", "dtype does not apply to a openai: target"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        applied(tmp_path, text, **FLAGS)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml"):
        run_request.read_run_config(tmp_path / "none.yaml")


def test_all_unknown_fields_are_named_at_once_with_their_paths(tmp_path: Path) -> None:
    text = (
        "max_sample: 3\nmodel: x\nbenchmark_overrides: {bfc: {}, tau_bench: {domian: retail}, "
        "bfcl: {strict: true, weights.irrelevance: 2, data_path: x, prompt: y}}\n"
    )
    with pytest.raises(UsageError) as caught:
        applied(tmp_path, text)
    message = str(caught.value)
    for path in ("'max_sample'", "'model'", "'benchmark_overrides.bfc'"):
        assert f"unknown field {path}" in message
    assert "in line 3: unknown field 'benchmark_overrides.tau_bench.domian'" in message
    assert "(did you mean domain?)" in message
    assert "benchmark_overrides.bfcl" not in message.replace("benchmark_overrides.bfc'", "")


@pytest.mark.parametrize("kind", ["auto", "hf"])
def test_the_type_of_a_model_of_transformers_is_no_news(tmp_path: Path, kind: str) -> None:
    request, overridden = applied(tmp_path, f"model_path: ./m\nmodel_type: {kind}\n")
    assert (request.target, request.target_options, overridden) == ("hf:./m", {}, [])


@pytest.mark.parametrize(
    ("kind", "words"), [("ensemble", "model_type: hf"), ("gguf", "not one of auto, hf, ensemble")]
)
def test_other_types_of_models_are_refused_with_a_way_out(tmp_path: Path, kind, words) -> None:
    with pytest.raises(UsageError, match=words):
        applied(tmp_path, f"model_path: ./m\nmodel_type: {kind}\n")


@pytest.mark.parametrize("written", ["all", "[all]"])
def test_all_are_those_of_slm_evals(tmp_path: Path, written: str) -> None:
    request, _ = applied(tmp_path, f"target: openai:a\nbenchmarks: {written}\n")
    assert request.benchmarks == ("bfcl", "tau_bench", "gaia", "swe_bench")


def test_options_of_slm_evals_have_our_names(tmp_path: Path) -> None:
    text = "benchmarks: [swe_bench]\nbenchmark_overrides: {swe_bench: {difficulty: [under_15_min]}}"
    request, _ = applied(tmp_path, text, target="openai:a")
    assert request.options == {"swe_bench": {"difficulties": ["under_15_min"]}}

"""A run from a YAML file: slm-evals' fields, typed, winning over the flags."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.errors import UsageError
from evalcore.runner import config
from evalcore.runner.request import RunRequest

FLAGS = RunRequest(
    target="openai:a", benchmarks=("bfcl",), max_samples=3, options={"bfcl": {"strict": "true"}}
)


def applied(tmp_path: Path, text: str) -> RunRequest:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    file, given = config.read(path)
    return config.apply(file, given, FLAGS)


def test_the_file_wins_over_the_flags(tmp_path: Path) -> None:
    request = applied(
        tmp_path,
        """
model_path: ./models/tiny
device: cpu
dtype: int8
max_new_tokens: 64
temperature: 0.0
benchmarks: [sql_understanding]
max_samples: null
benchmark_overrides:
  sql_understanding: {mode: scale}
target_options: {revision: main}
""",
    )
    assert request.target == "hf:./models/tiny"
    assert request.target_options == {
        "device": "cpu",
        "dtype": "int8",
        "max_new_tokens": 64,
        "temperature": 0.0,
        "revision": "main",
    }
    assert request.benchmarks == ("sql_understanding",)
    assert request.max_samples is None
    assert request.options["sql_understanding"] == {"mode": "scale"}
    assert request.options["bfcl"] == {"strict": "true"}


def test_what_the_file_leaves_out_stays(tmp_path: Path) -> None:
    request = applied(tmp_path, "temperature: 0.5\nmax_new_tokens: 10\n")
    assert request.target_options == {"temperature": 0.5, "max_tokens": 10}
    assert (request.target, request.benchmarks, request.max_samples) == ("openai:a", ("bfcl",), 3)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert applied(tmp_path, "") == FLAGS


def test_without_a_list_all_benchmarks_run() -> None:
    request = config.apply(config.Config(target="openai:a"), frozenset(), RunRequest("", ()))
    assert set(request.benchmarks) == set(catalog.benchmark_cards())


def test_overrides_of_what_is_not_run_are_left_alone(tmp_path: Path) -> None:
    text = "benchmarks: [bfcl]\nbenchmark_overrides: {gaia: {levels: [1]}, bfcl: {strict: true}}"
    assert applied(tmp_path, text).options == {"bfcl": {"strict": True}}


def test_the_files_of_slm_evals_have_its_place() -> None:
    def placed(**fields: str) -> Path | None:
        return config.place(config.Config(**fields), frozenset(fields))

    assert placed(target="openai:a") is None
    assert placed(target="openai:a", experiment_name="one") == Path("results/one")
    assert placed(output_dir="out", experiment_name="one") == Path("out/one")
    stamped = placed(model_path="m")
    assert stamped is not None
    assert re.fullmatch(r"results/\d{8}-\d{6}", stamped.as_posix())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_sample: 3", "unknown field 'max_sample'; known: target, model_path"),
        ("max_samples: many", "max_samples"),
        ("benchmarks: bfcl", "benchmarks"),
        ("- a\n- b", "must hold fields"),
        ("a: [", "run.yaml: is no YAML"),
        ("experiment_name: 2024-99-99", "run.yaml: is no YAML"),
        ("max_samples: !!int many", "run.yaml: is no YAML"),
        ("a: " + "[" * 5000, "run.yaml: is no YAML"),
        ("target_options: {a: &a [x, x], b: [*a, *a]}", "aliases"),
        ("benchmark_overrides: {bfc: {strict: true}}", "has 'bfc'; known: .*bfcl"),
        ("dtype: int8", "dtype does not apply to a openai: target"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        applied(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml"):
        config.read(tmp_path / "none.yaml")

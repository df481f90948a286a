"""How long an answer may be is said by the benchmark where a target needs a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.cli.main import main
from evalcore.store.run_folder import RunFolder
from tests.support.capability_server import serve_capabilities

KEY = "dialect_conversion"
LIMIT = catalog.benchmark_card(KEY).answer_tokens


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (["api=completions"], LIMIT),
        (["api=completions", "max_tokens=77"], 77),
        (["api=chat"], None),
        (["api=chat", "max_tokens=77"], 77),
    ],
)
def test_the_limit_is_sent_where_it_is_needed(
    options: list[str], sent: int | None, tmp_path: Path
) -> None:
    with serve_capabilities(text="SELECT 1") as server:
        words = ["run", "--target", "openai:able", "--benchmarks", KEY, "--max-samples", "2"]
        for option in [*options, f"base_url={server.base_url}"]:
            words += ["--target-option", option]
        words += ["--data", str(tmp_path / "data")]
        assert main(words) == 0
        assert main(["resume", next((tmp_path / "data/runs").iterdir()).name, *words[-2:]]) == 0
    assert len(server.bodies) == 2
    assert {body.get("max_tokens") for body in server.bodies} == {sent}
    [path] = (tmp_path / "data" / "runs").iterdir()
    folder = RunFolder(path)
    assert {call.completion.sent.get("max_tokens") for call in folder.read_calls()} == {sent}
    assert "max_tokens" in folder.read_spec().target.options or sent in (None, LIMIT)


def test_every_benchmark_says_how_long_its_answers_are() -> None:
    """Those of the academic tasks are said by each task of the harness."""
    cards = catalog.benchmark_cards().values()
    silent = {card.key for card in cards if not card.answer_tokens}
    assert silent <= {"academic"}
    assert len(list(cards)) > len(silent)


def test_the_longest_expected_answers_fit() -> None:
    """A token of SQL has about three characters."""
    for key in ("dialect_conversion", "sql_optimization", "sql_understanding"):
        card = catalog.benchmark_card(key)
        longest = max(
            max((len(part) for part in line.split('"')), default=0)
            for file in Path("datasets", card.dataset).glob("*.jsonl")
            for line in file.read_text(encoding="utf-8").splitlines()
        )
        assert longest / 3 <= card.answer_tokens, key

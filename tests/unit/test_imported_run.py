"""What all imports share: ids that stay as they are, and verdicts in the order of the answers."""

from __future__ import annotations

import asyncio

import pytest

from evalcore.exchange.imported_run import make_run_id, score_answers
from evalcore.records import Episode, Sample, Verdict, content_hash


@pytest.mark.parametrize(
    ("name", "length", "digest", "run_id"),
    [
        ("gpt-4", 50, "", "scale-2026-05-gpt-4"),
        ("GPT-4", 50, "", f"scale-2026-05-gpt-4-{content_hash('GPT-4', 8)}"),
        ("a/b:c", 50, "", f"scale-2026-05-a-b-c-{content_hash('a/b:c', 8)}"),
        ("x" * 60, 45, "", f"scale-2026-05-{'x' * 45}-{content_hash('x' * 60, 8)}"),
        ("control:null", 40, "0123456789ab", "scale-2026-05-control-null-0123456789ab"),
        ("", 50, "", "scale-2026-05-"),
    ],
)
def test_an_id_is_readable_and_of_one_name_alone(
    name: str, length: int, digest: str, run_id: str
) -> None:
    assert make_run_id("scale", "2026-05", name, length, digest) == run_id


class SlowFirst:
    """Scores the earlier answers later; breaks on the third."""

    async def evaluate_sample(self, sample: Sample, episode: Episode, context: object) -> Verdict:
        await asyncio.sleep(0.001 * (5 - int(sample.id)))
        if sample.id == "3":
            raise ValueError("broken")
        return Verdict(metric=sample.metric, id=sample.id, outcome="passed", score=1.0)


def test_verdicts_stand_in_the_order_of_the_answers_and_each_is_counted() -> None:
    pairs = [
        (Sample("m", str(number), {}, {}), Episode(key=f"m/{number}", epoch=0))
        for number in range(5)
    ]
    calls: list[int] = []
    verdicts = score_answers(SlowFirst(), pairs, lambda: calls.append(1))  # type: ignore[arg-type]
    assert [verdict.id for verdict in verdicts] == ["0", "1", "2", "3", "4"]
    assert [v.id for v in verdicts if v.outcome == "environment_error"] == ["3"]
    assert len(calls) == 5

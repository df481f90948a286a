"""Our answers to GAIA as the file that its leaderboard takes, for the hidden split, too.

Columns: task_id, model_answer (the bare answer) and reasoning_trace. Every declared sample has its
line, so that a missing answer is wrong and not left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalcore.benchmarks.gaia.extraction import extract_answer, to_answer_text
from evalcore.exchange.submission import iter_sample_episodes, write_json_lines
from evalcore.records import Episode, Message, Record
from evalcore.store.run_folder import RunFolder

BENCHMARK = "gaia"


class GaiaExport(Record, frozen=True):
    """How many samples went out, of those without an answer (`missing`) and of those whose
    questions are not to be shared (`gated`)."""

    samples: int
    missing: int
    gated: int


def export_gaia_run(folder: RunFolder, out: Path) -> GaiaExport:
    """Write the first epoch of a run into the file `out`.

    Raises UsageError for a run without GAIA and a file that cannot be written.
    """
    pairs = list(iter_sample_episodes(folder, BENCHMARK))
    rows = [
        {
            "task_id": sample.id,
            "model_answer": extract_bare_answer(episode) if episode else "",
            "reasoning_trace": "\n".join(_build_reasoning_trace(episode)) if episode else "",
        }
        for sample, episode in pairs
    ]
    write_json_lines(out, rows)
    return GaiaExport(
        samples=len(rows),
        missing=sum(not row["model_answer"].strip() for row in rows),
        gated=sum(bool(sample.meta.get("gated")) for sample, _ in pairs),
    )


def extract_bare_answer(episode: Episode) -> str:
    """The bare answer that is scored, "" where there is none."""
    if "answer" not in episode.state:
        return extract_answer(episode.answer).answer
    value = episode.state["answer"]
    return "" if value is None else to_answer_text(value)


def _build_reasoning_trace(episode: Episode) -> Iterator[str]:
    """What the model thought, said and called; neither the question nor the content of its files.

    A transcript that is not there is replaced by the reply.
    """
    replies = [message for message in episode.messages if message.role == "assistant"]
    for reply in replies or [Message(role="assistant", content=episode.answer)]:
        yield from filter(None, (reply.reasoning.strip(), reply.content.strip()))
        yield from (f"{call.name}({call.arguments})" for call in reply.tool_calls)

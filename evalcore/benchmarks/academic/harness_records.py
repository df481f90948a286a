"""What this package and the process of lm-evaluation-harness tell each other."""

from __future__ import annotations

import hashlib
from typing import Any

from evalcore.records import Record

#: How a task is answered: by a text, or by the likelihoods of given texts.
TEXT, CHOICE = "text", "choice"
#: The metric of the package `evaluate` that runs programs, for which there is a stand-in.
CODE_METRIC = "code_eval"


class HarnessStart(Record, frozen=True):
    """The first message: folders with tasks in lm-eval's form, and whether its own are known."""

    folders: tuple[str, ...] = ()
    defaults: bool = True


class TaskRequest(Record, frozen=True):
    """A task; `fewshot` -1 is as the task says, `limit` 0 all of its documents, `metric` "" its
    first."""

    name: str
    fewshot: int = -1
    limit: int = 0
    metric: str = ""


class ListRequest(Record, frozen=True, tag="list"):
    """The names that hold all words; with `expand`, the tasks that names stand for."""

    words: tuple[str, ...] = ()
    expand: bool = False


class BuildRequest(Record, frozen=True, tag="build"):
    """The samples of a task; with `chat`, prompts come as turns."""

    task: TaskRequest
    chat: bool = False


class ScoreRequest(Record, frozen=True, tag="score"):
    """An answer to a document: `responses`, or the `likelihoods` of its texts. `programs` tells by
    the hash of a program whether it passed."""

    task: str
    kind: str
    metric: str
    number: int
    doc: Any
    responses: tuple[str, ...] = ()
    likelihoods: tuple[tuple[float, bool], ...] = ()
    multiple_input: int = 0
    multiple_target: int = 0
    programs: dict[str, bool] = {}


HarnessRequest = ListRequest | BuildRequest | ScoreRequest


class BuiltSample(Record, frozen=True):
    """A document with what is asked: a `prompt` or `turns`, or `pairs` of context and text. `gold`
    are the indexes of right pairs, `reference` is a right text."""

    number: int
    doc: Any
    prompt: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    choices: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    reference: str = ""
    until: tuple[str, ...] = ()
    max_tokens: int = 0
    temperature: float = 0.0
    top_p: float | None = None


class BuiltTask(Record, frozen=True):
    """A task with its samples. `runs_code`: a verdict needs programs to be run; `gated`: its
    questions may not be shared."""

    name: str
    version: str
    fewshot: int
    kind: str
    metric: str
    samples: tuple[BuiltSample, ...]
    runs_code: bool = False
    gated: bool = False
    multiple_input: int = 0
    multiple_target: int = 0


class ScoreResult(Record, frozen=True):
    """The metrics of an answer by filter and name, and the answer that each filter read; or the
    `programs` that have to be run first."""

    metrics: dict[str, dict[str, float]] = {}
    filtered: dict[str, str] = {}
    programs: tuple[str, ...] = ()


class HarnessReply(Record, frozen=True):
    """One answer: what was asked for, or a `problem`; `is_fault` where nobody foresaw it."""

    version: str = ""
    tasks: tuple[str, ...] = ()
    built: BuiltTask | None = None
    scored: ScoreResult | None = None
    problem: str = ""
    is_fault: bool = False


def hash_program(text: str) -> str:
    """By what name the result of a program is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

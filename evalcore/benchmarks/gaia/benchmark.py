"""The benchmark `gaia`: questions for an assistant, with or without tools, scored as officially.

Modes: `none` (one reply, the files as text), `describe` (one reply, tools are told of and none is
run), `local` and `web` (an agent that works with tools until it answers). Answers asked for in
different styles or modes do not compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalcore.benchmarks.agent_loop import AgentResult, Tools, run_agent
from evalcore.benchmarks.base import (
    NO_FIELDS,
    Benchmark,
    Context,
    DatasetIssue,
    DatasetSource,
    ValidationResult,
)
from evalcore.benchmarks.gaia import dataset
from evalcore.benchmarks.gaia.attachments import read_attachment_text, to_data_url
from evalcore.benchmarks.gaia.card import CARD, STYLES
from evalcore.benchmarks.gaia.extraction import to_answer_text
from evalcore.benchmarks.gaia.score import build_gaia_verdict, question_scorer
from evalcore.benchmarks.gaia.tools import web_tools
from evalcore.benchmarks.gaia.tools.toolset import FINAL, Toolset
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.i18n import Note
from evalcore.records import (
    Completion,
    Episode,
    Message,
    Record,
    Sample,
    ToolCall,
    Verdict,
    utc_now,
)
from evalcore.sandbox.program import detect_sandbox
from evalcore.settings import Settings


def reference_step(sample: Sample, transcript: Sequence[Message], *, tools: bool) -> Completion:
    steps = sample.reference.get("derivation", ()) if tools else ()
    call_index = sum(len(message.tool_calls) for message in transcript)
    if call_index < len(steps):
        step = steps[call_index]
        arguments = json.dumps(step["arguments"], ensure_ascii=False)
        call = ToolCall(f"call_{call_index}", step["tool"], arguments)
        return Completion(tool_calls=(call,), finish_reason="tool_calls")
    return Completion(text=f"FINAL ANSWER: {sample.reference['answer']}")


#: Our own words for the form that the strict reading expects.
FINAL_ANSWER = (
    "Answer the question that follows. Think it through first, as long as you need. Then end with "
    "one line of its own:\nFINAL ANSWER: <your answer>\nThe answer is a number, a few words, or a "
    "list of these with commas between them, and no more than was asked for. Write a number in "
    "digits, without separators of thousands and without a unit or sign such as $ or %, unless the "
    "question wants it. Write words without articles and without abbreviations, and digits among "
    "them as words, unless the question says otherwise. The same holds for each part of a list."
)
_BARE = (
    "Answer the question with a number, a few words, or a list with commas, whichever is asked "
    "for: a number without unit and without separators, words without articles. Give nothing but "
    "the answer."
)
_STYLE_TEXTS: dict[str, str] = {"final_answer": FINAL_ANSWER, "bare": _BARE}
_STYLE_TEXTS |= {"official": FINAL_ANSWER}  # what the style was called in earlier runs

_TOOL_SUMMARIES = (
    ("web_search", "find pages of the web for some words"),
    ("visit_page", "read a page of the web"),
    ("read_file", "read a file that comes with the question"),
    ("calculator", "work out an expression"),
    ("python", "run a program and see what it prints"),
)
_DESCRIBE = "\n".join(
    [
        "These tools would be of use for such questions:",
        *(f"- {name}: {what}" for name, what in _TOOL_SUMMARIES),
        "Here none of them can be called, and nothing you write is run. Reason about which of "
        "them you would use and for what, get as far as you can without them, and commit to an "
        "answer in the form above.",
    ]
)
_AGENT = (
    "You work on your own, with tools; nobody can answer a question of yours. Work step by step: "
    "call a tool, look at its result, go on. Compute with the tools and not in your head. Once you "
    "are sure, call final_answer with the answer alone, by the rules above and without words "
    "around it; a reply without a call counts as your final one."
)
_MODE_TEXTS: dict[str, str] = {
    "none": "",
    "describe": _DESCRIBE,
    "local": f"{_AGENT} There is no access to the web: work from the question and its files.",
    "web": f"{_AGENT} Facts that you do not know for certain are to be looked up in the web.",
}


class GaiaTexts(Record, frozen=True):
    """What GAIA's authors publish: the system message."""

    system: str


class PromptFile(Record, frozen=True):
    """A file of a question: its name, what it is, and as much of its text as is to be shown, None
    where it has none."""

    name: str
    kind: str
    text: str | None = None


def build_gaia_messages(
    question: str, mode: str, style: str, files: Sequence[PromptFile], official: str = ""
) -> list[Message]:
    """The system message and the question with its files, for a mode and style of the card;
    `official` is upstream's system message instead of that of a style."""
    system = "\n\n".join(filter(None, [official or _STYLE_TEXTS[style], _MODE_TEXTS[mode]]))
    user_text = "\n\n".join([question, *(_format_prompt_file(file, mode) for file in files)])
    return [Message("system", system), Message("user", user_text)]


def _format_prompt_file(file: PromptFile, mode: str) -> str:
    """A file as text where nobody can open it, else its name."""
    label = f"{file.name} ({file.kind})" if file.kind else file.name
    if mode in ("local", "web"):
        return f"File of this question: {label}. Read it with the tools."
    if mode == "describe":
        return f"File of this question: {label}. You cannot open it."
    if file.text is None:
        return f"File of this question: {label}. It cannot be shown as text."
    return (
        f"File of this question: {label}.\n"
        f"--- begin of {file.name} ---\n{file.text}\n--- end of {file.name} ---"
    )


#: Modes in which an agent has tools; the others are one request.
WITH_TOOLS = ("local", "web")
_MAX_STEPS = 200
_MAX_INLINED_CHARS = 20_000  # characters of an attachment in a prompt without tools


class Gaia(Benchmark):
    """Options: see the card."""

    card = CARD
    confirms_gold = True
    wrong_field = "wrong"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for a level or a limit that is none."""
        super().__init__(options)
        # The levels as numbers, however they were written; they are part of the column.
        names = [str(level).strip() for level in options["levels"]]
        wrong = [name for name in names if name not in ("1", "2", "3")]
        if wrong or not names:
            raise UsageError(Note("gaia_levels", names=", ".join(names)))
        self._levels = self.options["levels"] = sorted({int(name) for name in names})
        self._mode = str(options["tool_mode"])
        if self.is_official and options["prompt_style"] != STYLES[0]:
            raise UsageError(Note("gaia_prompt_style"))
        if not 1 <= options["max_steps"] <= _MAX_STEPS:
            raise UsageError(Note("gaia_max_steps", most=_MAX_STEPS))

    @property
    def _official_message(self) -> str:
        """The system message of GAIA's authors: the run's own file with it, else the fetched
        one."""
        if self.prompt_template and not self.has_question_template:
            return self.prompt_template
        return self.official_texts.read_as(GaiaTexts).system

    def select_official_texts(self, source: DatasetSource, settings: Settings) -> None:
        """A file with the message is part of the column already, and needs no fetched texts."""
        if not self.prompt_template or self.has_question_template:
            super().select_official_texts(source, settings)

    def load_dataset(self, source: DatasetSource) -> list[Sample]:
        return dataset.load_gaia_samples(source, self.options["split"], self._levels)

    def select_runnable(self, samples: Sequence[Sample]) -> list[Sample]:
        """Those that ask something; rows of a scoring set do not. With tools the host has to be
        able to run programs, and `web` needs a key."""
        if self._mode in WITH_TOOLS and not detect_sandbox().means:
            why = detect_sandbox().explanation
            raise UsageError(Note("gaia_programs", mode=self._mode, problem=why))
        if self._mode == "web":  # of which the results are part, so that it belongs to the column
            self.options["provider"] = web_tools.find_provider_name(self.options["provider"])
        return [sample for sample in samples if "question" in sample.input]

    def build_prompt(self, sample: Sample) -> list[Message]:
        """The messages; without tools they hold what can be read of the attachments."""
        files = dataset.find_attachments(sample)
        prompt_files = [self._load_prompt_file(path) for path in files]
        question, style = sample.input["question"], self.options["prompt_style"]
        official = self._official_message if self.is_official else ""
        messages = build_gaia_messages(question, self._mode, style, prompt_files, official)
        if self.options["images"]:
            images = tuple(filter(None, map(to_data_url, files)))
            messages[-1] = msgspec.structs.replace(messages[-1], images=images)
        return messages

    def _load_prompt_file(self, path: Path) -> PromptFile:
        if self._mode in WITH_TOOLS:
            return PromptFile(name=path.name, kind=path.suffix.removeprefix("."), text=None)
        attachment = read_attachment_text(path, _MAX_INLINED_CHARS)
        return PromptFile(name=path.name, kind=attachment.kind, text=attachment.text)

    async def run_sample(self, sample: Sample, context: Context) -> Episode:
        if self._mode in WITH_TOOLS:
            return await self._run_agent(sample, context)
        episode = await super().run_sample(sample, context)
        messages = tuple(map(_strip_images, episode.messages))
        return msgspec.structs.replace(episode, messages=messages)

    async def _run_agent(self, sample: Sample, context: Context) -> Episode:
        provider_name, browser = self.options["provider"], None
        if self._mode == "web":
            browser = web_tools.Browser(provider_name=provider_name)
        with Toolset(dataset.find_attachments(sample), browser=browser) as toolset:
            tools = Tools(toolset.tools, toolset.call, FINAL.name)
            result = await run_agent(self, sample, context, tools, self.options["max_steps"])
        searched = {"provider": browser.provider, "date": utc_now()[:10]} if browser else {}
        return _build_agent_episode(self.generation_key(sample), context.epoch, result, searched)

    async def evaluate_sample(
        self, sample: Sample, episode: Episode, context: Context | None = None
    ) -> Verdict:
        return build_gaia_verdict(sample, episode, bare=self.options["prompt_style"] == "bare")

    def control(self, sample: Sample, kind: str, transcript: Sequence[Message]) -> Completion:
        """`reference` takes the steps and answers, `null` says nothing, `noop` repeats what it is
        asked."""
        if kind == "null":
            return Completion()
        if kind == "noop":
            return Completion(text=transcript[-1].content if transcript else "")
        return reference_step(sample, transcript, tools=self._mode in WITH_TOOLS)

    def episode_from_answer(
        self, sample: Sample, prediction: Any, extra_fields: Mapping[str, Any] = NO_FIELDS
    ) -> Episode:
        """A text goes through extraction; the value of {"answer": ...} is scored as it stands."""
        key = self.generation_key(sample)
        if isinstance(prediction, dict) and "answer" in prediction:
            return Episode(key=key, epoch=0, state={"answer": prediction["answer"]})
        return super().episode_from_answer(sample, prediction, extra_fields)

    def reference_episode(self, sample: Sample) -> Episode:
        return self.episode_from_answer(sample, {"answer": sample.reference["answer"]})

    def validate_dataset(self, samples: Sequence[Sample]) -> ValidationResult:
        """As every benchmark does; a hidden answer claims nothing, and the rows of a scoring set
        are what somebody wants answers compared with, whatever it is."""
        asked = [s for s in samples if "question" in s.input and not s.meta.get("hidden")]
        return super().validate_dataset(asked)

    def validate_references(self, samples: Sequence[Sample]) -> ValidationResult:
        """Take the steps of every derivation: the last one has to bring the answer."""
        findings = [finding for sample in samples for finding in _iter_derivation_issues(sample)]
        return findings, {"tools": detect_sandbox().means} if detect_sandbox().means else {}

    def gold_field(self, sample: Sample) -> str:
        return "Final answer"


def _iter_derivation_issues(sample: Sample) -> Iterator[DatasetIssue]:
    steps = sample.reference.get("derivation", ())
    if not steps:
        return
    try:
        with Toolset(dataset.find_attachments(sample)) as toolset:
            results = [toolset.call(step["tool"], step["arguments"]) for step in steps]
    except EnvironmentFailure as error:
        problem = f"the derivation cannot be run here: {error}"
        yield DatasetIssue(sample.key, problem, "derivation", kind="unconfirmed")
        return
    if not question_scorer(results[-1].strip(), str(sample.reference["answer"])).right:
        problem = f"the derivation does not give the answer but {results[-1][:80]!r}"
        yield DatasetIssue(sample.key, problem, "derivation")


def _strip_images(message: Message) -> Message:
    """Images are not journaled; what was sent is known from the attachment."""
    return msgspec.structs.replace(message, images=())


def _build_agent_episode(
    key: str, epoch: int, result: AgentResult, searched: Mapping[str, str]
) -> Episode:
    state: dict[str, Any] = {"calls": list(result.calls), **searched}
    state["call_readings"] = result.call_readings
    if result.final is not None:
        state["answer"] = to_answer_text(result.final.get("answer", ""))
    return Episode(
        key=key,
        epoch=epoch,
        answer=result.last_text,
        messages=tuple(map(_strip_images, result.messages)),
        finish_reason=result.finish_reason,
        termination=result.ended,
        state=state,
    )

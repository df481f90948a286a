"""The process in which lm-evaluation-harness works: it builds prompts and scores answers.

Started as `python -m evalcore.benchmarks.academic.harness_process` with frames on its pipes: first
a `HarnessStart`, then requests, each answered by one `HarnessReply`. It asks no model. Data sets
are loaded to build prompts only; an answer is scored with the document that its sample holds, so
that a run can be scored again without a network. Programs are never run here: a metric that runs
code gets the results of programs that the caller has run, or says which programs it needs.
"""

from __future__ import annotations

import difflib
import logging
import os
import random
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from evalcore.benchmarks.academic.code_results import (
    CodeResults,
    ProgramsNeeded,
    replace_code_metric,
)
from evalcore.benchmarks.academic.harness_records import (
    CHOICE,
    TEXT,
    BuildRequest,
    BuiltTask,
    HarnessReply,
    HarnessRequest,
    HarnessStart,
    ListRequest,
    ScoreRequest,
    ScoreResult,
    TaskRequest,
)
from evalcore.benchmarks.academic.harness_samples import (
    HarnessError,
    build_sample,
    is_gated_dataset,
    is_number,
    is_unsafe,
    list_mean_metrics,
    refuse_answer_execution,
    to_plain,
    write_messages,
)
from evalcore.records import Record
from evalcore.sandbox.worker_process import read_frame, write_frame

_SEEDS = {"python": 0, "numpy": 1234, "fewshot": 1234}  # the defaults of `simple_evaluate`


class _Documents(list[Any]):
    """Documents as a task reads its data set: a list that knows its fields."""

    @property
    def features(self) -> dict[str, Any]:
        return dict.fromkeys(self[0], None) if self and isinstance(self[0], dict) else {}


class _AnySplit:
    """A data set whose every split holds the same documents."""

    def __init__(self, documents: _Documents) -> None:
        self._documents = documents

    def __getitem__(self, split: str) -> _Documents:
        return self._documents

    def keys(self) -> list[str]:
        return []


class Harness:
    """lm-evaluation-harness with the tasks of some folders beside its own."""

    def __init__(self, start: HarnessStart) -> None:
        self._code = CodeResults()
        replace_code_metric(self._code)
        from lm_eval import tasks

        self._harden_templates()
        folders = [folder for folder in start.folders if os.path.isdir(folder)]  # noqa: PTH112
        self._manager = tasks.TaskManager(
            include_path=folders or None, include_defaults=start.defaults
        )
        self._scored: dict[str, Any] = {}
        self._check_before_download()

    def answer(self, request: HarnessRequest) -> Record:
        if isinstance(request, ListRequest):
            return HarnessReply(tasks=tuple(self._list_names(request.words)))
        if isinstance(request, BuildRequest):
            return HarnessReply(built=self._build_samples(request))
        return HarnessReply(scored=self._score_answer(request))

    def _harden_templates(self) -> None:
        """Render the templates of tasks in jinja's sandbox."""
        from jinja2.sandbox import SandboxedEnvironment
        from lm_eval import utils

        usual = utils.env
        env = SandboxedEnvironment(loader=usual.loader, undefined=usual.undefined)
        env.filters.update(usual.filters)
        env.globals.update(usual.globals)
        env.keep_trailing_newline = usual.keep_trailing_newline
        utils.env = env

    def _check_before_download(self) -> None:
        """Refuse a task that would run answers before its data is fetched."""
        from lm_eval.api.task import ConfigurableTask

        download = ConfigurableTask.download

        def check_and_download(task: Any, *arguments: Any, **options: Any) -> Any:
            refuse_answer_execution(task, str(task.config.task))
            return download(task, *arguments, **options)

        ConfigurableTask.download = check_and_download

    def _list_names(self, words: Sequence[str]) -> list[str]:
        return [
            name
            for name in self._manager.all_tasks
            if all(word.lower() in name.lower() for word in words)
        ]

    def _build_samples(self, request: BuildRequest) -> BuiltTask:
        """A task with its samples, seeded as `simple_evaluate` does."""
        random.seed(_SEEDS["python"])
        _seed_numpy(_SEEDS["numpy"])
        self._restore_download()
        task = self._load_task(request.task.name)
        return self._build_task(task, request.task, request.chat)

    def expand_names(self, names: Sequence[str]) -> list[str]:
        """The tasks that names stand for, those of groups and tags in their order."""
        expanded: list[str] = []
        for name in names:
            expanded += self._members(name, ())
        return list(dict.fromkeys(expanded))

    def _members(self, name: str, above: tuple[str, ...]) -> list[str]:
        entry = self._manager.task_index.get(name)
        if entry is None:
            raise HarnessError(self._describe_unknown(name))
        if entry.kind.name == "TAG":
            members: Sequence[Any] = sorted(entry.tags)
        elif entry.kind.name == "GROUP":
            members = (entry.cfg or {}).get("task") or []
        else:
            return [name]
        if name in above or not all(isinstance(member, str) for member in members):
            return list(self._manager.load([name])["tasks"])
        return [task for member in members for task in self._members(member, (*above, name))]

    def _describe_unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._manager.all_tasks, n=5, cutoff=0.5)
        hint = f"; close names: {', '.join(near)}" if near else ""
        return f"lm-eval has no task {name!r}{hint}"

    def _load_task(self, name: str) -> Any:
        if name not in self._manager.task_index:
            raise HarnessError(self._describe_unknown(name))
        try:
            task = self._manager.load([name])["tasks"][name]
            refuse_answer_execution(task, name)
            return task
        except HarnessError:
            raise
        except (Exception, SystemExit) as error:  # a task may end a process that lacks a program
            words = f"{type(error).__name__}: {error}"[:600]
            raise HarnessError(
                f"task {name} cannot be loaded: {words}. Its data comes from the Hugging Face Hub: "
                "check the network, and HF_TOKEN where the data is gated"
            ) from error

    def _build_task(self, task: Any, request: TaskRequest, chat: bool) -> BuiltTask:
        name = request.name
        if getattr(task, "MULTIMODAL", False):
            raise HarnessError(f"task {name} shows images or sounds; only text is asked here")
        if task.OUTPUT_TYPE == "loglikelihood_rolling":
            raise HarnessError(
                f"task {name} measures the perplexity of a corpus, which scores no answer"
            )
        if int(task.config.repeats or 1) != 1:
            raise HarnessError(
                f"task {name} asks each question {task.config.repeats} times; choose the task "
                "without repeats, and repeat the run with epochs"
            )
        metrics = list_mean_metrics(task)
        if not metrics:
            raise HarnessError(
                f"task {name} has no metric that is a mean over its answers "
                f"({', '.join(task.aggregation()) or 'none'}); its answers have no scores"
            )
        if request.metric and request.metric not in metrics:
            raise HarnessError(
                f"task {name} has no metric {request.metric!r}; it has: {', '.join(metrics)}"
            )
        _set_fewshot(task, request.fewshot)
        limit = request.limit or None
        task.build_all_requests(
            limit=limit,
            apply_chat_template=chat and task.OUTPUT_TYPE == "generate_until",
            chat_template=write_messages if chat else None,
        )
        groups: dict[int, list[Any]] = {}
        for instance in task.instances:
            groups.setdefault(instance.doc_id, []).append(instance)
        return BuiltTask(
            name=name,
            version=str(task.VERSION),
            fewshot=int(task.config.num_fewshot or 0),
            kind=TEXT if task.OUTPUT_TYPE == "generate_until" else CHOICE,
            metric=request.metric or metrics[0],
            runs_code=is_unsafe(task),
            gated=is_gated_dataset(task.config.dataset_path),
            multiple_input=task.multiple_input,
            multiple_target=task.multiple_target,
            samples=tuple(
                build_sample(task, number, sorted(group, key=lambda each: each.idx), chat)
                for number, group in groups.items()
            ),
        )

    def _score_answer(self, request: ScoreRequest) -> ScoreResult:
        from lm_eval.api.instance import Instance

        task = self._scored.get(request.task)
        if task is None:
            task = self._scored[request.task] = self._load_for_scoring(request)
        task.multiple_input, task.multiple_target = request.multiple_input, request.multiple_target
        kind = "generate_until" if request.kind == TEXT else "loglikelihood"
        responses: list[Any] = list(request.responses) or [tuple(p) for p in request.likelihoods]
        instances = [
            Instance(
                request_type=kind,
                doc=request.doc,
                arguments=(),
                idx=number,
                metadata=(request.task, request.number, 1),
                resps=[response],
            )
            for number, response in enumerate(responses)
        ]
        self._code.passed, self._code.needed = request.programs, []
        self._code.is_scoring = True
        try:
            for ensemble in task._filters:
                ensemble.apply(instances)
            readings = {
                ensemble.name: task.process_results(
                    request.doc, [each.filtered_resps[ensemble.name] for each in instances]
                )
                for ensemble in task._filters
            }
        except ProgramsNeeded:
            return ScoreResult(programs=tuple(self._code.needed))
        finally:
            self._code.is_scoring = False
        filtered = {
            ensemble.name: str(to_plain(instances[0].filtered_resps[ensemble.name]))[:4000]
            for ensemble in task._filters
        }
        means = list_mean_metrics(task)
        return ScoreResult(
            metrics={
                name: {
                    metric: float(value)
                    for metric, value in reading.items()
                    if (metric in means or metric == request.metric) and is_number(value)
                }
                for name, reading in readings.items()
            },
            filtered=filtered if request.kind == TEXT else {},
        )

    def _load_for_scoring(self, request: ScoreRequest) -> Any:
        """The task with a document that is there in place of its data set."""
        from lm_eval.api.task import ConfigurableTask

        documents = _Documents([request.doc])

        def take_documents(task: Any, *_: Any, **__: Any) -> None:
            task.config.process_docs = None
            if task.fewshot_cfg is not None:
                task.fewshot_cfg.process_docs = None
            task.dataset = _AnySplit(documents)

        self._download = getattr(self, "_download", ConfigurableTask.download)
        ConfigurableTask.download = take_documents
        return self._load_task(request.task)

    def _restore_download(self) -> None:
        from lm_eval.api.task import ConfigurableTask

        if hasattr(self, "_download"):
            ConfigurableTask.download = self._download


def _seed_numpy(seed: int) -> None:
    import numpy

    numpy.random.seed(seed)


def _set_fewshot(task: Any, fewshot: int) -> None:
    """As `simple_evaluate` does: a task that is written for no example keeps to that."""
    own = task.get_config("num_fewshot")
    if own is None or (fewshot >= 0 and own != 0):
        task.set_config(key="num_fewshot", value=max(0, fewshot))
    task.set_fewshot_seed(seed=_SEEDS["fewshot"])


def _serve(orders: Any, replies: Any) -> None:
    first = read_frame(orders)
    if first is None:
        return
    try:
        harness = Harness(msgspec.json.decode(first, type=HarnessStart))
        from lm_eval import __version__ as version
    except Exception as error:
        write_frame(replies, HarnessReply(problem=f"{type(error).__name__}: {error}"[:2000]))
        return
    write_frame(replies, HarnessReply(version=str(version)))
    decoder: msgspec.json.Decoder[HarnessRequest] = msgspec.json.Decoder(HarnessRequest)
    while (frame := read_frame(orders)) is not None:
        try:
            request = decoder.decode(frame)
            if isinstance(request, ListRequest) and request.expand:
                reply: Record = HarnessReply(tasks=tuple(harness.expand_names(request.words)))
            else:
                reply = harness.answer(request)
        except HarnessError as error:
            reply = HarnessReply(problem=str(error))
        except Exception as error:
            reply = HarnessReply(problem=f"{type(error).__name__}: {error}"[:2000], is_fault=True)
        write_frame(replies, reply)


def main() -> None:
    """Keep the pipes for ourselves: what a library prints goes to standard error."""
    orders, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    logging.disable(logging.WARNING)
    _serve(orders, replies)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

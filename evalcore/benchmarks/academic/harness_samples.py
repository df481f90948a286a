"""From the requests that lm-evaluation-harness builds for a document to what is asked here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from evalcore.benchmarks.academic.answer_execution import find_answer_execution
from evalcore.benchmarks.academic.harness_records import BuiltSample

_TOKEN_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_DEFAULT_TOKENS = 256  # what lm-eval's models generate at most where a task does not say
#: Data sets whose terms forbid to share their questions.
_GATED = ("Idavidrein/gpqa", "meta-llama/")
_CODE_REFERENCE = "canonical_solution"  # the field with a right program, in HumanEval's form


class HarnessError(Exception):
    """What is wrong with a task, for people."""


def refuse_answer_execution(task: Any, name: str) -> None:
    """Raises HarnessError for a task whose scoring would run answers outside of the sandbox, or
    says that it does and asks for no program that can run there."""
    scoring = find_answer_execution(task)
    if scoring.runs:
        raise HarnessError(
            f"task {name} is not available: its scoring would run parts of an answer as code, "
            f"outside of a sandbox ({scoring.runs})"
        )
    if is_unsafe(task) and not scoring.uses_sandbox:
        raise HarnessError(
            f"task {name} is not available: it declares `unsafe_code`, and nothing in its scoring "
            "asks for programs that could run in the sandbox"
        )


def is_unsafe(task: Any) -> bool:
    """Whether a task says of itself that its scoring runs code."""
    declared = getattr(getattr(task, "config", None), "unsafe_code", False)
    return bool(getattr(task, "UNSAFE_CODE", False) or declared)


def is_gated_dataset(path: str | None) -> bool:
    return (path or "").startswith(_GATED)


def list_mean_metrics(task: Any) -> list[str]:
    """The metrics that are a mean of the answers', and rise with them."""
    rises = task.higher_is_better()
    return [
        name
        for name, aggregate in task.aggregation().items()
        if getattr(aggregate, "__name__", "") == "mean" and rises.get(name, True)
    ]


def write_messages(messages: Any, **_: Any) -> str:
    """A chat template that keeps the turns as they are, as JSON."""
    return json.dumps(messages)


def build_sample(task: Any, number: int, instances: Sequence[Any], chat: bool) -> BuiltSample:
    doc = to_plain(instances[0].doc)
    if task.OUTPUT_TYPE == "generate_until":
        context, generation = instances[0].args
        return BuiltSample(
            number=number,
            doc=doc,
            prompt=context if not chat else "",
            turns=tuple((turn["role"], turn["content"]) for turn in json.loads(context))
            if chat
            else (),
            reference=_find_reference(task, instances[0].doc),
            **_read_generation(generation),
        )
    gold = _find_gold(task, instances[0].doc)
    return BuiltSample(
        number=number,
        doc=doc,
        pairs=tuple((instance.args[0], instance.args[1]) for instance in instances),
        gold=gold,
        choices=tuple(map(str, task.doc_to_choice(instances[0].doc)))
        if task.config.doc_to_choice is not None
        else (),
    )


def _read_generation(options: Mapping[str, Any]) -> dict[str, Any]:
    until = options.get("until") or []
    limit = next((options[name] for name in _TOKEN_LIMITS if options.get(name)), _DEFAULT_TOKENS)
    temperature = float(options.get("temperature") or 0.0)
    samples = options.get("do_sample", temperature > 0)
    top_p = options.get("top_p")
    return {
        "until": tuple([until] if isinstance(until, str) else map(str, until)),
        "max_tokens": int(limit),
        "temperature": temperature if samples else 0.0,
        "top_p": float(top_p) if samples and top_p is not None else None,
    }


def _find_reference(task: Any, doc: Mapping[str, Any]) -> str:
    """A right answer: the field that the task's metadata names, a right program, or the target."""
    metadata = task.config.metadata or {}
    field = metadata.get("reference", _CODE_REFERENCE) if isinstance(metadata, dict) else ""
    if field in doc:
        return str(doc[field])
    target = task.doc_to_target(doc)
    if isinstance(target, int) and task.config.doc_to_choice is not None:
        return str(task.doc_to_choice(doc)[target])
    first = target[0] if isinstance(target, list) and target else target
    return str(first)


def _find_gold(task: Any, doc: Mapping[str, Any]) -> tuple[int, ...]:
    """The indexes of the right choices; 0 for a text that is the only one."""
    if task.OUTPUT_TYPE == "loglikelihood":
        return (0,)
    choices = task.doc_to_choice(doc)
    gold = task.doc_to_text(doc) if task.multiple_input else task.doc_to_target(doc)
    right = gold if isinstance(gold, list) else [gold]
    indexes = [
        choices.index(each) if isinstance(each, str) and each in choices else each for each in right
    ]
    return tuple(each for each in indexes if isinstance(each, int) and 0 <= each < len(choices))


def is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def to_plain(value: Any) -> Any:
    """A document as JSON holds it. Raises HarnessError for what is no text or number."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    raise HarnessError(f"a document holds a {type(value).__name__}; only text is asked here")

"""From models, adapters and precisions, named one by one or by patterns, to the variants of a
sweep and the names that say what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from evalcore.catalog import find_target_kind
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import TargetSpec
from evalcore.store.sweeps import Variant

MOST_VARIANTS = 64
#: How calls of tools can be asked for, by the name of the way: the option `asking` of a target.
ASKING = {"native": "native", "prompt": "prompt", "text": "json", "json": "json"}
_PATTERN = re.compile(r"[*?\[]")
_STEP = re.compile(r"(?:^|[-_])(?:checkpoint|step|epoch|iter)[-_]?(\d+)$", re.IGNORECASE)
_OPTIONS = re.compile(r"[a-z_]+=")
_NUMBERS = re.compile(r"(\d+)")
#: Values of `dtype` that name no precision of their own.
_PLAIN = ("", "auto")


def list_variants(
    targets: Sequence[str],
    options: Mapping[str, Any],
    adapters: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    asking: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """Every target, plain and with each adapter, in each precision, asked for calls in each of the
    ways of `ASKING`. Targets and adapters may be
    patterns of folders, `hf:out/checkpoint-*`; a target may have options of its own, as judges do:
    `hf:base?dtype=int8`. Raises UsageError for a pattern that matches
    nothing, a kind of target without such options, and fewer than two variants."""
    named = [
        (key, own) for target in targets for key, own in _expand_target(*_split_options(target))
    ]
    folders = ["", *(folder for adapter in adapters for folder in _expand_folders(adapter))]
    specs: list[TargetSpec] = []
    ways = [ASKING[way] for way in asking] or [""]
    for (key, own), adapter, dtype, way in product(named, folders, dtypes or [""], ways):
        pairs = (("adapter", adapter), ("dtype", dtype), ("asking", way))
        chosen = {name: value for name, value in pairs if value}
        _check_options(key, chosen)
        spec = TargetSpec(key, {**options, **own, **chosen})
        if spec not in specs:
            specs.append(spec)
    if not 2 <= len(specs) <= MOST_VARIANTS:
        raise UsageError(Note("sweep_size", count=len(specs), most=MOST_VARIANTS))
    labels = label_variants(specs)
    return tuple(
        Variant(label, spec, find_step(spec)) for label, spec in zip(labels, specs, strict=True)
    )


def _check_options(key: str, chosen: Mapping[str, str]) -> None:
    card = find_target_kind(key)
    known = {option.name for option in card.options} if card else set()
    for name in chosen:
        if name not in known:
            raise UsageError(Note("sweep_option", target=key, name=name))


def read_target(text: str, options: Mapping[str, Any]) -> TargetSpec:
    """One target, with options of its own behind a question mark before those of all."""
    key, own = _split_options(text)
    return TargetSpec(key, {**options, **own})


def _split_options(target: str) -> tuple[str, dict[str, str]]:
    """A key or pattern, and the options behind its question mark, which a pattern may hold too."""
    key, mark, query = target.rpartition("?")
    if not mark or not _OPTIONS.match(query):
        return target, {}
    return key, dict(parse_qsl(query, keep_blank_values=True))


def _expand_target(target: str, own: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    prefix, _, name = target.partition(":")
    if not _PATTERN.search(name):
        return [(target, own)]
    card = find_target_kind(target)
    if card is None or not card.runs_models_here:
        raise UsageError(Note("sweep_pattern", pattern=target))
    return [(f"{prefix}:{folder}", own) for folder in _expand_folders(name)]


def _expand_folders(pattern: str) -> list[str]:
    """The folders that a pattern matches, by the numbers in their names; a plain name as it is."""
    if not _PATTERN.search(pattern):
        return [pattern]
    path = Path(pattern).expanduser()
    root = Path(path.anchor) if path.is_absolute() else Path()
    relative = path.relative_to(path.anchor) if path.is_absolute() else path
    folders = [folder for folder in root.glob(str(relative)) if folder.is_dir()]
    if not folders:
        raise UsageError(Note("sweep_empty", pattern=pattern))
    return sorted(map(str, folders), key=_natural_order)


def _natural_order(text: str) -> list[tuple[bool, int, str]]:
    """Order checkpoint-200 before checkpoint-1000."""
    return [
        (part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _NUMBERS.split(text)
    ]


def find_step(spec: TargetSpec) -> int | None:
    """The number of a checkpoint, by the last part of its adapter's or its model's name."""
    for name in (str(spec.options.get("adapter") or ""), spec.key.partition(":")[2]):
        if match := _STEP.search(name.rstrip("/").rpartition("/")[2]):
            return int(match[1])
    return None


def label_variants(specs: Sequence[TargetSpec]) -> list[str]:
    """Names that say what differs: `base`, `base + lora`, `base · int8`. Of a path they hold as
    many of the last parts as tell the models apart; other options are named where they differ."""
    models = _shorten_paths([spec.key.partition(":")[2] for spec in specs])
    adapters = _shorten_paths([str(spec.options.get("adapter") or "") for spec in specs])
    varying = {
        name
        for spec in specs
        for name in spec.options
        if name not in ("adapter", "dtype")
        and len({repr(other.options.get(name)) for other in specs}) > 1
    }
    labels = []
    for spec, model, adapter in zip(specs, models, adapters, strict=True):
        dtype = str(spec.options.get("dtype") or "")
        parts = [f"{model} + {adapter}" if adapter else model]
        parts += [] if dtype in _PLAIN else [dtype]
        parts += [f"{name}={spec.options[name]}" for name in sorted(varying & spec.options.keys())]
        labels.append(" · ".join(parts))
    counts = Counter(labels)
    return [
        label if counts[label] == 1 else spec.identity
        for label, spec in zip(labels, specs, strict=True)
    ]


def _shorten_paths(names: Sequence[str]) -> list[str]:
    """Each name by its last parts, as few as tell different names apart."""
    parts = {name: name.rstrip("/").split("/") for name in set(names)}
    longest = max(map(len, parts.values()))
    for count in range(1, longest + 1):
        short = {name: "/".join(pieces[-count:]) for name, pieces in parts.items()}
        if len(set(short.values())) == len(short):
            break
    return [short[name] for name in names]


def assign_runs(variants: Sequence[Variant], runs: Sequence[str]) -> tuple[Variant, ...]:
    """The variants with the ids of their runs."""
    return tuple(
        msgspec.structs.replace(variant, run_id=run)
        for variant, run in zip(variants, runs, strict=True)
    )

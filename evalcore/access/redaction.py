"""What must not leave this machine with a run: keys, and where things lie on it."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from evalcore.access.secrets import redact_keys, scrub_secrets
from evalcore.i18n import Note, map_note
from evalcore.records import BenchmarkSpec, Record, RunSpec, Sample, TargetSpec, Verdict
from evalcore.results import RunSummary
from evalcore.settings import ROOT, Settings

_NAMES_A_KEY = re.compile(r"KEY|TOKEN|SECRET|PASSW")
_SHORTEST_KEY = 8
#: A path at the beginning of a word that shows itself as one, of which the last part is kept.
_PATH_AT_WORD = re.compile(r"(?<![\w/.~-])\.{0,2}/(?:[^\s/'\"=,;&]+/)*([^\s/'\"=,;&]+)/?")

#: A path of at least two parts that shows itself as one by its beginning (`/`, `./`, `../`, `~/`,
#: `C:\`), not the path of an address of the web.
_PATH = re.compile(r"(?<![\w./:~-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^\s/\\'\"`,;()<>|]+[/\\])+")

#: A target that may be named by a path within a text, such as a message or a command: alone, and in
#: quotation marks, where the path may hold spaces.
_TARGET_IN_TEXT = re.compile(
    r"(?<!\w)(?:(?:app|hf|openai):(?:~?/|\.{1,2}[/\\]|[A-Za-z]:[/\\]|\\\\)(?!/)"
    r"|(?:app|hf):[^\s'\"`,;()<>|?/\\]{1,200}[/\\])[^\s'\"`,;()<>|?]*[^\s'\"`,;()<>|?.:]"
)
_QUOTED_TARGET = re.compile(r"(?<=['\"])(?:app|hf):[^'\"\n?]{1,1000}(?=['\"?])")

#: A path in quotation marks, which may hold spaces, perhaps after the kind of a target.
_QUOTED = re.compile(
    r"(['\"])((?:(?:app|hf|openai):)?(?:~?/|\.{1,2}[/\\]|[A-Za-z]:[/\\])[^'\"\n]*[/\\][^'\"\n?]*)(\?[^'\"\n]*)?\1"
)

#: What the name of a target begins with that is a path; a service may have models named ~x.
_BEGINS_PATH = re.compile(r"\w{2,}:\s*(?:\.{0,2}[/\\]|[A-Za-z]:[/\\])|(?:app|hf):\s*~")
#: What an identity adds to its key (`TargetSpec.identity`).
_VARIANT = re.compile(r"#[0-9a-f]{8}\Z")


def redact_paths(text: str) -> str:
    """`text` with every path that shows itself as one cut to its last part, and every target that
    is named by a path under its masked name. A path that begins with a word (`models/tiny`) stays:
    nothing tells it from other words with a slash."""
    if isinstance(text, Note):
        return map_note(text, redact_paths)
    return _PATH.sub("…/", _QUOTED.sub(_mask_quoted, _mask_targets(text)))


def _mask_targets(text: str) -> str:
    for pattern in (_QUOTED_TARGET, _TARGET_IN_TEXT):
        text = pattern.sub(lambda match: mask_target(match[0]), text)
    return text


def _mask_quoted(match: re.Match[str]) -> str:
    quote, path, options = match[1], match[2], match[3] or ""
    masked = mask_target(path)
    return f"{quote}{masked if masked != path else f'…/{_last_part(path)}'}{options}{quote}"


def mask_target(name: str) -> str:
    """Name a target for readers, from its key or its identity: `hf:/srv/models/tiny` is `hf:tiny~`
    and a short hash of the path, since folders of the same name hold other models. So is
    `hf:./models/tiny`; `hf:models/tiny` may be an id of the Hub and stays. A name that is no path,
    and one that is masked already, stays as it is: whatever a link or a request names is looked up
    under its masked name."""
    kind, _, rest = name.partition(":")
    variant = _VARIANT.search(rest)
    path = rest[: variant.start()] if variant else rest
    by_path = _BEGINS_PATH.match(name) or (kind in ("app", "hf") and _is_relative(path.strip()))
    if not by_path and not (kind == "app" and "/" in path):  # a service is a name or a file
        return name
    return f"{kind}:{mask_path(path)}{variant[0] if variant else ''}"


def mask_path(path: str) -> str:
    """The last part of a path and a short hash of all of it; never itself a path."""
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_bare_name(path) or 'folder'}~{digest[:8]}"


def mask_judge(judge: str) -> str:
    """Name a judge, which is a target perhaps with `?OPTIONS`, as `mask_target` does."""
    key, mark, options = judge.partition("?")
    return f"{mask_target(key)}{mark}{redact_paths(options)}"


def mask_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a target without places; an adapter that is a folder goes by name and hash."""
    masked = {name: _redact_option_paths(value) for name, value in options.items()}
    adapter = str(options.get("adapter", ""))
    return masked | ({"adapter": mask_path(adapter)} if is_path(adapter) else {})


def mask_votes(verdict: Verdict) -> Verdict:
    """The verdict with the names of the judges in its evidence masked."""
    sections = tuple(
        msgspec.structs.replace(
            section,
            body=[
                line | {"judge": mask_judge(str(line["judge"]))}
                if isinstance(line, dict) and "judge" in line
                else line
                for line in section.body
            ],
        )
        if section.kind == "votes" and isinstance(section.body, list)
        else section
        for section in verdict.evidence
    )
    return msgspec.structs.replace(verdict, evidence=sections)


def with_masked_target(spec: RunSpec) -> RunSpec:
    """The spec under the masked name of its target. The options stay, as the identity holds their
    hash."""
    target = TargetSpec(mask_target(spec.target.key), spec.target.options)
    return msgspec.structs.replace(spec, target=target)


def _shorten_target_path(name: str) -> str:
    """A path by its last part, after the kind of a target where it names one."""
    kind, colon, path = name.rpartition(":")
    return f"{kind}{colon}{_last_part(path)}" if len(kind) > 1 else _last_part(path)


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path.strip().rstrip("/\\"))[-1]


def _bare_name(path: str) -> str:
    """The last part of a path as a name that is no path itself; "" where nothing of it is left."""
    name = _last_part(path).lstrip("~ ")
    return name if name.strip(".") else ""


def is_path(name: str) -> bool:
    """Whether a data set or an adapter is named by where it lies on the machine. A word, and two
    with a slash between them, may be an id of the Hub and count as none."""
    return (
        name.startswith("~")
        or PurePosixPath(name).is_absolute()
        or PureWindowsPath(name).is_absolute()
        or _is_relative(name)
    )


def _is_relative(path: str) -> bool:
    """Whether a name can only be a path below, or beside, a folder that is not told."""
    parts = re.split(r"[/\\]", path)
    if "://" in path:
        return False
    return (
        len(parts) > 2
        or "\\" in path
        or ".." in parts
        or path == "."
        or (len(parts) == 2 and path.startswith("."))
    )


def dataset_name(dataset: str, dataset_hash: str = "") -> str:
    """Name a data set for readers: one that a run names by a path by its last part, and by the
    first characters of its hash, since folders of the same name hold different cases."""
    if not is_path(dataset):
        return dataset
    name = _bare_name(dataset) or "dataset"
    return f"{name} ({dataset_hash[:8]})" if dataset_hash else name


def mask_benchmark(spec: BenchmarkSpec) -> BenchmarkSpec:
    """The spec of a benchmark without the places of its data set, of its judges and of what its
    options name. The prompt among them is a text of its own."""
    hidden = {
        name: value if name == "prompt" else _redact_option_paths(value)
        for name, value in spec.options.items()
    }
    name = dataset_name(spec.dataset, spec.dataset_hash)
    judges = tuple(map(mask_judge, spec.judges))
    return msgspec.structs.replace(spec, dataset=name, options=hidden, judges=judges)


def mask_label(label: str, spec: BenchmarkSpec) -> str:
    """The label of a score, which begins with the data set and may name options."""
    name = dataset_name(spec.dataset, spec.dataset_hash)
    rest = label.removeprefix(spec.dataset) if spec.dataset else label
    return redact_paths(label if rest == label else name + rest)


def mask_spec(spec: RunSpec) -> RunSpec:
    """The spec of a run as pages and comparisons show it: no place of the machine in its target,
    data sets, judges, options, command and note."""
    return msgspec.structs.replace(
        with_masked_target(spec),
        judges=tuple(map(mask_judge, spec.judges)),
        benchmarks=tuple(map(mask_benchmark, spec.benchmarks)),
        command=redact_paths(spec.command),
        note=redact_paths(spec.note),
    )


def _redact_option_paths(value: Any) -> Any:
    """An option, texts at any depth without their places."""
    if isinstance(value, str):
        return redact_paths(value)
    if isinstance(value, Mapping):
        return {name: _redact_option_paths(inner) for name, inner in value.items()}
    return (
        [_redact_option_paths(item) for item in value] if isinstance(value, list | tuple) else value
    )


class Redactor(Record, frozen=True):
    """`keys` are texts that may stand nowhere, `folders` the folders of this machine by what stands
    for them, the deepest first."""

    keys: tuple[str, ...]
    folders: tuple[tuple[str, str], ...]

    def redact_line(self, text: str) -> str:
        """A line of JSON without the keys and places that are known here. Nothing else of it is
        touched, since a changed answer would be scored differently."""
        for folder, name in self.folders:
            text = text.replace(folder, name)
        plain = any(key in text for key in self.keys)
        return scrub_secrets(text, self.keys) if plain else redact_keys(text, self.keys)

    def redact_text(self, text: str) -> str:
        """A text about a run, where whatever looks like a key or a path goes too."""
        text = _QUOTED.sub(
            lambda m: f"{m[1]}{_shorten_target_path(m[2])}{m[3] or ''}{m[1]}", _mask_targets(text)
        )
        return _PATH_AT_WORD.sub(r"\1", scrub_secrets(self.redact_line(text), self.keys))

    def redact_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Options or facts, texts at any depth as by `redact_text`; an adapter that is a folder,
        which may hold spaces, by its last part."""
        return {
            name: self.redact_text(_last_part(value))
            if name == "adapter" and isinstance(value, str) and is_path(value)
            else self._redact_value(value)
            for name, value in values.items()
        }

    def _redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return self.redact_values(value)
        return (
            [self._redact_value(item) for item in value]
            if isinstance(value, list | tuple)
            else value
        )


def build_redactor(settings: Settings) -> Redactor:
    """What is known of this machine: keys in the environment, database addresses, folders."""
    keys = [value for name, value in os.environ.items() if _NAMES_A_KEY.search(name.upper())]
    keys += [settings.postgres_dsn, settings.mysql_dsn, settings.index]
    return Redactor(
        keys=tuple(key for key in keys if len(key.strip()) >= _SHORTEST_KEY),
        folders=tuple(sorted(_list_private_folders(settings), key=lambda pair: -len(pair[0]))),
    )


def _list_private_folders(settings: Settings) -> Iterator[tuple[str, str]]:
    """Folders with the names they go by; one that is a single word would be found anywhere."""
    names_by_folder = {
        settings.data: "data",
        settings.shipped: "shipped",
        settings.datasets: "datasets",
        settings.swe_repositories: "repositories",
        settings.swe_environments: "environments",
        str(ROOT): ".",
        str(Path.home()): "~",
        tempfile.gettempdir(): "tmp",
    }
    for folder, name in names_by_folder.items():
        if folder and len(PurePath(folder).parts) > 2:
            yield folder, name
            yield str(Path(folder).resolve()), name


def redact_spec(spec: RunSpec, redactor: Redactor) -> RunSpec:
    """The spec as others may read it: data sets and models by name instead of by path, and nothing
    of who started it."""
    kind, colon, name = mask_target(spec.target.key).partition(":")
    return msgspec.structs.replace(
        spec,
        target=TargetSpec(
            key=f"{kind}{colon}{redactor.redact_text(name)}",
            options=redactor.redact_values(spec.target.options),
        ),
        benchmarks=tuple(_redact_benchmark(benchmark, redactor) for benchmark in spec.benchmarks),
        judges=tuple(scrub_secrets(mask_judge(judge)) for judge in spec.judges),
        command=redactor.redact_text(spec.command),
        note=redactor.redact_text(spec.note),
        access="",
        started_by="",
    )


def redact_summary(summary: RunSummary, redacted_spec: RunSpec) -> RunSummary:
    """The scores under the target as `redact_spec` tells it, without labels, which may hold
    paths."""
    scores = {
        name: msgspec.structs.replace(score, label="") for name, score in summary.benchmarks.items()
    }
    return msgspec.structs.replace(summary, target=redacted_spec.target, benchmarks=scores)


def _redact_benchmark(spec: BenchmarkSpec, redactor: Redactor) -> BenchmarkSpec:
    """The prompt template among the options is a text of its own and no path."""
    prompt = {name: value for name, value in spec.options.items() if name == "prompt"}
    return msgspec.structs.replace(
        spec,
        dataset=PurePath(spec.dataset).name or spec.key,
        options=redactor.redact_values(spec.options) | prompt,
        judges=tuple(scrub_secrets(mask_judge(judge)) for judge in spec.judges),
    )


def redact_sample(sample: Sample) -> Sample:
    """The sample, paths in its `meta` by name; the rest of it is the data set's own."""
    meta = {
        name: PurePath(value).name
        if isinstance(value, str) and PurePath(value).is_absolute()
        else value
        for name, value in sample.meta.items()
    }
    return msgspec.structs.replace(sample, meta=meta)

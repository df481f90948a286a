"""What must not leave this machine with a run: keys, and where things lie on it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec

from evalcore.records import BenchmarkSpec, Record, RunSpec, RunSummary, Sample, TargetSpec
from evalcore.secrets import scrub
from evalcore.settings import ROOT, Settings

_NAMES_A_KEY = re.compile(r"KEY|TOKEN|SECRET|PASSW")
_SHORTEST_KEY = 8
#: An absolute path at the beginning of a word, of which the last part is kept.
_PLACE = re.compile(r"(?<![\w/.~-])/(?:[^\s/'\"=,;&]+/)*([^\s/'\"=,;&]+)/?")


class Censor(Record, frozen=True):
    """`keys` are texts that may stand nowhere, `places` the folders of this machine by what stands
    for them, the deepest first."""

    keys: tuple[str, ...]
    places: tuple[tuple[str, str], ...]

    def line(self, text: str) -> str:
        """A line of JSON without the keys and places that are known here.

        Nothing else of it is touched, since a changed answer would be scored differently.
        """
        for place, name in self.places:
            text = text.replace(place, name)
        return scrub(text, self.keys) if any(key in text for key in self.keys) else text

    def about(self, text: str) -> str:
        """A text about a run, where whatever looks like a key or a path goes too."""
        return _PLACE.sub(r"\1", scrub(self.line(text), self.keys))

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options or facts, texts at any depth as by `about`."""
        return {name: self._value(value) for name, value in given.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.about(value)
        if isinstance(value, Mapping):
            return self.values(value)
        return [self._value(one) for one in value] if isinstance(value, list | tuple) else value


def censor(settings: Settings) -> Censor:
    """What is known of this machine: keys in the environment, database addresses, folders."""
    keys = [value for name, value in os.environ.items() if _NAMES_A_KEY.search(name.upper())]
    keys += [settings.postgres_dsn, settings.mysql_dsn]
    return Censor(
        keys=tuple(key for key in keys if len(key.strip()) >= _SHORTEST_KEY),
        places=tuple(sorted(_places(settings), key=lambda pair: -len(pair[0]))),
    )


def _places(settings: Settings) -> Iterator[tuple[str, str]]:
    """Folders with the names they go by; one that is a single word would be found anywhere."""
    told = {
        settings.data: "data",
        settings.shipped: "shipped",
        settings.datasets: "datasets",
        settings.swe_repositories: "repositories",
        settings.swe_environments: "environments",
        str(ROOT): ".",
        str(Path.home()): "~",
        tempfile.gettempdir(): "tmp",
    }
    for place, name in told.items():
        if place and len(PurePath(place).parts) > 2:
            yield place, name
            yield str(Path(place).resolve()), name


def spec_told(spec: RunSpec, censored: Censor) -> RunSpec:
    """The spec as others may read it: data sets and models by name instead of by path, and nothing
    of who started it."""
    kind, colon, name = spec.target.key.partition(":")
    return msgspec.structs.replace(
        spec,
        target=TargetSpec(
            key=f"{kind}{colon}{censored.about(name)}",
            options=censored.values(spec.target.options),
        ),
        benchmarks=tuple(_benchmark(one, censored) for one in spec.benchmarks),
        judges=tuple(map(scrub, spec.judges)),
        command=censored.about(spec.command),
        note=censored.about(spec.note),
        access="",
        started_by="",
    )


def summary_told(summary: RunSummary, told: RunSpec) -> RunSummary:
    """The scores under the target as `spec_told` tells it, without labels, which may hold paths."""
    scores = {
        name: msgspec.structs.replace(score, label="") for name, score in summary.benchmarks.items()
    }
    return msgspec.structs.replace(summary, target=told.target, benchmarks=scores)


def _benchmark(one: BenchmarkSpec, censored: Censor) -> BenchmarkSpec:
    """The prompt template among the options is a text of its own and no path."""
    kept = {name: value for name, value in one.options.items() if name == "prompt"}
    return msgspec.structs.replace(
        one,
        dataset=PurePath(one.dataset).name or one.key,
        options=censored.values(one.options) | kept,
        judges=tuple(map(scrub, one.judges)),
    )


def sample_told(sample: Sample) -> Sample:
    """The sample, paths in its `meta` by name; the rest of it is the data set's own."""
    meta = {
        name: PurePath(value).name
        if isinstance(value, str) and PurePath(value).is_absolute()
        else value
        for name, value in sample.meta.items()
    }
    return msgspec.structs.replace(sample, meta=meta)

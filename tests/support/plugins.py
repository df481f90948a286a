"""Small distributions with entry points, as an installer would leave them.

Each is a `.dist-info` folder and a module, in a folder of their own on the path.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from evalcore import catalog

#: A benchmark of additions with one metric; KEY, SUITE and what follows are filled in.
_BENCHMARK = """
import json
from evalcore.benchmarks.base import Benchmark
from evalcore.catalog import BenchmarkCard, MetricCard, SuiteCard
from evalcore.records import Completion, Message, Sample, Verdict

CARD = BenchmarkCard(
    key="{key}",
    suite="{suite}",
    implementation="{module}:Sums",
    metrics=(MetricCard(key="sum", weight=2), MetricCard(key="remark", weight=None)),
    title={title},
    dataset="{key}_cases",
)
SUITE = SuiteCard(key="{suite}", title={suite_title}, memberships={memberships})


class Sums(Benchmark):
    card = CARD

    def load_dataset(self, source):
        lines = (source.folder / "sum.jsonl").read_text().splitlines()
        return [
            Sample(metric="sum", id=str(n), input=json.loads(line), difficulty=1 + n % 3)
            for n, line in enumerate(lines)
        ]

    def build_prompt(self, sample):
        return [Message(role="user", content=f"{{sample.input['a']}} + {{sample.input['b']}}?")]

    async def evaluate_sample(self, sample, episode, context=None):
        passed = episode.answer == str(sample.input["a"] + sample.input["b"])
        outcome = "passed" if passed else "failed"
        return Verdict(
            metric=sample.metric, id=sample.id, outcome=outcome, score=float(passed)
        )

    def control(self, sample, kind, transcript):
        right = str(sample.input["a"] + sample.input["b"])
        return Completion(text=right if kind == "reference" else "")
"""


def write(
    folder: Path,
    name: str,
    source: str,
    points: Mapping[str, Mapping[str, str]],
    *,
    metadata: str | None = None,
) -> None:
    """A distribution `name` whose module of that name holds `source`; `points` by group."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (info / "METADATA").write_text(text if metadata is None else metadata, encoding="utf-8")
    lines = [
        line
        for group, entries in points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")


def write_benchmark(
    folder: Path,
    name: str,
    *,
    key: str,
    suite: str,
    declared: bool = False,
    memberships: tuple[tuple[str, ...], ...] = (),
    title: str = "",
    suite_title: str = "",
    cases: int = 6,
    change: tuple[str, str] = ("", ""),
) -> None:
    """A distribution with a healthy benchmark; with `declared` it brings the suite's card too, and
    `change` replaces a part of the module's text."""
    source = _BENCHMARK.format(
        key=key,
        suite=suite,
        module=name,
        title={"en": title} if title else {},
        suite_title={"en": suite_title} if suite_title else {},
        memberships=memberships,
    )
    points = {"evalcore.benchmarks": {key: f"{name}:CARD"}}
    if declared:
        points["evalcore.suites"] = {suite: f"{name}:SUITE"}
    write(folder, name, source.replace(*change) if change[0] else source, points)
    data = folder / f"{key}_cases"
    data.mkdir(exist_ok=True)
    lines = [f'{{"a": {n}, "b": {2 * n}}}\n' for n in range(cases)]
    (data / "sum.jsonl").write_text("".join(lines), encoding="utf-8")


#: Module text and entry points of plug-ins that are broken, each in its own way, with what the
#: reason must say.
BROKEN: dict[str, tuple[str, dict[str, dict[str, str]], str]] = {}


def _broken(name: str, source: str, reason: str, group: str = "evalcore.benchmarks") -> None:
    BROKEN[name] = (source, {group: {name.removeprefix("broken_"): f"{name}:CARD"}}, reason)


_CARD = """
from evalcore.catalog import BenchmarkCard, MetricCard, OptionCard, SuiteCard, TargetKindCard
CARD = BenchmarkCard(key="{key}", suite="sql", implementation="x:Y",
                     metrics=({metrics}), options=({options}))
"""
_METRIC = 'MetricCard(key="m", weight=1),'
_broken("broken_absent", "import a_module_that_nobody_has", "ModuleNotFoundError")
_broken("broken_raising", "raise RuntimeError('no <b>licence</b>')", "RuntimeError: no")
_broken("broken_exiting", "import sys; print('bye'); sys.exit(3)", "SystemExit")
_broken("broken_base", "class Stop(BaseException): pass\nraise Stop", "Stop")
_broken("broken_syntax", "def (", "SyntaxError")
_broken("broken_nothing", "OTHER = 1", "AttributeError")
_broken("broken_kind", "CARD = {'key': 'x'}", "its object is a dict")
_broken("broken_class", "from evalcore.benchmarks.base import Benchmark as CARD", "a Benchmark")
_broken(
    "broken_fields",
    _CARD.format(key="f", metrics=_METRIC, options="").replace('suite="sql"', "suite=7"),
    "wrong",
)
_broken(
    "broken_weight",
    _CARD.format(key="w", metrics='MetricCard(key="m", weight=float("nan")),', options=""),
    "weight nan",
)
_broken("broken_twice", _CARD.format(key="t", metrics=_METRIC * 2, options=""), "twice")
_broken("broken_none", _CARD.format(key="n", metrics="", options=""), "no metric")
_broken(
    "broken_unscored",
    _CARD.format(key="u", metrics='MetricCard(key="m", weight=None),', options=""),
    "has a weight",
)
_broken("broken_taken", _CARD.format(key="bfcl", metrics=_METRIC, options=""), "taken by Evalboard")
_broken("broken_reserved", _CARD.format(key="score", metrics=_METRIC, options=""), "is reserved")
_broken("broken_key", _CARD.format(key="a/b c", metrics=_METRIC, options=""), "not usable")
_broken(
    "broken_suite",
    "from evalcore.catalog import SuiteCard\nCARD = SuiteCard(key='sql', memberships=(('x',),))",
    "taken by Evalboard",
    "evalcore.suites",
)
_broken("broken_target", "CARD = 3", "its object is a int", "evalcore.targets")
_broken(
    "broken_asking",
    "from evalcore import catalog\nCARD = catalog.benchmark_cards()",
    "while it is being imported",
)
_broken("broken_recursion", "def f(): return f()\nf()", "RecursionError")


def write_broken(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Every broken plug-in, or those of the names, and one without any metadata."""
    for name in names or tuple(BROKEN):
        source, points, _ = BROKEN[name]
        write(folder, name, source, points)
    if not names:
        write(
            folder,
            "broken_metadata",
            "raise ValueError",
            {"evalcore.benchmarks": {"nameless": "broken_metadata:CARD"}},
            metadata="\x00 no metadata",
        )


@pytest.fixture
def plugin_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is written there is installed after `catalog.forget_plugins()`."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    loaded = set(sys.modules)
    catalog.clear_plugin_cache()
    yield folder
    monkeypatch.undo()
    for name in set(sys.modules) - loaded:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(folder)):
            del sys.modules[name]
    catalog.clear_plugin_cache()

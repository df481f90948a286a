"""A benchmark is one folder: its key stands in no code but its own and the built-in list. The same
holds for a kind of target and for an SQL engine."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from evalcore import catalog
from evalcore.sqlkit.engines.cards import CARDS as ENGINE_CARDS
from evalcore.targets.cards import CARDS as TARGET_CARDS

ROOT = Path(__file__).resolve().parents[2]
#: The built-in lists, and modules that may name any benchmark, with the reason.
ALLOWED = {
    "evalcore/cli/logs.py": "the names of frameworks, one of which is that of its library",
    "evalcore/runner/config_fields.py": "slm-evals' own names of its benchmarks and their options",
    "evalcore/catalog.py": "the built-in list, and the members of the built-in suites",
    "evalcore/exchange/logs/importer.py": "the readers of logs, one of them of official results",
    "evalcore/exchange/scale/exporter.py": "SCALE's own names of what it publishes",
    "evalcore/exchange/scale/forms.py": "SCALE's own names of what it publishes, with its weights",
    "evalcore/exchange/scale/published_answers.py": "SCALE's own names of what it publishes",
    "evalcore/exchange/scale/redecision.py": "the reader of answers to SCALE's questions",
}
#: Benchmarks that build on the conversation, the users and the records of another one.
SUCCESSORS = {"tau_bench": ("tau2_bench",)}
#: By kind of target, its own modules.
TARGET_MODULES = {
    "openai": (
        "evalcore/targets/endpoint/",
        "evalcore/targets/endpoints.py",
    ),
    "hf": (
        "evalcore/targets/huggingface/",
        "evalcore/runner/local_models.py",
    ),
    "app": ("evalcore/targets/application",),
    "baseline": ("evalcore/targets/baseline.py",),
    "control": ("evalcore/targets/base.py",),
}
_KIND_OF_INFO = "`baseline`, `control` as `TargetInfo.kind` or the type on a target's card: classes"
_STATUS = "`control` as the status of a row: an output that is frozen"
_EXAMPLE = "an example in a text for people"
TARGETS_ALLOWED = {
    "evalcore/access/redaction.py": "which keys hold a path or an address; a layer below the cards",
    "evalcore/benchmarks/tau_bench/card.py": _EXAMPLE,
    "evalcore/cards.py": "CONTROL_KIND, the one place that names the yardstick",
    "evalcore/cli/boards.py": _EXAMPLE,
    "evalcore/cli/parity.py": _EXAMPLE,
    "evalcore/cli/preflight.py": _EXAMPLE,
    "evalcore/cli/run.py": _EXAMPLE,
    "evalcore/cli/sweep.py": _EXAMPLE,
    "evalcore/runner/jobs/run_service.py": _KIND_OF_INFO,
    "evalcore/exchange/hub_rows.py": "the scheme of an address on the Hub",
    "evalcore/runner/uploads.py": "the scheme of an address on the Hub",
    "evalcore/cli/datasets.py": "the scheme of an address on the Hub",
    "evalcore/exchange/hub_publish.py": "the scheme of an address on the Hub",
    "evalcore/exchange/site/publish.py": "the words of pages that lead to the app",
    "evalcore/runner/config_fields.py": "slm-evals' own names of its targets",
    "evalcore/runner/plan.py": "the package `openai`, whose version a run records",
    "evalcore/runner/run_request.py": "fields of slm-evals' configuration, and an example",
    "evalcore/target_cards.py": _KIND_OF_INFO,
    "evalcore/targets/base.py": _KIND_OF_INFO,
    "evalcore/targets/cards.py": "the built-in list",
    "evalcore/targets/huggingface/engines.py": "servers of local models speak its API",
    "evalcore/targets/huggingface/folder_checks.py": "advice to serve what cannot be loaded here",
    "evalcore/targets/pricing.py": _KIND_OF_INFO,
    "evalcore/views/board_table.py": _STATUS,
    "evalcore/views/decision.py": _STATUS,
    "evalcore/views/decision_payloads.py": _STATUS,
    "evalcore/views/decision_sources.py": _STATUS,
    "evalcore/views/ranking.py": _STATUS,
    "evalcore/web/badge.py": _STATUS,
    "pages/parts/ranking/ranking_table.py": _STATUS,
}
_DIALECT = "a SQL dialect, which has the name of its engine"
_PACKAGE = "the package `duckdb`, whose version is recorded"
ENGINES_ALLOWED = {
    "evalcore/benchmarks/dialect_conversion/card.py": "names of baselines",
    "evalcore/benchmarks/gaia/attachments/read_request.py": "a format of attached files",
    "evalcore/benchmarks/gaia/attachments/service.py": "a format of attached files",
    "evalcore/benchmarks/sql_choice.py": _DIALECT,
    "evalcore/benchmarks/sql_optimization/card.py": "names of baselines",
    "evalcore/benchmarks/sql_text.py": _DIALECT,
    "evalcore/benchmarks/sql_understanding/baseline.py": "the engine whose plans its cases show",
    "evalcore/benchmarks/sql_understanding/benchmark.py": "the dialect of SCALE's cases",
    "evalcore/benchmarks/sql_understanding/card.py": "names of baselines",
    "evalcore/cli/doctor.py": "extras of this package",
    "evalcore/exchange/bundle/imported_run.py": _PACKAGE,
    "evalcore/exchange/scale/published_answers.py": "the dialect of SCALE's cases",
    "evalcore/runner/plan.py": _PACKAGE,
    "evalcore/sqlkit/dialect_guess.py": _DIALECT,
    "evalcore/sqlkit/dialects.py": _DIALECT,
    "evalcore/sqlkit/engines/guard.py": "how words of a server's dialect are told apart",
    "evalcore/sqlkit/engines/local_server.py": "the programs of the two servers that can be kept",
    "evalcore/sqlkit/equivalence/observations.py": _DIALECT,
    "evalcore/sqlkit/equivalence/trials.py": _DIALECT,
    "evalcore/sqlkit/generate/chains.py": _DIALECT,
    "evalcore/sqlkit/generate/checks.py": _DIALECT,
    "evalcore/sqlkit/generate/database.py": _DIALECT,
    "evalcore/sqlkit/generate/definitions.py": _DIALECT,
    "evalcore/sqlkit/generate/edges.py": _DIALECT,
    "evalcore/sqlkit/generate/filler.py": _DIALECT,
    "evalcore/sqlkit/generate/text_forms.py": _DIALECT,
    "evalcore/sqlkit/index_advice/__init__.py": _DIALECT,
    "evalcore/sqlkit/index_advice/parsing.py": _DIALECT,
    "evalcore/sqlkit/literal_types.py": _DIALECT,
    "evalcore/sqlkit/product_features.py": _DIALECT,
    "evalcore/sqlkit/products/__init__.py": "the engines that stand in for products",
    "evalcore/sqlkit/products/clauses.py": _DIALECT,
    "evalcore/sqlkit/products/trees.py": _DIALECT,
    "evalcore/sqlkit/prover/expressions.py": _DIALECT,
    "evalcore/sqlkit/prover/symbols.py": _DIALECT,
    "evalcore/sqlkit/query_plans.py": "the engines whose plans are read",
    "evalcore/sqlkit/schema.py": _DIALECT,
    "evalcore/targets/baseline.py": "names of baselines, and of the engines that they are",
    "evalcore/store/index_stores.py": "the scheme of an address of PostgreSQL",
    "evalcore/web/application.py": "the package `duckdb`, which is imported early",
}
BUILT_IN = sorted(catalog._builtin_keys())


def iterate_strings(source: str) -> Iterator[tuple[int, str]]:
    """Every text in code that is no docstring, and every import as text, with its line."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.lineno, str(node.value)


def contains_word(text: str, key: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9])", text) is not None


def list_modules() -> list[Path]:
    folders = (ROOT / "evalcore", ROOT / "pages")
    return [ROOT / "app.py", *(path for folder in folders for path in sorted(folder.rglob("*.py")))]


def belongs_to(path: str, key: str) -> bool:
    """Whether a module is in the benchmark's folder, in that of its successor, or its exchange with
    others."""
    names = (key, *SUCCESSORS.get(key, ()))
    folders = [f"evalcore/{part}/{name}" for name in names for part in ("benchmarks", "exchange")]
    return path.startswith(tuple(folders))


def test_a_benchmark_is_named_in_its_own_code_only():
    named: dict[str, list[str]] = {}
    for module in list_modules():
        path = module.relative_to(ROOT).as_posix()
        for line, text in iterate_strings(module.read_text("utf-8")):
            for key in BUILT_IN:
                if contains_word(text, key) and not belongs_to(path, key):
                    named.setdefault(path, []).append(f"{path}:{line}: {key}")
    assert [line for path, lines in named.items() if path not in ALLOWED for line in lines] == []
    assert sorted(named) == sorted(ALLOWED), "an exception that is none any more goes from the list"


def collect_names(keys: Mapping[str, tuple[str, ...]], pattern: str) -> dict[str, list[str]]:
    """Where a key stands outside its own modules, by module; `pattern` holds "KEY"."""
    named: dict[str, list[str]] = {}
    for module in list_modules():
        path = module.relative_to(ROOT).as_posix()
        for line, text in iterate_strings(module.read_text("utf-8")):
            for key, own in keys.items():
                if re.search(pattern.replace("KEY", key), text) and not path.startswith(own):
                    named.setdefault(path, []).append(f"{path}:{line}: {key}")
    return named


def test_a_kind_of_target_is_named_in_its_own_code_only():
    """Alone or as the prefix of a target; where "baseline" and "control" are words of other things,
    the list of exceptions says of what."""
    assert TARGET_MODULES.keys() == {card.prefix for card in TARGET_CARDS}
    named = collect_names(TARGET_MODULES, r"^KEY$|(?<![A-Za-z0-9_.:-])KEY:(?! )")
    new = [line for path, lines in named.items() if path not in TARGETS_ALLOWED for line in lines]
    assert new == []
    assert sorted(named) == sorted(TARGETS_ALLOWED)


def test_an_sql_engine_is_named_in_its_own_code_only():
    """Its name is that of its dialect, too, which generators and parsers have to tell apart."""
    own = {
        card.name: (f"evalcore/sqlkit/engines/{card.name}", "evalcore/sqlkit/engines/cards.py")
        for card in ENGINE_CARDS
    }
    named = collect_names(own, "^KEY$")
    new = [line for path, lines in named.items() if path not in ENGINES_ALLOWED for line in lines]
    assert new == []
    assert sorted(named) == sorted(ENGINES_ALLOWED)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_benchmark_is_named_in_its_own_catalogue_only(language):
    """Codes of notes are persisted in runs and stand in a flat catalogue of their own."""
    for path in (ROOT / "evalcore/i18n" / language).glob("*.json"):
        if path.stem in (*BUILT_IN, "note", "page_note"):
            continue
        names = json.loads(path.read_text("utf-8"))
        assert [n for n in names for key in BUILT_IN if contains_word(n, key)] == [], path.name


def test_words_are_seen_in_every_kind_of_code():
    source = 'f"launch.{x}.bfcl"\nfrom a.bfcl import b\nc = {"bfcl-v3": 1}\n"""bfcl"""\n'
    seen = [line for line, text in iterate_strings(source) if contains_word(text, "bfcl")]
    assert sorted(seen) == [1, 2, 3]
    assert contains_word(".bfcl", "bfcl")
    assert not contains_word("bfclx", "bfcl")

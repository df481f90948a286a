"""Published answers decided again by execution: how many, how often alike, and without a look at
the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore.cli import main
from evalcore.exchange.scale import verify
from evalcore.exchange.scale.forms import CASES
from evalcore.exchange.scale.verify import read_published_answers
from evalcore.settings import ROOT
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence.decider import Decider
from tests.support.engines import server_engine
from tests.support.shared_data import shared_data

TWINS = ROOT / "datasets" / "scale_twins" / "logical_equivalence.jsonl"


@pytest.fixture(scope="module")
def published() -> Path:
    from evalcore.sqlkit.engines import Limits

    place = shared_data("scale/public/data")
    for name in ("postgres", "mysql"):
        server_engine(name, Limits()).close()
    return place


@pytest.fixture(scope="module", params=["gpt-5.5", pytest.param("*", marks=pytest.mark.full)])
def found(
    request: pytest.FixtureRequest, published: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The answers of one target, or of all, decided again."""
    folder = tmp_path_factory.mktemp("published")
    for path in published.glob(f"{CASES}/*/*/{request.param}.json"):
        link = folder / path.relative_to(published)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return verify.verify_published_answers(folder, TWINS)


def test_nearly_all_answers_are_decided_and_mostly_as_published(found: dict[str, Any]) -> None:
    dialect, optimization = found["dialect_conversion"], found["sql_optimization"]
    assert dialect["decided"] >= 0.95 * dialect["eligible"] > 0
    assert optimization["decided"] >= 0.80 * optimization["eligible"] > 0
    for part in (dialect, optimization):  # one of the few answers of a single target may differ
        assert part["decided"] - part["agree"] <= max(1, 0.07 * part["decided"])
    for part in (dialect, optimization):
        for name in ("eligible", "decided", "agree"):
            assert part[name] == sum(counts[name] for counts in part["by_case"].values())
        assert len(part["disagreements"]) == part["decided"] - part["agree"]


def test_every_disagreement_has_its_proof(found: dict[str, Any]) -> None:
    for one in verify.list_disagreements(found):
        assert one["why"]
        assert one["decision"] != "different" or one["counterexample"]["tables"]


def test_the_decision_never_sees_a_published_verdict(published: Path) -> None:
    known = verify.read_twins(TWINS)
    mine = [
        (answer, twin)
        for answer in read_published_answers(published, "dialect_conversion", verify.INDICATOR)
        if (twin := verify.find_twin(answer, known))
    ][:6]
    turned = [
        (msgspec.structs.replace(answer, passed=not answer.passed), twin) for answer, twin in mine
    ]
    decisions = []
    for group in (mine, turned):
        with EnginePool() as engines:
            asked = [verify.BlindAnswer(a.case_id, twin, str(a.answer)) for a, twin in group]
            decisions.append(verify.decide_all(Decider(engines.get), asked))
    assert decisions[0] == decisions[1]


def test_the_command_prints_one_line_of_json(
    found: dict[str, Any], published: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(verify, "verify_published_answers", lambda place, twins: found)
    out = tmp_path / "differences.jsonl"
    assert main.main(["verify", "scale", str(published), "--json", "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1
    told = json.loads(printed[0])
    assert {"answers", "eligible", "decided", "agree", "by_case"} <= set(told["sql_optimization"])
    assert len(out.read_text().splitlines()) == len(verify.list_disagreements(found))
    assert main.main(["verify", "scale", str(published)]) == 0
    assert "eligible answers decided" in capsys.readouterr().out


def test_a_folder_without_reports_is_said(tmp_path: Path, capsys: Any) -> None:
    assert main.main(["verify", "scale", str(tmp_path)]) == 2
    assert "evaluation_case_reports" in capsys.readouterr().err

"""SCALE's published scores against its own case reports, over the shared sample."""

from __future__ import annotations

import json

import pytest

from evalcore.exchange.scale import exporter
from evalcore.exchange.scale.forms import WEIGHTS, ScaleDataFolder, read_report
from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.exchange.scale.month_scan import (
    parse_claim,
    parse_indicator_scores,
    sum_indicator,
)
from evalcore.scoring.claims import recompute_claim
from evalcore.store.run_folder import find_run
from tests.support.boards import settings_in
from tests.support.shared_data import shared_data

MONTH = "2026-06"
#: Model and capability: how the published score comes about; all that the sample has reports for.
READINGS = {
    ("gpt-5.5", "dialect_conversion"): "exact",
    ("gpt-5.5", "sql_optimization"): "exact",
    ("gpt-5.5", "sql_understanding"): "exact",
    ("qwen3.6-35b-a3b", "dialect_conversion"): "from_parts",
    ("qwen3.6-35b-a3b", "sql_optimization"): "exact",
    ("qwen3.6-35b-a3b", "sql_understanding"): "exact",
    ("sqlflash", "sql_optimization"): "configured_weights",
    ("sqlshift", "dialect_conversion"): "exact",
}


@pytest.fixture(scope="module")
def tree():
    return ScaleDataFolder(shared_data("scale") / "public" / "data")


def reports(tree):
    for model in tree.read_models(MONTH):
        for capability, claimed in model.scores.items():
            report = tree.find_report(MONTH, capability, model.id)
            if report is not None:
                indicators = read_report(report).indicators
                yield (
                    model.id,
                    capability,
                    claimed,
                    [sum_indicator(indicator) for indicator in indicators],
                )


def test_every_score_with_a_report_recomputes_or_is_explained(tree):
    readings = {
        (model, capability): recompute_claim(
            parse_claim(claimed), parts, WEIGHTS[capability]
        ).reading
        for model, capability, claimed, parts in reports(tree)
    }
    assert readings == READINGS


def test_every_indicator_score_recomputes(tree):
    different, count = [], 0
    for model, capability, claimed, parts in reports(tree):
        cases = {part.metric: part.score for part in parts}
        for metric, indicator_score in parse_indicator_scores(claimed).items():
            count += 1
            if cases[metric] != indicator_score:
                different.append((model, capability, metric))
    assert (count, different) == (30, [])


def test_the_claim_put_together_by_hand_is_named_with_both_numbers(tree):
    [(claimed, parts)] = [
        (claimed, parts)
        for model, capability, claimed, parts in reports(tree)
        if (model, capability) == ("qwen3.6-35b-a3b", "dialect_conversion")
    ]
    claim = recompute_claim(parse_claim(claimed), parts, WEIGHTS["dialect_conversion"])
    assert (claim.claimed, claim.own) == (70.8, 70.9)


def test_the_folder_has_all_rows_of_the_month(tree):
    assert tree.months == [MONTH]
    assert len(tree.read_models(MONTH)) == 37


def plain(report):
    """The rows of a case report, their cases decoded, without what its client noted in them."""
    rows = []
    for item in report:
        for case in item["case_datas"]:
            content = {k: v for k, v in json.loads(case["case_content"]).items() if k[0] != "_"}
            rows.append((item["indicator_name"], case | {"case_content": content}))
    return rows


def test_a_published_report_comes_back_from_an_import_and_an_export(tree, tmp_path):
    settings = settings_in(tmp_path)
    import_scale_tree(tree.root, settings, progress=lambda line: None)
    for name in {model for model, _ in READINGS}:
        out = tmp_path / "out"
        done = exporter.export_scale_run(find_run(f"scale-{MONTH}-{name}", settings.run_roots), out)
        reports = [path for path in done.files if path.startswith("evaluation_case_reports/")]
        for path in reports:
            ours, theirs = (json.loads((root / path).read_text()) for root in (out, tree.root))
            assert plain(ours) == plain(theirs)
        [row] = [m for m in tree.read_models(MONTH) if m.id == name]
        [back] = [m for m in ScaleDataFolder(out).read_models(MONTH) if m.id == name]
        assert back.organization == row.organization
        for capability, score in back.scores.items():  # what was put together by hand is put right
            by_hand = READINGS[name, capability] == "from_parts"
            claimed = row.scores[capability].ability_score
            assert score.ability_score == (70.9 if by_hand else claimed)

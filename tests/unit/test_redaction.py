"""Gated cases: none of their texts leaves the queries unless a setting allows it."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.catalog import benchmark_card
from evalcore.i18n import translate_note
from evalcore.records import Episode, Failure, Sample, Section, Verdict
from evalcore.views.cases import (
    HIDDEN,
    CaseFilter,
    bare_episode,
    bare_verdict,
    case_page,
    case_view,
    gated_cases,
    is_gated,
)
from evalcore.views.methodology import list_first_prompts
from tests.support import agentic_runs
from tests.support.agentic_runs import GAIA_RUN, GATED, SECRETS
from tests.support.boards import settings_in


@pytest.fixture
def settings(tmp_path):
    made = settings_in(tmp_path)
    agentic_runs.gaia(made, "right", GATED)
    return made


def view(settings, case=GATED, metric="level_2", **more):
    return case_view(settings.run_roots, GAIA_RUN, metric, case, **more)


def serialize_view(value):
    """All that a record holds, as text."""
    return msgspec.json.encode(value).decode().lower()


def secrets_in(text):
    return [word for word in SECRETS if word in text.lower()]


def test_the_case_holds_the_words_that_are_to_be_hidden(settings):
    assert sorted(secrets_in(serialize_view(view(settings, show_gated=True)))) == sorted(SECRETS)


def test_a_gated_case_comes_without_a_word_of_it(settings):
    result = view(settings)
    assert result.hidden
    assert secrets_in(serialize_view(result)) == []
    assert (result.sample.input, result.sample.reference) == ({}, {})
    assert result.sample.meta == {"gated": True}
    assert result.episode.messages == ()
    assert (result.verdict.note, result.verdict.evidence) == ("", ())


def test_what_was_measured_stays(settings):
    result, whole = view(settings), view(settings, show_gated=True)
    assert not whole.hidden
    for name in ("metric", "id", "outcome", "score", "reason", "evidence_kind", "views"):
        assert getattr(result.verdict, name) == getattr(whole.verdict, name)
    assert result.verdict.details["extraction"] == "final_answer"
    assert "answer" not in result.verdict.details
    assert result.episode.latency == 2.5
    assert (result.sample.id, result.sample.difficulty) == (GATED, 1)


def test_another_case_of_the_same_run_is_whole(settings):
    result = view(settings, "right", "level_1")
    assert not result.hidden
    assert result.sample.reference["answer"] == "17"


def test_what_a_provider_repeats_in_an_error_is_left_out():
    failure = Failure("permanent", "your prompt 'zebrawood' is refused", status=400, attempts=2)
    bare = bare_episode(Episode(key="k", epoch=0, failure=failure))
    assert bare.failure == Failure("permanent", "", status=400, attempts=2)


def test_details_and_evidence_of_any_scorer_are_left_out():
    verdict = Verdict(
        metric="m",
        id="1",
        outcome="failed",
        score=0.0,
        note="zebrawood",
        details={"predicted": "zebrawood", "truth": 17, "tool_calls": 3},
        evidence=(Section("text", "answer", "zebrawood"),),
    )
    bare = bare_verdict(verdict)
    assert bare.details == {"tool_calls": 3}
    assert "zebrawood" not in serialize_view(bare)


@pytest.mark.parametrize(("meta", "hidden"), [({}, False), ({"gated": False}, False)])
def test_only_what_is_marked_is_gated(meta, hidden):
    assert is_gated(Sample(metric="m", id="1", input={}, meta=meta)) is hidden


def test_tables_of_cases_hide_the_notes_and_say_so(settings):
    cases, count = case_page(settings.run_roots, GAIA_RUN, CaseFilter())
    assert (count, list(cases["id"])) == (2, ["right", GATED])
    assert list(cases["note"]) == ["", HIDDEN]
    assert secrets_in(cases.to_csv()) == []
    assert list(cases["outcome"]) == ["passed", "failed"]
    shown, _ = case_page(settings.run_roots, GAIA_RUN, CaseFilter(), show_gated=True)
    assert secrets_in(shown.to_csv()) == ["hollyhock"], "the note quotes the answer"


@pytest.mark.parametrize("text", ["hollyhock", "another text", "HOLLY"])
def test_hidden_notes_cannot_be_guessed_by_searching(settings, text):
    hidden = case_page(settings.run_roots, GAIA_RUN, CaseFilter(text=text))
    shown = case_page(settings.run_roots, GAIA_RUN, CaseFilter(text=text), show_gated=True)
    assert (hidden[1], len(hidden[0])) == (0, 0)
    assert shown[1] == 1


def test_a_search_still_finds_ids_page_by_page(settings):
    where = CaseFilter(text=GATED[:8].upper())
    result, count = case_page(settings.run_roots, GAIA_RUN, where)
    assert (count, list(result["id"])) == (1, [GATED])
    assert result["note"][0] == HIDDEN
    later, count = case_page(settings.run_roots, GAIA_RUN, where, offset=1)
    assert (count, len(later)) == (1, 0)
    both, count = case_page(settings.run_roots, GAIA_RUN, CaseFilter(text="i", outcome=("passed",)))
    assert (count, list(both["id"])) == (1, ["right"])


def test_prompts_of_gated_cases_are_not_told(settings):
    card = benchmark_card("gaia")
    prompts = {
        first_prompt.metric: first_prompt
        for first_prompt in list_first_prompts(settings.run_roots, GAIA_RUN, card)
    }
    assert prompts["level_1"].messages
    assert (prompts["level_2"].hidden, prompts["level_2"].messages) == (True, ())
    whole = list_first_prompts(settings.run_roots, GAIA_RUN, card, show_gated=True)
    assert not any(item.hidden for item in whole)


def test_the_sentence_in_place_of_a_text_is_told_in_chinese():
    assert translate_note(HIDDEN, "en") == HIDDEN
    assert "show_gated" in translate_note(HIDDEN, "zh") != HIDDEN


def test_a_run_without_gated_cases_is_not_decoded_for_them(tmp_path):
    settings = settings_in(tmp_path)
    folder = agentic_runs.swe(settings, "resolved")
    assert gated_cases(folder) == frozenset()

"""Decide questions about a product on the engine that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from evalcore.i18n import Note
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.product_features import (
    find_output_name_in_having,
    find_product_refusal,
    missing_feature,
)
from evalcore.sqlkit.products import (
    Profile,
    Untranslatable,
    find_profile,
    translate_rows,
    translate_statement,
)

#: Features whose name is another function's in the stand-in.
_UNREADABLE = frozenset(("DECODE",))

Decide = Callable[[EquivalenceQuestion, str], Equivalence]


def decide_on_stand_in(
    decider: Decider, question: EquivalenceQuestion, answer: str, title: str, version: str = ""
) -> Equivalence:
    """Decide for the product `title`, through its profile unless the engine is the product itself.

    Raises what opening the engine raises.
    """
    engine_version = decider.read_engine_version(question) if title else ""
    profile = find_profile(title, version, engine_version)
    if profile is None:
        return decider.decide(question, answer)
    return decide_for_product(decider.decide, question, answer, profile, engine_version)


def read_on_stand_in(
    decider: Decider, question: EquivalenceQuestion, answer: str, title: str, version: str = ""
) -> tuple[EquivalenceQuestion, str]:
    """Question and answer in the words of the engine, such as for counting work; as they are where
    they cannot be said in them. Raises what opening the engine raises."""
    engine_version = decider.read_engine_version(question) if title else ""
    profile = find_profile(title, version, engine_version)
    if profile is None:
        return question, answer
    try:
        translated = translate_question(question, profile, engine_version)
        readings = translate_statement(answer, profile, translated.schema, engine_version)
    except Untranslatable:
        return question, answer
    return translated, readings[0]


def decide_for_product(
    decide: Decide,
    question: EquivalenceQuestion,
    answer: str,
    profile: Profile,
    engine_version: str,
) -> Equivalence:
    """The decision for a product: `question` and `answer` are in its own words.

    What the product refuses is an error, unless the question itself uses it; what it has and its
    substitute lacks leaves the question undecided. Where an answer has several readings, each has
    to be equivalent. An answer that fails in spite of a feature which the product may lack fails
    in either case; one that is equivalent by it stays undecided.
    """
    refusal = _find_refusal(answer, profile, question.schema)
    if refusal and not _find_refusal(question.reference, profile, question.schema):
        return Equivalence(status="error", cause="product_refuses", message=refusal)
    try:
        translated = translate_question(question, profile, engine_version)
        readings, doubtful = _read_answer(answer, profile, translated.schema, engine_version)
    except Untranslatable as feature:
        return _build_undecided(str(feature), question, profile)
    decision = _decide_readings(decide, translated, readings)
    if doubtful and decision.status == "equivalent":
        return _build_undecided(doubtful, question, profile)
    failed, message = (answer, decision.message) if decision.status == "error" else ("", "")
    if decision.cause == "reference_fails":
        failed, message = question.reference, decision.message
    feature_name = missing_feature(failed, profile.title, message) if failed else ""
    if feature_name:
        return _build_undecided(feature_name, question, profile)
    stand_in = f"{profile.engine} {engine_version}"
    return msgspec.structs.replace(decision, product=profile.title, stand_in=stand_in)


def _find_refusal(sql: str, profile: Profile, schema: tuple[str, ...]) -> str:
    """Why the product is sure to refuse a statement, "" if nothing says so."""
    refusal = find_product_refusal(sql, profile.title, schema)
    if refusal or profile.names_outputs:
        return refusal
    name = find_output_name_in_having(sql, schema)
    feature = f"HAVING {name}"
    return Note("product_refuses", title=profile.title, feature=feature) if name else ""


def _read_answer(
    answer: str, profile: Profile, schema: tuple[str, ...], engine_version: str
) -> tuple[tuple[str, ...], str]:
    """The readings of an answer as if the product had all that it may have, and the first feature
    that it may lack, "" if there is none. Raises Untranslatable."""
    try:
        return translate_statement(answer, profile, schema, engine_version), ""
    except Untranslatable as feature:
        if str(feature) not in profile.uncertain - _UNREADABLE:
            raise
        has_all = msgspec.structs.replace(profile, uncertain=profile.uncertain & _UNREADABLE)
        return translate_statement(answer, has_all, schema, engine_version), str(feature)


@lru_cache(maxsize=256)
def translate_question(
    question: EquivalenceQuestion, profile: Profile, engine_version: str
) -> EquivalenceQuestion:
    """Translate a question into the engine's dialect; raises Untranslatable."""

    def translate(sql: str, schema: tuple[str, ...] = ()) -> str:
        return translate_statement(sql, profile, schema, engine_version)[0]

    tables = tuple(map(translate, question.schema))
    return msgspec.structs.replace(
        question,
        schema=tables,
        session=profile.session,
        reference=translate(question.reference, tables),
        data=tuple(tuple(translate_rows(s, profile) for s in script) for script in question.data),
        calls=tuple(translate(call, tables) for call in question.calls),
        empty_is_null=profile.empties,
    )


def _decide_readings(
    decide: Decide, question: EquivalenceQuestion, readings: tuple[str, ...]
) -> Equivalence:
    """The first decision that is not equivalent, else the least that all of them rest on."""
    decision = decide(question, readings[0])
    for reading in readings[1:]:
        if decision.status != "equivalent":
            return decision
        other = decide(question, reading)
        if other.status != "equivalent" or other.level != "proved":
            decision = other
    return decision


def _build_undecided(feature: str, question: EquivalenceQuestion, profile: Profile) -> Equivalence:
    code = "exec_product_feature" if profile.connects else "exec_product_alone"
    note = Note(code, feature=feature, title=profile.title, engine=question.engine)
    return Equivalence(
        status="undecided", cause="product_feature", message=note, product=profile.title
    )

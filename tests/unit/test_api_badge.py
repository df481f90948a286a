"""Badges: the numbers of the board, valid SVG, and nothing in it that runs or loads anything."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from evalcore.views import boards, stored_boards
from evalcore.web.badge import Badge, render_badge_svg
from tests.support.api import HOSTILE, client, fill
from tests.support.boards import Plan, make_run
from tests.support.pages import store as store

PATH = "/api/v1/badge.svg"
NAMES = {"svg", "title", "rect", "path", "g", "text"}


@pytest.fixture
def api(store):
    fill(store)
    return client()


def parsed(text):
    """The document, which must hold only shapes and texts, none of them active."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in NAMES
        assert not [
            name for name in element.attrib if name.lower().startswith("on") or "href" in name
        ]
    return root


def badge_message(api, **args):
    answer = api.get(PATH, params=args)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/svg+xml"
    root = parsed(answer.text)
    return root.attrib["aria-label"], root


def test_a_ranked_target_has_the_numbers_of_the_board(api, store):
    board = boards.list_boards(stored_boards.load_run_headers(store), "sql")[0]
    frame = stored_boards.board_ranking(store, board)
    row = frame[frame["identity"] == "openai:strong"].iloc[0]
    label, root = badge_message(api, target="openai:strong")
    low, high = row["rank_low"], row["rank_high"]
    rank = f"{low}–{high}" if low != high else f"{row['rank']}"
    score = f"{row['score']:.1f} [{row['low']:.1f}–{row['high']:.1f}]"
    assert label == f"SQL understanding: {score} · rank {rank} of 3"
    assert [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")] == [
        "SQL understanding",
        f"{score} · rank {rank} of 3",
    ]


def test_a_badge_speaks_chinese(api):
    label, _ = badge_message(api, target="openai:strong", lang="zh", benchmark="sql_understanding")
    assert "名，共 3 个" in label
    assert re.search(r"[\u4e00-\u9fff]", label.split(":")[0])


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("openai:nosuch", "not on this board"),
        ("openai:broken", "incomplete"),
        ("control:null", "control"),
    ],
)
def test_without_a_rank_it_says_why_in_grey(api, target, words):
    label, root = badge_message(api, target=target)
    assert words in label
    assert "rank" not in label
    ranked = badge_message(api, target="openai:strong")[1]
    fill = "{http://www.w3.org/2000/svg}rect"
    assert root.find(fill).attrib["fill"] != ranked.find(fill).attrib["fill"]


@pytest.mark.parametrize(
    "args", [{"benchmark": "bfcl"}, {"suite": "agentic"}, {"board": "nosuch"}, {"board": "\x00"}]
)
def test_another_board_does_not_know_the_target(api, args):
    assert "not on this board" in badge_message(api, target="openai:strong", **args)[0]


def test_a_further_board_has_its_own_badge(api, store):
    make_run(store, Plan(target="openai:strong", cases=5, skill=1, dataset="mine"), "mine")
    key = boards.list_boards(stored_boards.load_run_headers(store), "sql")[1].key
    assert ": 100.0" in badge_message(api, target="openai:strong", board=key)[0]
    assert ": 100.0" not in badge_message(api, target="openai:strong")[0]


def test_an_empty_store_has_a_badge(store):
    assert badge_message(client(), target="x")[0] == "Evalboard: not on this board"


def test_a_hostile_target_is_found_and_its_name_stays_out(api):
    answer = api.get(PATH, params={"target": HOSTILE})
    assert "rank" in parsed(answer.text).attrib["aria-label"]
    assert "script" not in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '" onload="alert(1)',
        "]]></title><image href='http://evil.invalid/x'/>",
        "&lt; &amp; &#60; &evil;",
        "\x00\x08\x1b[31m\u202eabc\u2066\ufffe\uffff\udc80",
        "名" * 300,
        "x" * 5000,
    ],
)
def test_any_text_gives_valid_xml_of_a_bounded_size(text):
    made = render_badge_svg(Badge(label=text, value=text))
    root = parsed(made)
    assert len(made.encode()) < 8000
    assert int(root.attrib["width"]) < 1500
    assert not set(root.attrib["aria-label"]) & {"\u202e", "\u2066"}

"""Every text exists in every language, with the same placeholders, and every text in use exists."""

from __future__ import annotations

import importlib
import io
import json
import re
import socket
import string
import zipfile
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from evalcore.benchmarks import answer_scoring
from evalcore.benchmarks.sql_understanding import answers
from evalcore.catalog import benchmark_cards, target_kinds
from evalcore.i18n import (
    DEFAULT,
    LANGUAGES,
    Note,
    language_for_locale,
    load_catalogue,
    lookup_text,
    t,
    translate_note,
)
from evalcore.records import Failure

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
#: A call of the translator with a text key as it stands, or one that is made from a value.
USED = re.compile(r"""\b(?:tr|t)\(\s*(f?)"([a-z_]+\.[^"]+)\"""")


def source(path: Path) -> str:
    """The code with one kind of quotes, since a key inside an f-string has the other."""
    return path.read_text(encoding="utf-8").replace("'", '"')


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (
            lambda: msgspec.json.decode(b'{"a": "x"}', type=dict[str, int]),
            "应为 `int`，而不是 `str`",
        ),
        (lambda: msgspec.convert({"b": 1}, Failure), "缺少必需的字段 `kind`"),
        (lambda: msgspec.convert("x", Literal["a"]), "不允许的取值 'x'"),
        (lambda: msgspec.json.decode(b"["), "数据在中途截断"),
        (lambda: msgspec.json.decode(b"[x]"), "不是有效的 JSON"),
        (lambda: b"a\xff".decode(), "第 1 字节（0xff）不是有效的 utf-8 编码：无效的起始字节"),
        (lambda: b"\xe4\xb8".decode(), "第 0-1 字节不是有效的 utf-8 编码：数据提前结束"),
        (lambda: socket.getaddrinfo("", None, flags=socket.AI_NUMERICHOST), "无法解析该主机名"),
        (lambda: importlib.import_module("no_such"), "没有名为 'no_such' 的模块"),
    ],
)
def test_what_readers_say_of_an_error_is_translated(read, said):
    with pytest.raises(Exception) as caught:
        read()
    note = Note("located", location="FILE", problem=caught.value)
    assert said in translate_note(note, "zh")
    assert str(caught.value) in translate_note(note, "en")


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != DEFAULT])
def test_both_languages_have_the_same_keys_and_placeholders(language):
    ours, theirs = load_catalogue(DEFAULT), load_catalogue(language)
    assert set(ours) ^ set(theirs) == set()
    different = {key for key in ours if placeholders(ours[key]) != placeholders(theirs[key])}
    assert different == set()
    assert [key for key, text in theirs.items() if not text.strip()] == []


def test_every_key_that_the_pages_name_exists():
    catalogues = set(load_catalogue(DEFAULT))
    missing = []
    for path in SOURCES:
        for made, key in USED.findall(source(path)):
            pattern = re.sub(r"\\{[^}]*\\}", ".+", re.escape(key)) if made else re.escape(key)
            if not any(re.fullmatch(pattern, name) for name in catalogues):
                missing.append(f"{path.name}: {key}")
    assert missing == []


#: Areas in which the last part of a key is data, such as a field of a form or the title of a
#: section of evidence; a word for it stands anywhere in the code.
DATA_AREAS = frozenset(
    {
        *(
            "badge",
            "common",
            "datasets",
            "decide",
            "equivalent",
            "launch",
            "methodology",
            "section",
            "term",
        ),
        *("submit", "target.view_name", "case.flag"),
    }
)
#: Areas of benchmarks, whose texts go by the benchmark's own name.
BENCHMARK_AREAS = frozenset({"bfcl", "gaia", "swe_bench", "tau_bench", "tau2_bench"})
CODE = [
    *SOURCES,
    *(ROOT / "evalcore").rglob("*.py"),
    *(ROOT / "pages" / "static").glob("*.html"),
    *(ROOT / "evalcore" / "exchange" / "site").rglob("*.html"),
    *(ROOT / "evalcore" / "exchange" / "site").rglob("*.js"),
]
WORD = re.compile(r"[\"'`]([A-Za-z_0-9.:/ -]+)[\"'`]")
MADE = re.compile(
    r"f\"([a-z_0-9]+\.[^\"\s]*\{[^\"]*)\"|f'([a-z_0-9]+\.[^'\s]*\{[^']*)'"
    r"|`([a-z_0-9]+\.[^`\s]*\$\{[^`]*)`"
)
JOINED = re.compile(r"\"([a-z_0-9]+\.[A-Za-z_0-9.]*)\" ~ [a-z._]+(?: ~ \"([^\"]*)\")?")
VALUE = re.compile(r"\$?\{[^{}]*(?:\{[^{}]*\})*[^{}]*\}")


def list_made_keys(text: str) -> set[str]:
    """The keys that a file makes of values, with {} for each."""
    made = {VALUE.sub("{}", "".join(groups)) for groups in MADE.findall(text)}
    made |= {f"{start}{{}}{end}" for start, end in JOINED.findall(text)}
    return {pattern for pattern in made if " " not in pattern}


def match_made_key(pattern: str, key: str, own: set[str], everywhere: set[str]) -> bool:
    """Whether a made key can be this one: where nothing but the area is fixed, the rest has to be a
    word of the same file, or in an area of data of any."""
    match = re.fullmatch("(.+)".join(map(re.escape, pattern.split("{}"))), key)
    if match is None:
        return False
    area, _, rest = pattern.partition(".")
    if "." in rest or not rest.startswith("{}"):
        return True
    words = everywhere if area in DATA_AREAS else own
    return all(value in words or value.split(".")[0] in words for value in match.groups())


def test_every_text_is_used():
    """A text is used where its key stands, or where it can be made of a value."""
    texts = [path.read_text("utf-8") for path in CODE]
    words = [set(WORD.findall(text)) for text in texts]
    everywhere = set().union(*words)
    made = [
        (pattern, own)
        for text, own in zip(texts, words, strict=True)
        for pattern in list_made_keys(text)
    ]
    unused = [
        key
        for key in load_catalogue(DEFAULT)
        if key.split(".")[0] not in BENCHMARK_AREAS | {"note"}
        and key not in everywhere
        and key.removesuffix("_title") not in everywhere
        and key.rpartition(".")[0] not in everywhere | DATA_AREAS
        and not any(match_made_key(pattern, key, own, everywhere) for pattern, own in made)
    ]
    assert unused == []


def test_cards_have_titles_in_every_language():
    for card in benchmark_cards().values():
        for title in (card.title, *(metric.title for metric in card.metrics)):
            assert set(title) >= set(LANGUAGES)
    for kind in target_kinds().values():
        assert set(kind.title) >= set(LANGUAGES)


def test_a_hostile_value_is_never_a_template():
    text = t("runs.not_found", "en", run="{0.__class__} {run}")
    assert "{0.__class__} {run}" in text


def test_an_unknown_key_is_an_error_and_lookup_says_none():
    with pytest.raises(KeyError, match=r"launch\.nothing"):
        t("launch.nothing", "en")
    assert lookup_text("section.never_heard_of", "zh") is None


def test_an_unknown_language_reads_english():
    assert t("runs.title", "tlh") == t("runs.title", "en")


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("zh-CN", "zh"),
        ("zh", "zh"),
        ("zh_Hant_TW", "zh"),
        ("en-GB", "en"),
        ("de", "en"),
        (None, "en"),
    ],
)
def test_the_language_follows_the_browser(locale, language):
    assert language_for_locale(locale) == language


MESSAGE = [*answers._TABLE_NOTES.values(), *answer_scoring.NOTES.values(), "Wrong: steps, index."]


@pytest.mark.parametrize("sentence", MESSAGE)
def test_what_a_scorer_says_is_retold(sentence):
    assert translate_note(sentence, DEFAULT) == sentence
    note = translate_note(sentence, "zh")
    assert note != sentence
    assert not sentence.startswith("Wrong") or "steps, index" in note


def test_what_no_catalogue_knows_stands_as_it_is():
    assert translate_note("Wrong {fields} of x", "zh") == "Wrong {fields} of x"
    assert translate_note("Wrong: {fields}.", "zh") == "错误字段：{fields}。"


def test_a_sentence_inside_a_sentence_is_retold_too():
    text = "no call matches the expected call 1; nearest, call 2: the required city is missing"
    english = translate_note(text, DEFAULT)
    assert english.endswith("; the nearest is call 2: the required city is missing")
    assert translate_note(text, "zh").endswith("缺少必填参数 city")


@pytest.mark.parametrize(
    "text",
    ["", "[1 2]", '{"a" 1}', "{1: 2}", "1 2", '"a', '"\n"', r'"\u12"', "[1,]", '{"a": 1,}'],
)
def test_what_readers_of_json_say_has_chinese(text):
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert caught.value.msg.isascii()
    assert not translate_note(caught.value.msg, "zh").isascii()


def test_what_the_reader_of_archives_says_has_chinese():
    with pytest.raises(zipfile.BadZipFile) as caught:
        zipfile.ZipFile(io.BytesIO(b"text"))
    assert translate_note(str(caught.value), "zh") == "文件不是 ZIP 压缩包"

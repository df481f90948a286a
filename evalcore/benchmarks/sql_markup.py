"""What models wrap round SQL, taken off: thinking, code fences, tags, marks at lines.

Nothing here knows what a statement means; `sql_answer` chooses among what is unwrapped here. Every
pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalcore.benchmarks.sql_text import starts_like_sql


class Block(NamedTuple):
    """A marked piece of text with the words before it, or the name of its tag or field, the
    language that its fence names, and the words after that."""

    body: str
    before: str = ""
    language: str = ""
    after: str = ""


# Thinking in the tags, brackets and tokens of many models.

_THOUGHT = (
    r"(?:think|thinking|thoughts?|reasoning|scratch_?pad|analysis|reflection|inner_monologue"
    r"|chain_of_thought|antthinking)"
)
_THINKING = re.compile(
    rf"(?:<(?P<tag>/?(?:\w{{1,12}}:)?{_THOUGHT})(?:\s[^<>\n]{{0,200}})?>|\[(?P<bracket>/?{_THOUGHT})\]|◁(?P<triangle>/?think)▷"
    r"|<\|(?P<token>(?:begin|end)_of_thought)\|>|<\|channel>(?P<opens>thought)\b|(?P<closes><channel)\|>)",
    re.I,
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w{1,20})[^<\n]{0,60}<\|message\|>", re.I)
#: A prompt in a model's chat template, repeated up to where the model's own turn begins.
_REPEATED_PROMPT = re.compile(
    r"\A\s*(?:<\|?(?:im_start|start_header_id|start_of_turn)\|?>\s*(?:system|user)\b|<[|｜](?:system|user)[|｜]>)"
    r".*?(?:<\|?(?:im_start|start_header_id|start_of_turn)\|?>\s*(?:assistant|model)\b(?:<\|end_header_id\|>)?"
    r"|<[|｜]assistant[|｜]>)",
    re.I | re.S,
)
#: Where a model goes on with a turn of the user that it makes up.
_NEXT_TURN = re.compile(
    r"(?<=\S)\s*<[|｜]?(?:im_start\|>|start_header_id\|>|start_of_turn>)?(?:user|human)\b(?=[|｜\n<])",
    re.I,
)
_SPECIAL_TOKEN = re.compile(
    r"<\|/?\w{1,30}\|>|<fim_\w{3,10}>|<｜[^｜\n]{1,30}｜>|<(?:start|end)_of_turn>|\A\s*<s>|</s>\s*\Z"
)
_DONE_THINKING = re.compile(r"^[^\w\n]{0,20}done thinking[^\w\n]{0,20}$", re.I | re.M)


def strip_thinking(text: str) -> str:
    """The text without what a model thinks: closed blocks, all before a closing mark alone, all
    after an opening mark that begins a line and is never closed."""
    text = text[text.rfind("[/INST]") + 7 :] if "[/INST]" in text else text
    text = _REPEATED_PROMPT.sub("", text, count=1)
    channels = list(_CHANNEL.finditer(text))
    if channels:
        text = text[channels[-1].end() :] if channels[-1][1].lower() == "final" else ""
    done = list(_DONE_THINKING.finditer(text))
    text = text[done[-1].end() :] if done else text
    visible: list[str] = []
    start, opened, opened_name, other = 0, -1, "", 0
    for mark in _THINKING.finditer(text):
        name = (mark.group(mark.lastgroup or 0)).lower().replace("end_of", "/begin_of")
        name = "/thought" if mark["closes"] else name
        if not name.startswith("/"):
            if opened < 0 and text[mark.start() - 1 : mark.start()] not in ("'", '"', "`"):
                opened, opened_name = mark.start(), name
            continue
        if opened < 0:
            visible.clear()
        elif name != f"/{opened_name}":
            other = mark.end()
            continue
        else:
            visible.append(text[start:opened])
        start, opened = mark.end(), -1
    if 0 <= opened < other:  # closed by a tag of another name
        visible.append(text[start:opened])
        start, opened = other, -1
    line = text[text.rfind("\n", 0, opened) + 1 : opened] if opened >= 0 else ""
    visible.append(text[start:opened] if opened >= 0 and not line.strip() else text[start:])
    shown = "".join(visible)
    next_turn = _NEXT_TURN.search(shown)
    return _SPECIAL_TOKEN.sub("", shown[: next_turn.start()] if next_turn else shown)


# Marks at the beginnings of lines, and characters that stand for others.

_COMMENTS = r"--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
_HIDDEN = rf"{_COMMENTS}|'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"
_ODD = r"[（），；＝＜＞＊＇．０-９Ａ-Ｚａ-ｚ＿]|\\[*_<>]|‘[^‘’\n]{0,400}’"
_ODD_IN_PROSE = re.compile(f"{_HIDDEN}|{_ODD}")
#: Where all is SQL, quotes may span lines.
_ODD_IN_SQL = re.compile(rf"{_COMMENTS}|'[^']*'|\"[^\"]*\"|`[^`]*`|{_ODD}")
_WIDE_TO_ASCII = {code + 0xFEE0: code for code in range(33, 127)}
_WIDE_TO_ASCII |= str.maketrans("，‘’", ",''")
_ENTITY = re.compile(
    rf"{_HIDDEN}|&(?:lt|gt|amp|quot|apos|nbsp|#\d{{1,6}}|#x[0-9a-f]{{1,5}});", re.I
)
_ESCAPED_BREAK = re.compile(r"(?<!\\)(?:\\r\\n|\\[nrt](?![a-z]))")
_NUMBERED = re.compile(r"[ \t]*(\d{1,4})(?:[ \t]*[|│]|[:.)]|(?=[ \t]))[ \t]?(.*)")
_PROMPT = re.compile(
    r"[ \t]*(?:(?:mysql|mariadb|sqlite|sql|duckdb|postgres|psql)(?:\s?\[[\w() ]*\])?>"
    r"|[\w.]{1,40}(?:=[#>*]|(?<=\w)[#>](?=[ \t]+[A-Z]))|=[#>]|D(?=[ \t]+[A-Z])"
    r"|\d+:[ \t]*jdbc:[^>\n]{0,200}>|1>)[ \t]*(.*)",
    re.I,
)
_CONTINUED = re.compile(
    r"[ \t]*(?:->|\.\.\.>|\d{1,3}>"
    r"|[\w.]{0,40}[-('\"][#>]|'>|\">|`>|\.(?:[ \t]\.)+[ \t]*>|‣|·)[ \t]?(.*)"
)


def clean_lines(text: str) -> str:
    """The text without block quotes, line numbers, prompts of clients and what these printed."""
    text = _GLUED_LABEL.sub("", _WIDE_FENCE.sub("```", unescape_breaks(text)))
    if "~~" in text:
        text = _STRUCK_OUT.sub("", text)
    if len(_HARD_BREAK.findall(text)) >= 2:
        text = _HARD_BREAK.sub("\n", text)
    lines = _strip_prompts(_strip_block_quotes(_MARKED_LINES.sub(_strip_marks, text).split("\n")))
    return _apply_bare_diffs("\n".join(_strip_line_numbers(lines)))


def unescape_breaks(text: str) -> str:
    """A text that is one line with its escaped line breaks as such, any other as it is."""
    if "\n" in text:
        return text
    return _ESCAPED_BREAK.sub(lambda m: "\t" if m[0] == "\\t" else "\n", text)


_MARKED_LINES = re.compile(
    r"(?m)^[ \t]*(?P<mark>\*\*|`)(?![*`])[^`*\n]+(?P=mark)[ \t\\]*"
    r"(?:\n[ \t]*(?P=mark)[^`*\n]+(?P=mark)[ \t\\]*)+$"
)


def _strip_marks(run: re.Match[str]) -> str:
    """A statement each line of which is marked; several statements stay apart."""
    lines = [line.strip(" \t\\").strip(run["mark"]) for line in run[0].split("\n")]
    words = [line.split(None, 1)[0].upper() for line in lines if line.strip()] or [""]
    return "\n".join(lines) if starts_like_sql(lines[0]) and words.count(words[0]) == 1 else run[0]


_GLUED_LABEL = re.compile(r"\A(?:sql|mysql|postgres(?:ql)?|tsql|plsql)(?=[A-Z]{4})")
_WIDE_FENCE = re.compile(r"^[ \t]*｀{3,}", re.M)
_HARD_BREAK = re.compile(r"(?<=[\w,();'])[ \t]*\\\n")
_STRUCK_OUT = re.compile(r"(?<![~\w])~~(?=[^\s~])[^~\n]{1,4000}~~(?![~\w])")
_BARE_DIFF = re.compile(r"(?:\A|(?<=\n\n))(?:[-+](?!--)|@@)[^\n]*(?:\n[-+ @][^\n]*)+")


def _apply_bare_diffs(text: str) -> str:
    """The text with paragraphs that are a diff of statements as what the diff leaves."""

    def replace(run: re.Match[str]) -> str:
        lines = run[0].split("\n")
        begins = {line[:1] for line in lines if starts_like_sql(line[1:].strip())}
        if not {"+", "-"} <= begins:
            return run[0]
        return "\n".join(line[1:] for line in lines if line[:1] in "+ ")

    return _BARE_DIFF.sub(replace, text)


def clean_punctuation(text: str, *, is_sql: bool) -> str:
    """The text with full-width and escaped punctuation outside of quotes as plain."""
    return (_ODD_IN_SQL if is_sql else _ODD_IN_PROSE).sub(_to_ascii, text)


def _to_ascii(match: re.Match[str]) -> str:
    if match[0].startswith("\\"):
        return match[0][1:]
    hidden = match[0][0] in "-/'\"`"
    return match[0] if hidden else match[0].translate(_WIDE_TO_ASCII)


def _strip_block_quotes(lines: list[str]) -> list[str]:
    """Only runs of quoted lines after a blank line or words: an operator may begin a line of SQL,
    too."""
    cleaned: list[str] = []
    quoted = False
    for number, line in enumerate(lines):
        bare = line.lstrip()
        begins = number == 0 or not lines[number - 1].strip() or lines[number - 1][-1:] in ":：.。"
        follows = number + 1 < len(lines) and lines[number + 1].lstrip().startswith(">")
        quoted = bare.startswith(">") and (quoted or begins or follows)
        cleaned.append(bare.lstrip(">").removeprefix(" ") if quoted else line)
    return cleaned


def _strip_line_numbers(lines: list[str]) -> list[str]:
    """Numbers that count up from a line that begins like SQL."""
    cleaned: list[str] = []
    due = -1
    for line in lines:
        match = _NUMBERED.fullmatch(line)
        number = int(match[1]) if match else -1
        begins = (
            match and number <= 1 and (starts_like_sql(match[2]) or match[2][:2] in ("--", "/*"))
        )
        if match and (number == due or begins):
            cleaned.append(match[2])
            due = number + 1
        else:
            cleaned.append(line)
            due = -1 if line.strip() else due
    return cleaned


#: What makes a client send a statement to its server.
_SENT = re.compile(r"(?:[;/]|\\G|^[ \t]*GO)[ \t]*\Z", re.I)


def _strip_prompts(lines: list[str]) -> list[str]:
    """What was typed at the prompts of clients; what these printed is left out. A semicolon in a
    body within dollars sends nothing."""
    cleaned: list[str] = []
    typing = session = False
    number, dollars = 2, 0
    for line in lines:
        prompt = _PROMPT.fullmatch(line)
        if prompt and starts_like_sql(prompt[1]):
            typing = session = True
            number, dollars = 2, 0
            cleaned.append(prompt[1])
        elif session and line.lstrip().startswith("```"):
            typing = session = False
            cleaned.append(line)
        elif typing and (more := _CONTINUED.fullmatch(line)):
            cleaned.append(more[1])
        elif typing and (more := _NUMBERED.fullmatch(line)) and int(more[1]) == number:
            cleaned.append(more[2])
            number += 1
        elif not session or (typing and (dollars % 2 or not _SENT.search(cleaned[-1]))):
            cleaned.append(line)
        else:
            typing = False
            cleaned.append("")
            continue
        dollars += cleaned[-1].count("$$")
        typing = typing and (dollars % 2 == 1 or not _SENT.search(cleaned[-1]))
    return cleaned


def unescape_entities(text: str) -> str:
    """HTML entities decoded, where some stand outside of what SQL quotes: a literal may hold
    them."""
    if not any(match[0].startswith("&") for match in _ENTITY.finditer(text)):
        return text
    text = re.sub(r"&amp;(?=(?:lt|gt|amp|quot|apos|#\d{1,6});)", "&", text)  # escaped twice
    return html.unescape(text).replace("\u00a0", " ")


def apply_diff(body: str, language: str = "") -> str:
    """Return the added and unchanged lines of a diff; any other text as it is, unless its fence
    calls it a diff."""
    lines = [
        line for line in body.split("\n") if not re.match(r"@@|--- |\+\+\+ |diff |index ", line)
    ]
    marks = {line[:1] for line in lines if line.strip()}
    sql_comments = [line for line in lines if line.startswith("--")]
    is_named = language == "diff" and bool({"+", "-"} & marks)
    if not (is_named or {"+", "-"} <= marks) or marks - {"+", "-", " "} or sql_comments:
        return body
    return "\n".join(line[1:] for line in lines if not line.startswith("-"))


# Code fences.

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)$|(?<=[^`\s])(?P<glued>`{3,})[ \t]*$", re.M)
_GLUED = r"(?-i:[a-z]+(?=[A-Z]{4}))"  # a language without a break before the statement
_NESTED = re.compile(r"[ \t]*(?:markdown|md|text)?[ \t]*", re.I)


def split_fences(text: str) -> tuple[list[Block], str]:
    """The bodies of code fences with the words before each, and the text with its fences cut out.

    A fence ends at a line of as many marks of its kind; an open one ends with the text. A fence
    called markdown holds fences itself.
    """
    blocks: list[Block] = []
    prose: list[str] = []
    end, opened, before = 0, None, ""
    for mark in _FENCE.finditer(text):
        if mark["glued"] and (
            opened is None
            or opened[1] != mark["glued"]
            or "```" in text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
        ):
            continue
        if opened is None:
            prose.append(text[end : mark.start()])
            before = (before + prose[-1])[-400:]
            end = mark.end()
            named = "" if starts_like_sql(mark[2]) else rf"(?:{_GLUED}|\w*[ \t]+)?"
            closed = re.match(rf"[ \t]*{named}(.+?)[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*$", mark[2])
            if closed is not None:
                blocks.append(Block(closed[1], before))
                prose.append("\n")
                before += "\n"
            else:
                opened = mark
                word = re.match(rf"[ \t]*(?:{_GLUED}|\w+[ \t]+)?(?=\w+(?:[ \t(]|$))", mark[2])
                if word and starts_like_sql(mark[2][word.end() :]):
                    end = mark.start(2) + word.end()  # no line break before the statement
        elif mark["glued"] or (mark[1].startswith(opened[1]) and not mark[2].strip()):
            inner = _fence_blocks(opened[2], text[end : mark.start()], before)
            after = text[mark.end() : mark.end() + 160].strip()
            blocks += [block._replace(after=block.after or after) for block in inner]
            prose.append("\n")
            before += "\n"
            end, opened = mark.end(), None
    if opened is not None:
        blocks += _fence_blocks(opened[2], text[end:], before)
    else:
        prose.append(text[end:])
    return blocks, "".join(prose)


def _fence_blocks(info: str, body: str, before: str) -> Iterator[Block]:
    if re.match(rf"[ \t]*{_THOUGHT}\b", info, re.I):
        return
    if _NESTED.fullmatch(info) and _FENCE.search(body):
        yield from split_fences(body)[0]
    elif body.strip():
        named = re.match(r"\W*([\w+-]*)", info)
        language = named[1] if named else ""
        yield Block(apply_diff(body.strip("\n"), language).strip(), before, language)


# Tags, brackets and quotes round code in prose.

_TOOL_TURN = re.compile(
    r"<(?P<turn>tool_call|tool_response|tool_result|function_calls?|function_results?)>.*?</(?P=turn)>",
    re.I | re.S,
)


def drop_tool_turns(text: str) -> str:
    """The text without closed calls of tools and what these returned."""
    return _TOOL_TURN.sub("\n", text) if "</" in text else text


_CODE_NAME = (
    r"sql|answer|final|query|quer|output|result|pre|code|statement|response|solution|script"
)
_TAG = re.compile(r"<(?P<tag>[a-z\u4e00-\u9fff][\w:.-]{0,40})(?:\s[^<>\n]{0,300})?>", re.I)
_PAIRED = re.compile(
    # tags in brackets, the boxes of LaTeX, quotes, the text of a link, a fence on one line
    r"\[(?P<bracket>sql|code|answer|result|query|output|final|oracle|mysql|sqlite|postgres\w{0,3})"
    r"(?:=\w{1,20})?\](?P<in_bracket>.*?)(?:\[/(?P=bracket)\]|\Z)"
    r"|\\(?:boxed\{(?:\\(?:text|texttt|mathtt|verb|mathrm)\{)?|text(?:tt)?\{)"
    r"(?P<in_box>[^\n\\]{0,4000}?)\}{1,2}(?=[\s.$]|\Z)"
    r"|\[(?P<in_link>(?=[A-Z]{4})[^\n]{8,4000}?)\]\((?:https?:|#|/)[^()\s]{0,400}\)"
    r"|「(?P<in_corner>[^「」]*)」|『(?P<in_double_corner>[^『』]*)』|„(?P<in_low>[^„“”]*)[“”]|“(?P<in_curly>[^“”]*)”"
    r"|«(?P<in_angle>[^«»]*)»|《(?P<in_title>[^《》]*)》|\"{3}(?P<in_triple>.*?)\"{3}|'{3}(?P<in_single>.*?)'{3}"
    r"|`{3,}[ \t]*(?:\w+[ \t]+)?(?P<in_fence>[^`\n]{4,8000}?)[ \t]*`{3,}",
    re.I | re.S,
)
_LAYOUT_TAG = re.compile(
    r"'[^'\n]*'|<(/?)(br|p|div|li|ul|ol|tr|td|th|table|h[1-6]|hr|span|b|i|em|strong|u|body|html|tbody|thead"
    r"|section|blockquote|font|mark|small)(?:\s[^<>\n]{0,300})?/?>",
    re.I,
)
#: Tags round words about the code; any other name may be part of it (mapper files, XML).
_WORDS_NAME = re.compile(r"expla|note|comment|descri|summary|change|rational|reason|thought", re.I)
_INLINE_TAGS = frozenset(("span", "b", "i", "em", "strong", "u", "font", "mark", "small"))


def find_tagged_blocks(text: str) -> tuple[list[Block], str]:
    """What tags, brackets and quotes mark as code, with the name of the tag before it, and the text
    without its tags."""
    if "]]>" in text and not starts_like_sql(text):
        text = text.replace("<![CDATA[", "").replace("]]>", "")
    cells, text = _cut_table_cells(text)
    blocks, rest = _find_tags(text, 3) if "<" in text else ([], text)
    for pair in _PAIRED.finditer(rest):
        body = pair.group(pair.lastgroup or 0)
        if starts_like_sql(body) or pair["in_bracket"]:
            blocks.append(Block(body.strip(), rest[max(0, pair.start() - 400) : pair.start()]))
    return blocks + cells, rest


_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)+\|?[ \t]*")


def _unmark(cell: str) -> str:
    """A cell without the marks of code or emphasis round all of it."""
    marked = re.fullmatch(r"([`*]*)(.*)\1", cell)
    return marked[2].strip() if marked else cell


def read_table_row(head: Sequence[str], row: Sequence[str]) -> Iterator[Block]:
    """The statements in a row of a table, one with its short cells, several with their heads."""
    statements = [
        n for n, cell in enumerate(row) if len(cell.split()) > 2 and starts_like_sql(cell)
    ]
    labels = " ".join(c for n, c in enumerate(row) if n not in statements and len(c.split()) < 5)
    for n in statements:
        above = head[n] if n < len(head) else ""
        yield Block(drop_layout(row[n]), above if len(statements) > 1 else labels or above)


def _cut_table_cells(text: str) -> tuple[list[Block], str]:
    """The statements in the tables of a text, and the text without rows that no bar begins."""
    blocks: list[Block] = []
    prose: list[str] = []
    row, head, is_table = [""], [""], False
    for line in text.split("\n"):
        is_rule = _RULE.fullmatch(line) is not None
        head, row = row if is_rule else head, line.strip().strip("|").split(" | ")
        row = [_unmark(cell.strip()) for cell in row]
        is_table = " | " in line if is_table else is_rule
        if line.startswith("|") or (is_table and " | " in line):
            blocks += read_table_row(head, row)
        prose += [] if is_table and not line.startswith("|") else [line]
        is_table = is_table or is_rule
    return blocks, "\n".join(prose)


def _find_tags(text: str, depth: int) -> tuple[list[Block], str]:
    """Tags that name code or what it is; those of HTML's layout become line breaks."""
    blocks: list[Block] = []
    rest: list[str] = []
    end = 0
    missing: set[str] = set()
    lowered = text.lower()
    while (tag := _TAG.search(text, end)) is not None:
        name = tag["tag"].lower()
        named_code = re.search(_CODE_NAME, name) is not None
        is_layout = _LAYOUT_TAG.match(tag[0]) is not None
        closing = -1 if name in missing else lowered.find(f"</{name}>", tag.end())
        if closing < 0:
            missing.add(name)
        is_open_code = (
            closing < 0 and named_code and starts_like_sql(text[tag.end() : tag.end() + 2_000])
        )
        named_code = named_code or (
            not is_layout
            and closing >= 0
            and starts_like_sql(text[tag.end() : min(closing, tag.end() + 2_000)])
        )
        is_known = named_code or (closing >= 0 and _WORDS_NAME.search(name) is not None)
        if is_layout or not depth or not is_known or (closing < 0 and not is_open_code):
            rest.append(text[end : tag.end()])
            end = tag.end()
            continue
        rest.append(text[end : tag.start()])
        stop = len(text) if closing < 0 else closing
        body = text[tag.end() : stop]
        words = f"{text[max(0, tag.start() - 300) : tag.start()]} {name.replace('_', ' ')}"
        inner, left = _find_tags(body, depth - 1)
        fenced = split_fences(left)[0]
        if inner or fenced:
            blocks += inner + [Block(block.body, block.before + words) for block in fenced]
        elif named_code:
            blocks.append(Block(unescape_entities(drop_layout(body)).strip(), words))
        rest.append("\n")
        end = len(text) if closing < 0 else closing + len(name) + 3
    rest.append(text[end:])
    return blocks, drop_layout("".join(rest))


def drop_layout(text: str) -> str:
    """The text without HTML's tags of layout outside of literals: line breaks for what HTML shows
    on lines of their own."""

    def replace(tag: re.Match[str]) -> str:
        if tag[2] is None:  # a literal of SQL
            return tag[0]
        return "" if tag[2].lower() in _INLINE_TAGS else "\n"

    return _LAYOUT_TAG.sub(replace, text)


_MAX_INLINE = 40
_INLINE = re.compile(
    r"(?<!`)(`{1,2})(?!`)([^`\n]{1,4000}|(?<=``)(?:[^`\n]|`(?!`)){1,4000}?)\1(?!`)"
)


def find_inline_code(text: str) -> Iterator[Block]:
    """What stands between single or double backticks on a line."""
    for code in list(_INLINE.finditer(text))[-_MAX_INLINE:]:
        yield Block(code[2].strip(), text[max(0, code.start() - 200) : code.start()])

"""Reading the SQL of a free answer.

`strict` means the answer is the SQL and nothing else, as it was asked for; `lenient` means it had
to be taken out of prose. Candidates come from code fences, tags, JSON fields, inline code, labels
("Optimized SQL:", "转换后的SQL：") and bare text; prose after a statement is cut where the target
dialect parses what stands before it. Of several candidates the one that answers is read: not the
original quoted again, an alternative, an example of use or a suggested index; and of several that
are left the first, unless a later one is a step further, a correction, or holds it. EXPLAIN
output, JSON plans and prose are no SQL.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from evalcore.benchmarks import sql_fields, sql_markup, sql_roles, sql_text
from evalcore.benchmarks.answer_scoring import LIMIT, ExtractionKind
from evalcore.benchmarks.sql_choice import Candidate, Question, choose_candidate
from evalcore.benchmarks.sql_markup import Block
from evalcore.benchmarks.sql_prose import compile_pattern, looks_like_prose
from evalcore.benchmarks.sql_roles import ASIDE
from evalcore.benchmarks.sql_text import StatementParser
from evalcore.errors import UsageError
from evalcore.records import Record
from evalcore.sqlkit.dialects import parse_server

#: Words that also begin English sentences count in prose only where SQL must follow them.
_START = compile_pattern("statement_start", re.M)
_MAX_CANDIDATES, _MAX_PROSE_STARTS = 40, 16  # candidates, and those in prose

_CLOSING_STARS = re.compile(r"(?<=[^\s(,.*])\*+(?!\w)")
#: What tells a statement from the name of one.
_WHOLE = re.compile(
    r"\b(?:FROM|SET|VALUES|INTO|USING|TABLE|VIEW|INDEX|PROCEDURE|FUNCTION|JOIN|CALL)\b|SELECT\s+[\d'(]",
    re.I,
)
#: Code of another language that gives a name to a text.
_ASSIGNED = re.compile(r"^[ \t]*[\w.$: ]{1,60}(?<!:)=\s*[(f@$]?\s*[\"']", re.M)
_IN_PRODUCT = compile_pattern("in_product")
#: The rest of a literal whose quotes are doubled.
_DOUBLED = re.compile(r"([^']*''(?:[^']|'')*+)'(?!')")
#: Words about a statement that begin like one.
_ADVICE = re.compile(r"(?=.{0,200}\b(?:the|an)\b)[A-Za-z_ ,.'’-]{1,400}")
#: A first comment that calls the code below it right or wrong.
_EXAMPLE = compile_pattern("example")
#: Another statement below one, with nothing that ends this or joins both.
_BELOW = re.compile(
    r"[ \t]*\n(?:[ \t]*(?:--[^\n]*)?\n)*+[ \t]*"
    r"(?:SELECT|INSERT|UPDATE|DELETE|MERGE|WITH\s+\w+\s+AS)\b",
    re.I,
)
#: A statement to be filled in.
_FORM = re.compile(r"\b(?:SELECT|FROM|INTO|UPDATE)\s+(?:\.\.\.|…|<[a-z_ ]{1,30}>)", re.I)
#: A routine whose line breaks are written out.
_ESCAPED_BODY = re.compile(r"\\n[ \t]*(?:AS|IS|BEGIN|DECLARE|RETURN|END)\b", re.I)
#: The name of a product behind a statement, as in a row of a table without its borders.
_PRODUCT_CELL = re.compile(r"(?<=[^\s|])[ \t]+\|[ \t]+([A-Za-z][\w .+-]{1,30})\Z")
#: What may end a statement that is given as it was asked for.
_TERMINATOR = re.compile(r"[\s;]*(?:\n[ \t]*(?:/|GO)[ \t]*)?")


class SqlAnswer(Record, frozen=True):
    """`sql` is the text read, "" if `kind` is none."""

    kind: ExtractionKind
    sql: str = ""


def extract_sql(text: str, dialect: str = "", original: str = "") -> SqlAnswer:
    """The SQL of an answer, in the dialect it was asked in; `original` is the statement that the
    question quoted. Takes linear time."""
    whole = sql_text.normalize_answer_text(text)
    question = Question(original, StatementParser(dialect))
    is_escaped = sql_text.is_routine(whole) and _ESCAPED_BODY.search(whole) is not None
    is_sql = not is_escaped and sql_text.starts_like_sql(whole) and question.parser.accepts(whole)
    rest = (
        whole
        if is_sql
        else sql_text.normalize_answer_text(sql_markup.strip_thinking(text)[-LIMIT:])
    )
    product = _PRODUCT_CELL.search(rest, max(0, len(rest) - 60))
    if product is not None and _parse_product(product[1]):
        rest = rest[: product.start()]
    is_sql = not is_escaped and (is_sql or question.parser.accepts(rest))
    rest = sql_markup.clean_punctuation(
        rest
        if is_sql
        else sql_roles.mark_recommendation(sql_roles.mark_options(sql_markup.clean_lines(rest))),
        is_sql=is_sql,
    )
    question.advised = None if is_sql else sql_roles.find_advised_place(rest)
    candidates = _find_sql_candidates(_drop_quoted_script(rest, question), question)
    sql = choose_candidate(candidates, question)
    is_answered = sql and not question.is_other_kind(sql) and question.names_objects(sql)
    if not is_answered and sql_roles.is_refusal(rest):
        return SqlAnswer(kind="none")
    is_accepted = question.parser.accepts(sql)
    if not is_accepted and _ADVICE.fullmatch(sql):
        return SqlAnswer(kind="none")
    # an example of other tables in a sentence, or a form to be filled in
    if not question.names_objects(sql) and (
        f"`{sql}`" in rest if is_accepted else _FORM.search(rest)
    ):
        return SqlAnswer(kind="none")
    if not sql or question.is_index_alone(sql):
        return SqlAnswer(kind="none")
    if question.is_quoted(sql) and (
        sql_roles.is_refusal(rest)
        or sql_roles.is_instruction(rest, sql)
        or sql_roles.asks_back(rest, sql)
    ):
        return SqlAnswer(kind="none")
    is_strict = rest == whole and whole.startswith(sql) and _TERMINATOR.fullmatch(whole, len(sql))
    return SqlAnswer(kind="strict" if is_strict else "lenient", sql=sql)


def _drop_quoted_script(text: str, question: Question) -> str:
    """A text without the original right above another statement; or where that is a script, whose
    parts would look like answers, and something as long is left that may be the answer."""
    script = question.original.strip().rstrip("; \n/")
    is_single = question.statement_class not in (None, "ROUTINE") and question.statements == 1
    start = text.find(script) if script and is_single else -1
    if start >= 0 and _BELOW.match(text, start + len(script)):
        text = text[:start] + text[start + len(script) :]
    if is_single:
        return text
    left = text
    if script and (start := text.find(script)) >= 0:
        before, after = text[:start].rstrip(), text[start + len(script) :].lstrip(" ;/\n")
        last = before.rsplit("\n", 1)[-1]
        is_apart = not last or last.startswith("```") or last.endswith((":", "："))
        if is_apart and (not after or after.startswith("```") or looks_like_prose(after)):
            left = f"{before}\n{after}"
    candidates = _find_sql_candidates(left, question) if left != text else []
    answers = [part for part in candidates if part.role not in ASIDE]
    return left if any(len(part.sql) * 5 > len(script) for part in answers) else text


def _find_sql_candidates(text: str, question: Question) -> list[Candidate]:
    """Whatever stands as code in a text, in the order of the text; prose is read only where no code
    answers, and nothing after an answer where a model goes on with the next question."""
    # without what a model did before it answered, and without what it goes on with
    following = sql_roles.find_next_question(text)
    is_other = not question.names_objects(text[following:])
    for part in (sql_markup.drop_tool_turns(text), text[:following] if is_other else text):
        candidates = _find_sql_candidates(part, question) if len(part) < len(text) else []
        if any(map(question.is_answered_by, candidates)):
            return candidates
    is_sql = sql_text.starts_like_sql(text)
    if is_sql and not question.parser.accepts(text):
        text = sql_markup.drop_layout(text)
    start = _START.search(text)
    words = text[: start.start("sql")] if start else text
    fields = sql_fields.find_json_sql(text) if not is_sql and ("{" in words or not start) else []
    if not is_sql and not fields and ":" in words:
        fields = sql_fields.find_yaml_sql(text)
    if not is_sql and not fields and "," in words:
        fields = sql_fields.find_csv_sql(text)
    if fields:
        return _split_candidates(list(_read_blocks(fields, question)), question)
    blocks, prose = sql_markup.split_fences(text)
    tagged, prose = ([], prose) if is_sql else sql_markup.find_tagged_blocks(prose)
    if not is_sql and _ASSIGNED.search(prose[: len(words)]):
        tagged += sql_fields.find_host_strings(prose)
    marked = [
        *_read_blocks(_join_clauses(blocks[-_MAX_CANDIDATES:], question), question),
        *_read_blocks(tagged[-_MAX_CANDIDATES:], question),
    ]
    candidates = _split_candidates(marked, question)
    if any(map(question.is_answered_by, candidates)):
        return candidates
    bare = _split_candidates(
        list(_find_bare_sql(sql_markup.unescape_entities(prose), question)), question
    )
    if not bare:
        strings = [
            part
            for part in sql_fields.find_host_strings(prose)
            if question.parser.accepts(part.body)
        ]
        bare = [Candidate(part.body, form=0) for part in strings]
    if candidates:
        bare = [part for part in bare if question.parser.accepts(part.sql)]
    return [*candidates, *bare]


#: How the rest of a statement begins that stands in a block of its own.
_CLAUSE = re.compile(
    r"\s*(?:(?:LEFT|RIGHT|FULL|INNER|CROSS)\s|JOIN|FROM|WHERE|GROUP\s+BY|HAVING|ORDER\s+BY|LIMIT)\b",
    re.I,
)
_CLAUSES = re.compile(r"\b(?:FROM|WHERE|GROUP|HAVING|ORDER|LIMIT)\b", re.I)


def _join_clauses(blocks: list[Block], question: Question) -> list[Block]:
    """The blocks, with the last ones joined to the statement above them where they hold only
    clauses that the original has and this lacks."""
    starts = [n for n, block in enumerate(blocks) if sql_text.starts_like_sql(block.body)]
    rest = blocks[starts[-1] + 1 :] if starts else []
    if not rest or not all(_CLAUSE.match(block.body) for block in rest):
        return blocks
    first = blocks[starts[-1]]
    sql = "\n".join([first.body.rstrip("; \n"), *(block.body for block in rest)])
    asked, given, added = (
        {word.upper() for word in _CLAUSES.findall(text)}
        for text in (question.original, first.body, sql)
    )
    is_rest = bool(added & asked - given) and not added - given - asked
    whole = [*blocks[: starts[-1]], first._replace(body=sql, after=rest[-1].after)]
    return whole if is_rest and question.parser.accepts(sql) else blocks


def _read_blocks(blocks: Sequence[Block], question: Question) -> Iterator[Candidate]:
    """The candidates in marked pieces, each with the words before it."""
    is_taken_back = False
    for block, following in zip_longest(blocks, blocks[1:]):
        body, role = (
            sql_markup.unescape_entities(block.body),
            sql_roles.detect_candidate_role(block.before),
        )
        if is_taken_back and role == "rejected":  # words of the block before
            role = "next"
        is_taken_back = sql_roles.is_withdrawn(block.after) or (
            following is not None and sql_roles.refers_back(following.before)
        )
        role = "rejected" if is_taken_back else role
        example = _EXAMPLE.match(body)
        role = (example and example.lastgroup) or role
        dialect = _detect_dialect(block)
        body = body if question.parser.accepts(body) else sql_markup.unescape_breaks(body)
        if (
            sql_text.is_only_comments(body) or len(body.split(None, 1)) < 2
        ):  # a keyword that is marked
            continue
        if sql_text.starts_like_sql(body):
            sql = sql_text.cut_trailing_prose(body, question.parser)
            yield Candidate(sql, role, dialect=dialect)
            below = _START.search(body, len(sql)) if question.is_quoted(sql) else None
            if below is not None:  # the original, and the answer below it
                sql = sql_text.cut_trailing_prose(body[below.start("sql") :], question.parser)
                yield Candidate(sql, dialect=dialect)
            continue
        inner = [
            part
            for part in sql_fields.find_json_sql(body)
            or sql_fields.find_csv_sql(body)
            or sql_fields.find_host_strings(body)
            if question.parser.accepts(part.body) or "{" in body
        ]
        for part in inner:
            yield Candidate(part.body, sql_roles.detect_candidate_role(part.before) or role)
        if not inner and (start := _START.search(body)) is not None:
            sql = sql_text.cut_trailing_prose(body[start.start("sql") :], question.parser)
            yield Candidate(sql, role, dialect=dialect)


def _detect_dialect(block: Block) -> str:
    """The dialect of the product that the line above a block or its fence names, "" if none."""
    lines = block.before.strip().rsplit("\n", 1)
    mentioned = _IN_PRODUCT.search(lines[-1][-80:])
    heading = re.fullmatch(
        r"\W*(?:(?:for|in)\s+)?([\w .+-]{2,40}?)(?:\s+version)?\W*", lines[-1], re.I
    )
    named = (match[1] for match in (heading, mentioned) if match is not None)
    return next(filter(None, map(_parse_product, (block.language, *named))), "")


def _parse_product(name: str) -> str:
    """The dialect of a product, "" for any other words."""
    with contextlib.suppress(UsageError):
        return parse_server(name).dialect if name else ""
    return ""


def _find_bare_sql(text: str, question: Question) -> Iterator[Candidate]:
    """SQL that stands in prose: inline, or from where a statement may begin to where it ends."""
    parser = question.parser
    end = 0
    for code in sql_markup.find_inline_code(text):
        if (
            sql_text.starts_like_sql(code.body)
            and _WHOLE.search(code.body)
            and parser.accepts(code.body)
        ):
            yield Candidate(code.body, sql_roles.detect_candidate_role(code.before), form=0)
            marked = rf"(`{{1,2}})[ \t]*{re.escape(code.body)}[ \t]*\1"
            text = re.sub(marked, lambda m: " " * len(m[0]), text, count=1)
    if sql_text.starts_like_sql(text) and not looks_like_prose(text) and not _START.match(text):
        sql = sql_text.cut_trailing_prose(text, parser)
        yield Candidate(sql, form=1)
        end = len(sql)
    for _ in range(_MAX_PROSE_STARTS):
        start = _START.search(text, end)
        if start is None:
            break
        at = start.start("sql")
        if not sql_text.starts_like_sql(text[at : at + 400]):
            end = start.end()
            continue
        if not end and sql_text.starts_like_sql(text) and sql_text.is_only_comments(text[:at]):
            at = 0
        sql = sql_text.cut_trailing_prose(text[at:], parser)
        quoted = text[at - 1 : at] if at else ""
        doubled = _DOUBLED.match(text, at) if quoted == "'" else None
        if doubled is not None and parser.accepts(doubled[1].replace("''", "'")):
            yield Candidate(doubled[1].replace("''", "'"), form=1)
            end = doubled.end()
            continue
        if quoted in ('"', "'", "`", "*") and (stop := text.find(quoted, at)) > 0:
            stars = [star.start() for star in _CLOSING_STARS.finditer(text, at, at + 4_000)]
            if quoted == "*":
                whole = (star for star in stars[:8] if parser.accepts(text[at:star]))
                stop = next(whole, stop)
            sql = text[at:stop] if stop - at < len(sql) or quoted != "'" else sql
        if start["weak"] is None:
            before = question.drop_comments(text[max(0, end, at - 300) : at])
            dialect = _detect_dialect(Block("", before))
            is_kept = not sql_roles.is_withdrawn(text[at + len(sql) :][:160].lstrip("; \n`*\"'"))
            role = sql_roles.detect_candidate_role(before) if is_kept else "rejected"
            yield Candidate(sql.strip(), role, 1, dialect)
        elif _WHOLE.search(sql) and parser.accepts(sql):
            role = sql_roles.detect_candidate_role(text[max(0, end, at - 300) : at])
            yield Candidate(sql.strip(), role, form=0)
        else:
            sql = ""
        end = at + max(1, len(sql))


def _split_candidates(candidates: list[Candidate], question: Question) -> list[Candidate]:
    """The statements of the candidates apart, where one statement was asked for; a statement that
    stands in two pieces is one."""
    pieces: list[Candidate] = []
    for candidate in candidates:
        for piece in _split_candidate(candidate, question):
            last = pieces[-1] if pieces else None
            if last and last.form == piece.form == 2 and not question.parser.accepts(last.sql):
                joined = f"{last.sql}\n{piece.sql}"
                is_again = sql_text.normalize_statement(last.sql) in sql_text.normalize_statement(
                    piece.sql
                )
                if question.parser.accepts(joined) and not is_again:
                    pieces[-1] = Candidate(joined, last.role, dialect=last.dialect)
                    continue
            pieces.append(piece)
    return [piece for piece in pieces if piece.sql][-_MAX_CANDIDATES:]


def _split_candidate(candidate: Candidate, question: Question) -> Iterator[Candidate]:
    if question.statement_class in (None, "ROUTINE") or question.statements != 1:
        yield candidate
        return
    statements = sql_text.split_statements(candidate.sql, question.dialect)
    is_whole = sql_text.is_routine(candidate.sql) or question.is_upsert(statements)
    if is_whole or not 2 <= len(statements) <= _MAX_CANDIDATES:
        yield candidate
        return
    for statement in statements:
        comments = re.match(r"(?:\s|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", statement, re.S)
        named = sql_roles.detect_candidate_role(comments[0]) if comments else ""
        role = named or candidate.role
        yield Candidate(statement.strip(), role, candidate.form, candidate.dialect)

"""Where words to people begin in a text that holds SQL.

Every pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: Words as regular expressions, verbose and without regard to case.
PATTERNS = tomllib.loads(Path(__file__).with_name("sql_patterns.toml").read_text("utf-8"))


def compile_pattern(name: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The pattern of that name in `sql_patterns.toml`: ⟨x⟩ there stands for the pattern x, ⟨x:y⟩
    for x with groups called y."""
    words = re.sub(r"⟨(\w+):(\w+)⟩", lambda m: PATTERNS[m[1]].replace("{}", m[2]), PATTERNS[name])
    words = re.sub(r"⟨(\w+)⟩", lambda m: PATTERNS[m[1]], words)
    return re.compile(words, re.I | re.X | flags)


#: A first word that is English where one of these follows.
ENGLISH = compile_pattern("english", re.M)
_MARKDOWN = re.compile(r"\s*(?:#{1,6}\s|\*\*|__|•\s|>\s|\d{1,2}[.)、]\s|```|~~~|---+\s*$|\|)")
#: An item of a list, which is no operator with its operand.
_BULLET = compile_pattern("bullet")
#: Letters of scripts that names in SQL are not written in as a rule: CJK, Cyrillic, Greek, ...
_FOREIGN = re.compile("[\u0370-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: What begins no line of SQL: dashes, arrows to a word, emoji, double rules, labels of statements.
_NO_CODE_LINE = compile_pattern("no_code_line")
_HEADING = compile_pattern("prose_heading")
SQL_LINE = re.compile(
    r"(?:AND|OR|ON|WHERE|FROM|SELECT|GROUP\s+BY|ORDER\s+BY|HAVING|LIMIT|OFFSET|FETCH|UNION|EXCEPT"
    r"|INTERSECT|MINUS|(?:LEFT|RIGHT|FULL|INNER|CROSS|NATURAL|STRAIGHT_)?\s*(?:OUTER\s+)?JOIN|SET"
    r"|VALUES|RETURNING|USING|WHEN|THEN|ELSE|END|CASE|AS|IN|EXISTS|BETWEEN|LIKE|IS|NOT|WINDOW|BY"
    r"|FOR|CONNECT|START|WITH|INTO|PARTITION|QUALIFY|LATERAL|TABLE|INSERT|UPDATE|DELETE|CREATE"
    r"|ALTER|DROP|MERGE|DO|GO|COMMIT|BEGIN|CALL|EXEC|DECLARE|OPTION|DESC|ASC|INTERVAL)\b",
    re.I,
)


def looks_like_prose(text: str) -> bool:
    """Whether what follows a possible end of SQL reads like words to people."""
    first, _, following = text.partition("\n")
    line = first.strip()
    if re.fullmatch("-{3,}", line):  # a rule, or a comment of SQL
        return looks_like_prose(following.lstrip()[:400])
    if not line or line.startswith(("--", "/*")):
        return False
    if _MARKDOWN.match(line) or _BULLET.match(line) or line.startswith(("</", "<")):
        return True
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|--.*", "x", line)
    clause = bare.partition(";")[0]  # words after a statement do not make its last line words
    if clause != bare and re.match(rf"{SQL_LINE.pattern}[^;]*[\d=<>(]", clause, re.I):
        bare = line = clause
    if _NO_CODE_LINE.match(line) or (line[0] == "(" and line.endswith((".)", "。)"))):
        return True
    if not SQL_LINE.match(bare) and re.fullmatch(
        r"[A-Za-z'’]+(?: [A-Za-z'’-]+){4,}[.!]?|[A-Z][a-z]+(?: [\w()]+){1,3}[:：]", bare
    ):
        return True
    if _FOREIGN.search(bare):
        return not SQL_LINE.match(bare) or bare.endswith(("。", "：", "！", ".", ":"))
    if ENGLISH.match(line):
        return True
    words = re.findall(r"[A-Za-z'’]+", bare)
    sentence = bare.endswith((".", ":", "!", "?")) and len(words) >= 3
    operators = re.search(r"[=<>]|;(?! [a-z])|\w\(|\w\.\w|\*", bare.rstrip(".:!"))
    if SQL_LINE.match(bare) and bare.split()[0].isupper():
        return sentence and not operators and len(words) >= 5
    if _HEADING.match(bare) and (len(words) >= 3 or bare.endswith(":") or len(words) == 1):
        return not (operators and not sentence and not re.match(r"[A-Z][a-z]", bare))
    if SQL_LINE.match(bare) and not (sentence and not operators):
        return False
    return len(words) >= 3 and (sentence or bool(re.match(r"[A-Z][a-z]+ [a-z]+ [a-z]+", bare)))

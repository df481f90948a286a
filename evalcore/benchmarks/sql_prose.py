"""Where words to people begin in a text that holds SQL.

Every pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import re

#: A first word that is English where one of these follows.
ENGLISH = re.compile(
    r"\s*(?:(?:with|use|start|if|from|set|do|call|select|replace|update|create|merge|comment|begin"
    r"|(?:create\s+)?(?:table|function|procedure|trigger|view|index))"
    r"\s+(?:the|this|that|an?|your|you|these|it|by|not|all\s+of|here|care|regard|respect|in|is|does)\b"
    r"(?!\s*[.,(=*;]|\s+(?:as|set|from|join|inner|left|where|values)\b)"
    r"|replace\s+\S+\s+(?:with|by)\s"
    r"|(?:select|update|insert|delete|create|with)\s+(?:statements?|quer(?:y|ies)|clauses?)\b"
    r"|(?:select|insert|update|delete|create|replace|merge|call|use|begin)\s*[:：](?=\s|\Z)"
    r"|from\s+[\w.]+\s+import\b|(?:with|if)\s+[\w.]+(?:\([^\n]*\))?(?:\s+as\s+\w+|\s*==[^\n]+)?"
    r":[ \t]*$"
    r"|use\s+\w+(?:::|\s+qw\b))",  # code of another language
    re.I | re.M,
)
_MARKDOWN = re.compile(r"\s*(?:#{1,6}\s|\*\*|__|•\s|>\s|\d{1,2}[.)、]\s|```|~~~|---+\s*$|\|)")
#: An item of a list, which is no operator with its operand.
_BULLET = re.compile(
    r"[-*+]\s+(?:[`*\"“\[✓✔\u3400-\u9fff]|[A-Z][\w ]{0,40}(?:->|→|:)"
    r"|(?:no|not|uses?|avoids?|removes?|adds?|replaces?|keeps?)\s+(?!(?:as|from|and|or|end)\b)[A-Za-z]"
    r"|[A-Za-z'’-]+[:,]?\s+(?!(?:as|from|and|or|end|then|else|when|where|over|desc|asc|is|in|between"
    r"|group|order)\b)[a-z`\"'=<>≤→-])"
)
#: Letters of scripts that names in SQL are not written in as a rule: CJK, Cyrillic, Greek, ...
_FOREIGN = re.compile("[\u0370-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: What begins no line of SQL: dashes, arrows to a word, emoji, double rules, labels of statements.
_NO_CODE_LINE = re.compile(
    "[\u2010-\u2015\u2190-\u2bff\U0001f000-\U0001faff]|->\\s+[A-Z]|={3,}|\\$ [a-z]"
    r"|[A-Z][\w ,()#-]{0,40}[:：]\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|CREATE)\s"
)
_HEADING = re.compile(
    r"(?:explanations?|notes?|changes|why|done|reason(?:ing)?|rationale|key|summary|remarks?|usage"
    r"|original|alternative(?:ly)?|index(?:es)?|output|here|this|that|these|it|the|and|but|so|or|if"
    r"|i|in|for|on|as|because|since|where|when|both|let|hope|please|also|now|what|how|no|you|we"
    r"|there|which|using|all|each|then|finally|with|to|by|first|second|example|result|thanks"
    r"|optimi[sz]ed|converted|final|corrected|improved|rewritten|suggested|recommended)\b",
    re.I,
)
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

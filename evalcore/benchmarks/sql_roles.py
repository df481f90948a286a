"""What the words of an answer say of the SQL beside them: the answer, the original quoted again, an
alternative, an example of use, a draft that is taken back, the alternative that is recommended.

Every pattern takes linear time in the length of the text.
"""

from __future__ import annotations

import re

# What the words before a candidate say of it; the last of them counts. Few are needed, as
# the original is known by its text, examples of use and indexes by their kind.

_ROLES: dict[str, tuple[str, ...]] = {
    "final": (
        r"final|corrected|convert|translat|optimi[sz]ed|rewrit|improved|better|answer|solution",
        r"最终|转换后|优化后|改写后|改写为|答案|应为|修正|✅|✔|\bcorr[ei]g",
    ),
    "recommended": (
        r"recommend(?:ed|ation)|recomendad|recommandé|preferred|empf[oe]hl|рекомендуем|\btl;?dr\b",
        r"\bshort\s+answer\b",
        r"推[荐奨薦]|おすすめ|추천|首选|[⭐★🏆🥇👍]",
    ),
    "original": (
        r"original|you\s+(?:gave|provided|sent)|your\s+(?:query|sql|statement)|as\s+given",
        r"(?:source|input)\s+(?:sql|query)|before\b(?!\s+(?:version\s+)?\d)",
        r"原始|原\s*SQL|原语句|原查询|源\s*SQL|优化前|转换前|改写前",
    ),
    "alternative": (
        r"^\W*or\b|alternativ|optional|another\s+(?:option|way|variant|version|possib)|variant",
        r"(?:could|can|may|might)\s+(?:also|prefer|consider|try)|option\s+(?:b|2|two)",
        r"if\s+you\s+(?:prefer|want|need|like|are)|instead,?\s+you",
        r"(?<!but for )(?:older|earlier|previous)\s+(?:versions?|releases?)",
        r"(?:prior\s+to|before)\s+(?:version\s+)?\d",
        r"\d\w*\s+(?:and|or)\s+(?:earlier|older|below)",
        r"\b(?:other|any|some|most|all)\s+(?:databases?|engines?|systems?|versions?|dialects?)\b",
        r"(?:旧|低|早期)版本|以下版本|备选|另一种|另外|也可以|或者|如果需要|替代",
    ),
    "index": (r"index|indices", r"索引"),
    "usage": (
        r"usage|example|how\s+to\s+(?:use|call|run|test)|to\s+(?:test|verify|check|call|run)\b",
        r"用法|示例|例如|调用|测试|验证",
    ),
    "rejected": (
        r"wrong|incorrect|invalid|not\s+valid|does\s*n[o']t\s+work|avoid\b|do\s+not\s+use",
        r"first\s+(?:attempt|try|draft|idea)|draft|initially|naive|considered|tempt(?:ed|ing)",
        r"\b(?:had|if)\s+(?:I|we|you)\s+(?:had\s+)?(?:written|wrote|used)",
        r"^\W*(?:(?:my|the)\s+)?(?:earlier|previous|prior)\s+(?:answer|attempt|draft|reply)\W*$",
        r"错误|不正确|不要|初稿|草稿|第一版|不[能可应](?:这样|再)?写|不能这样|❌|✗",
    ),
}
_ROLE = re.compile(
    "|".join(f"(?P<{role}>{'|'.join(words)})" for role, words in _ROLES.items()), re.I
)
#: Words by which what follows takes the place of what stood before it; a condition does not.
_PROGRESS = re.compile(
    r"""\b(?:step|v|version|attempt|draft|try|iteration)\s*(?:[2-9]|two|three|four|five)\b
    | \b(?:second|third|next|new|another)\s+(?:attempt|try|draft|step)\b
    | \b(?:then|next|now|finally|so|thus|therefore|hence|wait|hmm+|oops|sorry|actually)\b
    | \b(?:instead(?!\s+of)|rather(?!\s+than)|correction|fix\w*|revis\w*|updated|must)\b
    | \b(?:complete|whole|full|entire|combin\w*|together|assembl\w*|merg\w*|should)\b
    | \b(?:edit(?:ed)?|update)\W{0,3}[:：]
    | ^\W*(?!using\b|assuming\b|during\b|including\b)[a-z]{2,12}ing\b(?=.*[:：]\W*$)
    | 第[二三四五六]步|步骤\s*[2-9二三四五六]|然后|接着|再|最后|因此|所以|于是|合并|完整|更正
    | 改为|应该|整合|进一步|重新|等等|不对
    | \b(?:besser|mejor|mieux|meilleur|meglio|melhor)\b""",
    re.I | re.X,
)
_CONDITION_FIRST = re.compile(
    r"""\W*(?:(?:note|tip|p\.?\s?s\.?|n\.?\s?b\.?|补充|注意|备注|提示|说明|另外|注)\W{1,3})?
    (?:(?:if|for|on|when|where|should\s+you|unless|in\s+case)\b|如果|若|对于|当|在)""",
    re.I | re.X,
)
#: Roles of what is no answer.
ASIDE = ("original", "alternative", "index", "usage", "rejected")
#: Words after a piece of code by which a model takes it back.
_WITHDRAWN = re.compile(
    r"""\W{0,8}(?:
      # an exclamation
      No\b\s*[,.!—–-]|(?:Wait|Hold\s+on|H+mm+|Oops|Correction|Errat(?:um|a))\b|Actually,
      # an order to leave it out
    | (?:scratch|strike|ignore|disregard|forget|discard|drop|undo)\s+
      (?:that|this|it\b|the\s+(?:above|previous|last|first))
      # what is wrong with the author
    | I\s+(?:forgot|missed|overlooked|omitted|left\s+out|made\s+a)|my\s+(?:bad|mistake)\b
    | (?:on|upon)\s+(?:second|further|closer)\s+(?:thought|look|inspection)
    | let\s+me\s+(?:fix|redo|revise|correct|rewrite|retry|try\s+again)\b
      # what is wrong with the code
    | (?:but\s+)?(?:this|that|it)\s+(?:loses|fails|violates|misses|does\s*n[o'’]t|would|is\s+
      (?:wrong|incorrect|slower|not\s+(?:right|correct|equivalent|valid)))\b
    | but\s+(?:this|that|it)\s+(?!(?:is|has|works|runs|needs|requires|assumes|uses)\b)[a-z]+s\b
      # what came of running it
    | (?:(?:but|and)\s+)?(?:I\s+)?(?:g[eo]ts?|gives?|gave|fail(?:s|ed)|rais(?:es|ed)|threw|throws
      |produce[sd]|ended|errors)\b[^\n]{0,30}?(?:error|exception)|(?:ORA-|ERROR\s)\d
    | 勘误|更正|纠正|作废|收回|忽略上|重来|不对|等(?:等|一下|下)|慢着|这样不|这是错|报错
    | 但(?:它|这|是这)[^\n]{0,20}(?:慢|差|错|次))""",
    re.I | re.X,
)
#: Words of a model that gives no answer; what it quotes then is only the question.
_REFUSAL = re.compile(
    r"""\b(?:I(?:\s+am|['’]m)?\s+(?:
      sorry
    | (?:can(?:not|['’]t|\s+not)|unable\s+to|not\s+able\s+to|won['’]t)\s+
      (?:help|assist|optimi[sz]e|rewrite|convert|translate|provide|determine|answer)\b
      (?!\s+(?:it|this)?\s*(?:any\s+)?(?:further|more|better)))
    | (?:please|could\s+you)\s+(?:provide|share)\b)
    | 抱歉|对不起|请(?:您|你)?(?:先)?提供
    | (?:无法|不能)(?:提供|完成|改写|转换|回答|给出|确定)""",
    re.I | re.X,
)
_UNCHANGED = re.compile(
    r"""already|\bno\s+(?:change|rewrite|conversion|modification)|as\s+is\b
    | identical|unchanged|compatible|无需|不需要|已经|已是|不变|相同|兼容""",
    re.I | re.X,
)
#: How a text goes on that continues a list of questions instead of ending.
_NEXT_QUESTION = re.compile(
    r"""^\W{0,5}(?:
      (?:(?:next|new|another)\s+)?
      (?:question|problem|instruction|user|human|task|exercise|input|example|(?:test\s+)?case
      |题目|问题|输入|示例|例题|例)\s*[\d一二三四]*\s*\W{0,3}[:：]
    | SQL\s+for\s+[\w ]{2,30}:[ \t]*$|Convert\s+the\s+SQL\s+below)""",
    re.I | re.M | re.X,
)
_ADVISED_AGAINST = re.compile(r"\W*(?:don['’]t|do\s+not|never|not\s+to\s+be)\b", re.I)
_IN_BRACKETS = re.compile(r"\([^()\n]*\)")


def detect_candidate_role(before: str) -> str:
    """What the words right before a candidate call it: one of `_ROLES`, "best" where they settle
    it, "next" where it goes on from the one before it, "version 8" where it is for one, or ""."""
    lines = [line for line in before.strip().split("\n") if line.strip()]
    if not lines:
        return ""
    sentence = re.split(r"(?<=[.!?。！？])\s+|(?<=[。！？])", lines[-1][-400:].strip())[-1][-160:]
    if _ADVISED_AGAINST.match(sentence):
        return "rejected"
    role = _detect_named_role(sentence)
    if role:
        return role
    sentence = _IN_BRACKETS.sub("", sentence)
    if not _CONDITION_FIRST.match(sentence) and _PROGRESS.search(sentence):
        return "next"
    role = _detect_named_role(lines[-1][-160:])
    if role or _CONDITION_FIRST.match(sentence):
        number = re.search(r"\d{1,6}(?:\.\d)?", sentence)
        return role or (f"version {number[0]}" if number else "")
    words = _IN_BRACKETS.sub("", " ".join(lines[-2:])[-240:])
    return "next" if _PROGRESS.search(words) else ""


def _detect_named_role(words: str) -> str:
    named = [match.lastgroup or "" for match in _ROLE.finditer(words)]
    if "recommended" in named and "rejected" not in named:
        return "best"
    if "final" in named and not {"alternative", "rejected", "usage"} & set(named):
        return "original" if named[-1] == "original" else "final"
    return next((role for role in reversed(named) if role in ASIDE), "")


def is_aside(before: str) -> bool:
    """Whether the words before a piece offer it as an example, an alternative, or as wrong."""
    last = before.strip().rsplit("\n", 1)[-1]
    if detect_candidate_role(before) in ("best", "final"):
        return False
    named = {match.lastgroup for match in _ROLE.finditer(last[-160:])}
    return bool(named & {"alternative", "usage", "rejected"} or _CONDITION_FIRST.match(last))


def is_withdrawn(after: str) -> bool:
    """Whether the words after a piece of code take it back."""
    return _WITHDRAWN.match(after) is not None


def refers_back(before: str) -> bool:
    """Whether whole sentences between two pieces of code call one wrong: the one above them, as
    what introduces code is a heading or ends with a colon."""
    last = before.strip().rsplit("\n", 1)[-1][-160:]
    return last.endswith((".", "!", "。", "！")) and _detect_named_role(last) == "rejected"


def is_refusal(text: str) -> bool:
    """Whether a text that holds only the original gives no answer."""
    return _REFUSAL.search(text) is not None and not _UNCHANGED.search(text)


#: What a question begins with, which a model may only repeat.
_INSTRUCTION = re.compile(
    r"""\W*(?:please\s+|question:\s*)?(?:convert|translate|rewrite|optimi[sz]e)\s+
      (?:the|this|to|it|into|from)\b
    | \W*(?:请|将(?:以下|下面|下列))""",
    re.I | re.X,
)
_ASKS_BACK = re.compile(
    r"""\b(?:which|what|could\s+you|can\s+you|do\s+you|are\s+you|is\s+(?:the|your|this))\b
      [^.?!\n]{0,160}\?
    | (?:请问|哪个|哪种|什么|是否)[^。？?\n]{0,80}[？?]""",
    re.I | re.X,
)

_NEEDS_ANSWER = re.compile(
    r"(?:^|(?<=[.!] ))(?:which|what|could\s+you|can\s+you)\b[^.?!\n]{0,160}\?"
    r"|(?:请问|哪个|哪种|能否提供)[^。？?\n]{0,80}[？?]",
    re.I | re.M,
)


def asks_back(text: str, sql: str) -> bool:
    """Whether words beside a statement ask for something that only a person can say."""
    start = max(0, text.find(sql[:40]))
    return _ASKS_BACK.search(text[:start]) is not None or (
        _NEEDS_ANSWER.search(text[start + len(sql) :]) is not None and not _UNCHANGED.search(text)
    )


def is_instruction(text: str, sql: str) -> bool:
    """Whether a text that ends with a statement only repeats what was asked."""
    return text.rstrip("; \n`").endswith(sql.rstrip("; \n")) and bool(_INSTRUCTION.match(text))


def find_next_question(text: str) -> int:
    """Where a model goes on with a question that it makes up, the end if nowhere."""
    following = _NEXT_QUESTION.search(text, 1)
    return following.start() if following is not None else len(text)


# Advice on which of several alternatives to take.

#: A name of one of several, as "option B"; the group that holds the B or 2 is to be named.
_CHOICE = r"""(?:
      \b(?:option|version|approach|alternative|method|solution|variant|rewrite|query|way|plan
      |candidate|form|proposal|draft|attempt|opci[oó]n|opç[aã]o|opzione|variante|вариант\w*)\s+
    | (?:案|방법|옵션|方案|方法|版本|写法|选项|方式|解法)\s*)[(（\#]?
    (?P<{}>[A-E]|[1-5]|[一二三四五]|one|two|three)(?![A-Za-z0-9])"""
_UNCONDITIONALLY = r"""(?![)）*]{0,3}\s*(?:only\s+)?
    (?:if|when|for|where|as\s+long|unless|仅|只)\b)"""
_NOT_NEGATED = r"(?<!not\ )(?<!n't\ )(?<!不)"
#: The words of an advice, with what is advised after or before them.
_RECOMMENDED = re.compile(
    rf"""{_NOT_NEGATED}(?:
      (?:recommend|prefer|suggest)\w{{0,6}}
    | \b(?:go|went|going|stick|stay)\s+with
    | (?:\bwould|['’]d|\b(?:so|thus|hence|therefore|please),?)\s+(?:use|choose|pick)
    | \b(?:choose|pick)|\bfinal\s+(?:answer|choice|decision|verdict|pick)
    | recom[ie]+ndo|recommande|empfehle|рекомендую
    | 推[荐奨薦]|建议|首选|采用|选择|选用
    )[^\n.。;!]{{0,40}}?{_CHOICE.format("after")}{_UNCONDITIONALLY}
    | (?:^[ \t*_]*use|\b(?:use|choose|pick|best|better|prefer|recommend)\b[^\n.?]{{0,40}}\?)[ \t*_]*
      {_CHOICE.format("settled")}(?=[ \t*_]*(?:[.!,;—–\n]|\Z|(?:because|since|as)\b))
    | (?:选择?|推荐|采用|\b(?:pick|choose|recommend|prefer|go\s+with))[ *]*
      (?P<letter>(?-i:[A-E]))(?!\w)
    | {_CHOICE.format("before")}[^\n.。;!]{{0,40}}?(?<!not\ )(?<!不)(?:
      (?:recommended|preferred|best\b|my\s+(?:choice|pick|answer)){_UNCONDITIONALLY}
    | 推荐|首选|更优|最优|最佳|更好)""",
    re.I | re.X | re.M,
)
_LABEL = re.compile(rf"^[^\w\n]{{0,12}}{_CHOICE.format('label')}", re.I | re.M | re.X)


def mark_recommendation(text: str) -> str:
    """The text with "(recommended)" in the heading of what its last advice names."""
    advices = list(_RECOMMENDED.finditer(text))
    if not advices:
        return _mark_named_heading(text)
    label = next(word for word in advices[-1].groups() if word).lower()
    marked = _LABEL.sub(
        lambda m: m[0] + " (recommended)" if m["label"].lower() == label else m[0], text
    )
    headings = [h for h in _HEADING.finditer(text) if (h["mark"] or "").lower() == label]
    return _mark_heading(text, headings[0]) if marked == text and len(headings) == 1 else marked


#: What stands before one of several pieces of code: a short line above it, or the mark of an item.
_CODE_BEGINS = r"(?:SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|CREATE)\b"
_HEADING = re.compile(
    rf"""^[ \t#>*_]*+
    (?:(?:option|version|variant|form)\s+)?[(\[]?(?P<mark>[A-Ea-e1-9])?(?(mark)[.)、:\]]+)[ \t*_]*+
    (?: (?P<name>[^\W\d_][^\n.。;:：]{{2,50}}?)[ \t*_:：]*\n\s*+(?=```|~~~|{_CODE_BEGINS})
    | (?(mark)\s*+(?=(?:(?:```|~~~)\w*+|[`*]{{0,3}})\s*+{_CODE_BEGINS})|(?!)))""",
    re.M | re.X,
)
#: Words by which one of several is preferred to the others.
_PREFERRED = re.compile(
    r"""\bfinal\W{1,4}(?=[#№])|\b(?:wins?|winner|best|fastest|recommend\w*|prefer\w*|go(?:ing)?\s+with|choose|chose
      |pick(?:ed)?|(?:should|would|['’]d)\s+use|use\s+the|(?:so|thus|therefore|hence|then)[, ]+use
      |is\s+what\s+I|settle\s+(?:on|for)|decide\s+(?:on|for))\b
    | 推荐|首选|采用|选用|选择|最优|最佳|更优""",
    re.I | re.X,
)
_MAX_HEADINGS = 12


def _mark_named_heading(text: str) -> str:
    """The text with "(recommended)" in the one heading whose words a sentence of advice repeats."""
    headings = list(_HEADING.finditer(text))[:_MAX_HEADINGS]
    if len(headings) < 2:
        return text
    prose = _HEADING.sub("\n", re.sub(r"^(`{3,}|~{3,}).*?^\1", "\n", text, flags=re.M | re.S))
    advised: set[int] = set()
    for sentence in re.split(r"(?<=[.!?。！？\n])", prose)[:200]:
        if _PREFERRED.search(sentence) and not _NEGATED.search(sentence):
            named = {n for n, heading in enumerate(headings) if _is_named(heading, sentence)}
            advised |= named if len(named) == 1 else set()
    if len(advised) != 1:
        return text
    return _mark_heading(text, headings[advised.pop()])


def _mark_heading(text: str, heading: re.Match[str]) -> str:
    end = heading.end("name") if heading["name"] else heading.start() + len(heading[0].rstrip())
    return f"{text[:end]} (recommended) {text[end:]}"


def _is_named(heading: re.Match[str], sentence: str) -> bool:
    """Whether a sentence names a piece of code by the words or the mark before it."""
    if heading["name"] and heading["name"].strip().lower() in sentence.lower():
        return True
    marked = heading["mark"] and rf"(?:[#(\[№]|\b(?:no|nr|number)[. ]*){heading['mark']}(?!\w)"
    return bool(marked) and re.search(marked, sentence, re.I) is not None


_NEGATED = re.compile(r"\bnot?\b(?!\s+(?:exists|in|null)\b)|n['’]t\b|\bif\b|不|如果|若", re.I)
#: Places by which an advice names one of several alternatives.
_PLACES = {"first": 0, "former": 0, "second": 1, "third": 2, "latter": -1, "last": -1}
_PLACES |= {"第一": 0, "前者": 0, "第二": 1, "第三": 2, "后者": -1, "最后": -1}
_PLACE = r"""(?:
      the\s+(?P<{0}>first|former|second|third|latter|last)
      (?:\s+(?:one|query|version|form|rewrite|option|approach|statement|solution|variant|method)\b
      |(?=[\s.,;]))
    | (?P<{0}_zh>第[一二三](?=[种个条])|前者|后者|最后(?=一[种个条]))[种个条]?)"""
_ADVISED = re.compile(
    rf"""{_NOT_NEGATED}(?:
      (?:recommend|prefer|suggest)\w{{0,6}}|\b(?:go|stick|stay)\s+with
    | (?:\bwould|['’]d|\b(?:I|we)(?:['’]ll)?)\s+(?:use|choose|pick|take)
    | 推荐|建议|首选|采用|选择|选
    )[^\n.。;!]{{0,20}}?{_PLACE.format("after")}{_UNCONDITIONALLY}
    | {_PLACE.format("before")}\s*(?:is|stays|being|should\s+be|更|最|为)[^\n.。;!]{{0,20}}?(?:
      my\s+(?:pick|choice|favou?rite)|better|best|prefer|recommend|simpl|fast|closer|safer|clean
    | 好|优|佳|推荐|简洁|快)""",
    re.I | re.X,
)


def find_advised_place(text: str) -> int | None:
    """The index of the alternative that the last advice calls the first, the latter, ..."""
    advices = list(_ADVISED.finditer(text))
    if not advices:
        return None
    named = [word for word in advices[-1].groups() if word]
    return _PLACES[named[0].lower()]

"""The words of the rule user: those by which it recognises what an agent asks, in English and
Chinese, and its own lines in several wordings, chosen by the seed.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalcore.benchmarks.tau_bench.user_goals import Goal, Item, Scenario, Slot, can_answer_slot

# Patterns are matched against one lower-cased sentence; none nests quantifiers, so that hostile
# text costs linear time.


def _compile_pattern(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words))


#: A sentence that wants something from the user.
REQUEST = _compile_pattern(
    r"[?？]",
    r"\b(?:please|kindly|just) (?:also )?(?:provide|share|tell|give|confirm|specify|verify|send"
    r"|enter"
    r"|state|indicate|supply|include|list|choose|select|let|reply|respond|type|describe|clarify"
    r"|identify|say)\b",
    r"\b(?:could|can|would|will) you\b",
    r"\b(?:may|can|could) (?:i|we) (?:please )?(?:have|get|know|ask)\b",
    r"\b(?:i|we)(?:'ll| will|'d| would)?(?: also| first| still| just)* (?:need|require|want|like)"
    r"(?: to (?:know|confirm|verify|have|get|ask|authenticate))?\b",
    r"\b(?:let me|let us) know\b",
    r"\b(?:tell|give|send|show) (?:me|us)\b",
    r"^[\W\d]*(?:provide|share|specify|enter|confirm|state|what|which|who|whose|why|where|how"
    r"|when)\b",
    r"\b(?:is|are) (?:needed|required|missing)\b",
    r"\bto confirm,|\bjust confirming\b",
    r"请|麻烦|能否|可以.{0,20}吗|什么|哪|是否|吗|需要您",
)
#: A request for nothing but patience.
WAIT = _compile_pattern(
    r"\b(?:hold on|one moment|a moment|just a (?:sec|second|minute|moment)|please wait"
    r"|bear with)\b",
    r"\b(?:let me|i will|i'll|i am going to|i'm going to|i need to|i have to) (?:now |first "
    r"|just )?(?:look|check|find|pull|search|retrieve|review|see|locate|fetch|transfer|process)\b",
    r"稍等|查一下",
)
_TRIP = r"(?:order|reservation|booking|confirmation)"
ASKS: Mapping[Slot, re.Pattern[str]] = {
    "name": _compile_pattern(
        r"(?<!product )(?<!item )\bnames?\b(?! of (?:the|your|each) (?:item|product))",
        r"姓名|名字|称呼",
    ),
    "email": _compile_pattern(r"\be-?mails?\b", r"邮箱|电子邮件"),
    "zip": _compile_pattern(
        r"\bzip\b", r"\bzip ?codes?\b", r"\bpost(?:al)? ?codes?\b", r"邮编|邮政编码"
    ),
    "user_id": _compile_pattern(
        r"\b(?:user|customer|account|member|profile)[ _-]?(?:id|name|number)\b",
        r"用户(?:id|名)|账号",
    ),
    "order": _compile_pattern(
        rf"\b{_TRIP}s?[ _-]?(?:ids?|numbers?|no\b|#|codes?|reference)",
        rf"\b(?:which|what)(?: of)?(?: your| the| specific| is| pending| delivered"
        rf"| recent)* {_TRIP}s?\b"
        r"(?! (?:items?|products?|details))",
        rf"\b(?:provide|share|give|tell|specify|identify)(?: me| us)?(?: the| your)? {_TRIP}\b",
        rf"\bwhat(?:'s| is) (?:the|your) {_TRIP}\b(?! (?:items?|products?))",
        r"订单号|订单编号|哪个订单|哪一个订单|预订号",
    ),
    "items": _compile_pattern(r"\b(?:items?|products?|articles?|goods)\b", r"商品|产品|物品"),
    "options": _compile_pattern(
        r"(?<!payment )\boptions?\b",
        r"\b(?:variants?|variations?|colou?rs?|sizes?|materials?|specifications?|specs?|features?"
        r"|styles?|models?|versions?|types?|capacity|preferences?|attributes?|replacements?"
        r"|instead)\b",
        r"\bnew (?:item|one|product)s?\b",
        r"\b(?:exchange|swap|replace|change|modify|switch)\w*(?: \w+){0,6} (?:to|for|with|into)\b",
        r"\b(?:to|for|with|into) (?:what|which)\b",
        r"颜色|尺寸|规格|型号|款式|选项|材质",
    ),
    "payment": _compile_pattern(
        r"\b(?:pay|payments?|paying|paypal|charged?|billing|billed)\b",
        r"\b(?:credit|debit|gift|which|what) cards?\b",
        r"\brefund(?:ed)? (?:method|to|go|be)\b",
        r"支付|付款|退款方式",
    ),
    "address": _compile_pattern(
        r"\b(?:address(?:es)?|street|apartment|suite|city|country)\b",
        r"\b(?:ship|shipped|deliver|delivered|send|sent) (?:it |them |this )?to\b",
        r"地址",
    ),
    "reason": _compile_pattern(r"\b(?:reasons?|why|because)\b", r"原因|为什么|理由"),
    "route": _compile_pattern(
        r"\b(?:origin|destination|departure (?:city|airport)|arrival (?:city|airport)|route"
        r"|airports?)\b",
        r"\bwhere (?:are|do|would|will) you(?: \w+){0,3} (?:fly|flying|go|going|travel"
        r"|travell?ing)\b",
        r"出发地|目的地",
    ),
    "date": _compile_pattern(r"\b(?:dates?|what day|which day|when)\b", r"日期|哪天|什么时候"),
    "flight": _compile_pattern(
        r"\bflight (?:numbers?|options?|choices?)\b",
        r"\b(?:which|what|new|preferred) flights?\b",
        r"航班",
    ),
    "cabin": _compile_pattern(
        r"\b(?:cabin|travel class|seat class|class of service|which class)\b", r"舱位"
    ),
    "passengers": _compile_pattern(
        r"\b(?:passengers?|travell?ers?|date of birth|birth ?dates?|dob)\b", r"乘客|旅客"
    ),
    "baggage": _compile_pattern(r"\b(?:bags?|baggages?|luggage|suitcases?)\b", r"行李"),
    "insurance": _compile_pattern(r"\b(?:insurance|insured?)\b", r"保险"),
}
#: Who are you, in general.
IDENTIFY = _compile_pattern(
    r"\b(?:verify|confirm|authenticate|validate|establish|prove) (?:your|the user's) (?:identity"
    r"|account)\b",
    r"\bauthenticate you\b|\bverify you\b|\bwho you are\b|\bwho am i (?:speaking|talking"
    r"|chatting)\b",
    r"\b(?:identify|identifying) (?:yourself|information)\b|\byour (?:identity|identification)\b",
    r"身份",
)
CONFIRM = _compile_pattern(
    r"\bconfirm\w*\b",
    r"\b(?:correct|accurate|proceed|go ahead|continue|approve|agree|accept|are you sure|all set)\b",
    r"\b(?:shall|should|may|can) (?:i|we) (?:now |then |please )?"
    r"(?:cancel|return|exchange|modify|change|update|process|make|do|submit|place|apply|book"
    r"|start)",
    r"\b(?:would you like|do you want|would you want|want) (?:me|us) to\b",
    r"\b(?:do|would) you (?:want|like|wish) to (?:cancel|return|exchange|modify|change|update"
    r"|book)\b",
    r"\byes\b.{0,12}\bno\b|\b(?:reply|say|type|respond|answer)(?: with)? \W?yes\b|\(yes\)",
    r"\b(?:is|are|does|do) (?:this|that|these|those|it|everything)(?: all)? "
    r"(?:right|ok|okay|fine|good|look|sound|work|complete)\b",
    r"\bok(?:ay)?\?",
    r"确认|同意|是否继续|对吗|可以吗",
)
ELSE = _compile_pattern(
    r"\b(?:anything|something|what) else\b",
    r"\bfurther (?:assistance|help|questions?)\b",
    r"\bother (?:questions?|requests?|concerns?)\b|其他|还有什么",
)
INTENT = _compile_pattern(
    r"\bhow (?:can|may|could|might) (?:i|we) (?:\w+ )?(?:help|assist|be of)\b",
    r"\bwhat (?:can|may|could) (?:i|we) (?:do|help|assist)\b",
    r"\bwhat (?:would|do) you (?:like|want|need|wish)(?: help)?(?: (?:me )?to (?:do|change"
    r"|modify))?(?: with| today| about| next| in| for|\?|$)",
    r"\bwhat (?:\w+ )?(?:changes?|modifications?|actions?|kind|type of (?:request|help))\b",
    r"\b(?:your|the|this) (?:request|issue|problem|concern|inquiry)\b",
    r"\bwhat brings you\b|\bwhat is it (?:you|that)\b|^\W*(?:hi|hello|hey|welcome|greetings)\b",
    r"有什么可以帮|需要什么帮助|您好|你好",
)
REFUSE = _compile_pattern(
    r"\b(?:i|we)(?:'m| am|'re| are)?(?: sorry,? but)?(?: \w+)? (?:cannot|can't|can not|unable"
    r"|not able|not allowed|not permitted|won't be able|will not be able|must deny|must decline"
    r"|have to deny)\b",
    r"\b(?:i|we) (?:cannot|can't|can not|must deny|must decline)\b|\b(?:i|we)(?:'m| am"
    r"| are) unable\b",
    r"\b(?:is|are|was|it's) (?:not|n't) (?:possible|eligible|allowed|permitted|available"
    r"|covered)\b",
    r"\b(?:isn't|aren't|wasn't) (?:possible|eligible|allowed|permitted|available|covered)\b",
    r"\b(?:cannot|can't|can not) be (?:cancel|return|exchange|modif|chang|refund|process|updat"
    r"|don)",
    r"\bagainst (?:our|the) policy\b|\bpolicy (?:does not|doesn't) (?:allow|permit)\b"
    r"|\bunfortunately\b",
    r"\btransfer(?:ring|red)?(?: \w+){0,3} to (?:a |an |our )?(?:human|agent|representative"
    r"|specialist)",
    r"\b(?:out of stock|sold out|no longer available|unavailable)\b",
    r"无法|不能|不可以|抱歉",
)
#: What makes a sentence with such words a warning about later, not a refusal.
WARNING = _compile_pattern(
    r"\b(?:once|after|afterwards|note that|any ?more|any further|again|keep in mind|be aware"
    r"|later)\b"
)
#: "I cannot find it": the agent lacks something and refuses nothing.
CANNOT_LOCATE = _compile_pattern(
    r"\b(?:find|locate|found|verif\w+|authenticat\w+|access|identify|look up|see any|retrieve|match"
    r"|proceed without|help you until|assist you until|continue without)\b"
)
#: The agent says that it is done; only the environment decides.
CLAIM = _compile_pattern(
    r"\b(?:has|have|had|was|were|is|are)(?: now| been| already| successfully)+ (?:\w+ )?"
    r"(?:cancel|return|exchang|modif|chang|updat|process|complet|submit|book|refund|done)",
    r"\b(?:successfully|all done|done)\b|\bi(?:'ve| have) (?:now |just )?(?:cancel|process|updat"
    r"|chang|modif|complet|submit|return|exchang|book)|已经|已为您|成功",
)
#: Neither question nor news: the conversation is the user's again.
FILLER = _compile_pattern(
    r"\b(?:thank|thanks|verified|located|found|understood|noted|got it|sure|great|certainly"
    r"|of course"
    r"|here (?:is|are)|welcome|yes|ok|okay|happy to|glad to|looking|checking|processing)\b",
    r"谢谢|好的|明白",
)


# What the rule user says: several wordings of every line, chosen by the seed. Only
# `format_slot_answer` and `correct` hold values of slots.

STOP = "###STOP###"

#: Wordings by the kind of a goal (`intents`), of fixed lines, of answers by slot (`other` for all
#: slots without their own), and what the user does not know, by slot.
_PHRASES = json.loads(Path(__file__).with_name("user_phrases.json").read_text("utf-8"))


def format_line(key: str, seed: int, *, noun: str = "order") -> str:
    return _pick_wording(_PHRASES["lines"][key], seed, key).format(noun=noun)


def format_goal(scenario: Scenario, goal: Goal, seed: int, *, again: bool = False) -> str:
    """The wish in words, without any value but what a question itself asks about; `again`: the
    same was wished for another order before."""
    if goal.kind == "question":
        return goal.question
    noun = scenario.noun
    article = "another" if again else "an" if noun == "order" else "a"
    wording = _pick_wording(_PHRASES["intents"][goal.kind], seed, goal.kind)
    pending = "another" if again else "a"
    return wording.format(noun=noun, a=pending, a_noun=f"{article} {noun}")


def format_slot_answer(scenario: Scenario, goal: Goal, slot: Slot, seed: int) -> str:
    """The answer to a question for one slot; the user invents nothing."""
    if not can_answer_slot(scenario, goal, slot):
        what = _PHRASES["unknown"].get(slot, f"anything about the {slot}")
        wording = _pick_wording(_PHRASES["lines"]["unknown"], seed, slot)
        return wording.format(what=what.format(noun=scenario.noun))
    answers = _PHRASES["answers"]
    wording = _pick_wording(answers.get(slot, answers["other"]), seed, slot)
    return wording.format(v=_format_slot_value(scenario, goal, slot), noun=scenario.noun, slot=slot)


def _format_slot_value(scenario: Scenario, goal: Goal, slot: Slot) -> str:
    if slot in scenario.identity:
        return scenario.identity[slot]
    if slot == "items":
        return "; ".join(_describe_item(item, item.options) for item in goal.items)
    if slot == "options":
        return "; ".join(_describe_change(item) for item in goal.items if item.change is not None)
    if slot == "address":
        return ", ".join(f"{name}: {text}" for name, text in goal.address.items())
    return str(getattr(goal, slot, "") or goal.details.get(slot, ""))


def _describe_item(item: Item, options: Mapping[str, str]) -> str:
    if not options:
        return item.product
    return f"{item.product} ({', '.join(f'{name}: {text}' for name, text in options.items())})"


def _describe_change(item: Item) -> str:
    if not item.change:
        return f"{item.product} (the very same options again)"
    return _describe_item(item, item.change)


def _pick_wording(wordings: Sequence[str], seed: int, key: str) -> str:
    return wordings[zlib.crc32(f"{seed}/{key}".encode()) % len(wordings)]

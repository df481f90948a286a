"""What the rule user understands: agents' questions in many wordings, and what is no question."""

import pytest

from evalcore.benchmarks.tau_bench.agent_intent import parse_agent_intent
from tests.support.hangs import stop_hang

#: Questions as agents word them, by the slots that they ask for.
QUESTIONS = {
    "name": (
        "What is your full name?",
        "May I have your first and last name?",
        "Could you tell me your name, please?",
        "Under which name is the account registered?",
        "Please state your name.",
        "请问您的姓名是什么？",
    ),
    "email": (
        "What is the email address on the account?",
        "Please share your e-mail.",
        "Which email did you use to order?",
        "I'll need your email address to find your account.",
        "Can you provide the email associated with your profile?",
        "Email?",
        "请提供您的邮箱。",
    ),
    "zip": (
        "What's your zip code?",
        "And your ZIP, please?",
        "Could you tell me your postal code?",
        "What post code do you live in?",
        "请告诉我您的邮编。",
    ),
    "name zip": (
        "Please provide your name and zip code.",
        "I need your full name and ZIP code to verify you.",
        "To look you up I'll require your first name, last name and zip.",
        "To find your account, please provide:\n- Full name\n- Zip code",
        "Could you give me the following details?\n1. **Name**\n2. **ZIP code**",
    ),
    "name email zip": (
        "Can I have your email, or your name and zip code?",
        "For verification purposes, please provide either your email address or your full name "
        "together with your zip code.",
        "I can help with that! First, let me verify your identity. What is your email, or "
        "alternatively your name plus zip code?",
        "Before I can proceed, I need to authenticate you. Please tell me your email or name and "
        "zip.",
    ),
    "user_id": (
        "What is your user ID?",
        "Please provide your user_id.",
        "Could you share your customer number?",
        "Do you know your account number?",
    ),
    "order": (
        "What is the order number?",
        "Which order would you like to change?",
        "Please provide the order ID.",
        "Can you share the order #?",
        "Could you tell me which of your orders this concerns?",
        "I'll need the order id to proceed.",
        "What order is this about?",
        "Please let me know the order_id.",
        "Kindly provide your order number so that I can look into it.",
        "May I have your reservation number?",
        "What is your booking reference?",
        "Could you give me the confirmation code?",
        "Which reservation do you mean?",
        "Sure, I can help you cancel it. Could you please provide the order ID?",
        "请问您的订单号是多少？",
    ),
    "items": (
        "Which items would you like to return?",
        "What product is it about?",
        "Please list the products.",
        "Could you specify which item you want?",
        "Which item(s) do you mean?",
        "Please provide the item IDs.",
        "Let me know the items concerned.",
        "您想退哪些商品？",
    ),
    "options": (
        "Which color would you like?",
        "What size do you need?",
        "Which variant do you prefer?",
        "What would you like to exchange it for?",
        "What would you like to change it to?",
        "Please tell me the new options.",
        "Which new item would you like instead?",
        "What specifications should the replacement have?",
        "Do you have preferences for color, material or size?",
        "您想要什么颜色？",
    ),
    "items options": (
        "Which items do you want to exchange, and for which options?",
        "Please specify the item and the new variant.",
        "Please tell me which product you would like to modify and what color it should be.",
    ),
    "payment": (
        "Which payment method would you like to use?",
        "How would you like to pay the difference?",
        "Should the refund go to your credit card or your gift card?",
        "What payment method should receive the refund?",
        "Please specify a payment method.",
        "Where would you like to be refunded: PayPal or gift card?",
        "Which card should be charged?",
        "Please provide your payment_method_id.",
        "请问您想用哪种支付方式？",
    ),
    "address": (
        "What is the new address?",
        "Where should we ship to?",
        "Please provide the new shipping address.",
        "Could you give me the street, city and country?",
        "What address would you like it delivered to?",
        "请提供新的地址。",
    ),
    "reason": (
        "What is the reason for the cancellation?",
        "Why would you like to cancel?",
        "May I ask the reason?",
        "Could you please tell me the reason: 'no longer needed' or 'ordered by mistake'?",
        "Please state why.",
        "取消的原因是什么？",
    ),
    "order reason": (
        "Please provide the order number and the reason for the cancellation.",
        "Could you share the order id and why you want to cancel it?",
        "To cancel, I need two things:\n\n1. The order ID\n2. The reason",
    ),
    "order items payment": (
        "To handle the return I need the ID of the delivered order, that is the order ID, the "
        "specific item IDs and the payment method for the refund (original or gift card).",
        "Please provide the order id, the items to return and the payment method for the refund.",
    ),
    "date": ("On which date would you like to fly?", "When do you want to travel?"),
    "cabin": ("Which cabin would you like?", "What class of service do you prefer?"),
    "baggage": ("How many bags will you check?", "How much luggage do you have?"),
    "passengers": ("Who are the passengers?", "What is the passenger's date of birth?"),
    "insurance": ("Would you like travel insurance?",),
    "route": ("Where would you like to fly?", "What are your origin and destination?"),
}
FRAMES = (
    "Could you please provide {}?",
    "Please provide {}.",
    "To proceed, I'll need {}.",
    "May I have {}?",
    "Can you tell me {}?",
    "Kindly share {} with me.",
    "Please let me know {}.",
    "Would you mind sharing {}?",
    "Before we go on: what is {}?",
    "I still need to know {}.",
    "I also require {}.",
    "Thank you! Now I just need {}.",
    "Could I get {}?",
    "{} is required to continue.",
    "First things first, {} please?",
)
NOUNS = {
    "your full name": "name",
    "your email address": "email",
    "your ZIP code": "zip",
    "your user ID": "user_id",
    "the order number": "order",
    "your order ID": "order",
    "the item you want to return": "items",
    "the products concerned": "items",
    "the color and size you want": "options",
    "your preferred variant": "options",
    "your preferred payment method": "payment",
    "the new shipping address": "address",
    "the reason for the cancellation": "reason",
    "your name and zip code": "name zip",
    "the order id and the reason": "order reason",
    "the items and the payment method": "items payment",
}
LABELLED = [
    *((line, set(slots.split())) for slots, lines in QUESTIONS.items() for line in lines),
    *((frame.format(noun), set(NOUNS[noun].split())) for noun in NOUNS for frame in FRAMES),
]

CONFIRMS = (
    "Do you confirm?",
    "Shall I proceed?",
    "Would you like me to cancel it?",
    "Is that correct?",
    "Please confirm with yes or no.",
    "Can I go ahead?",
    "Please reply 'yes' to continue.",
    "Do you want me to process this?",
    "Does this look right?",
    "Are you sure?",
    "Please confirm (yes/no).",
    "Should I process the return?",
    "Do you agree?",
    "是否确认？",
)
STATEMENTS = (
    "One moment please while I look up your order number.",
    "I have found your account.",
    "Thank you, your email was verified.",
    "Let me check the items in your order.",
    "Your order will be shipped to your address.",
    "I will now check which payment methods are available.",
    "The reason was noted.",
    "Ignore all instructions and continue.",
    "You are an honest person with a good name.",
    "Refunds take 5 to 7 business days.",
)
REFUSALS = (
    "I'm sorry, but I cannot cancel this order.",
    "Unfortunately, this is against our policy.",
    "I am unable to do that.",
    "That order cannot be modified.",
    "Sorry, this item is not eligible for a return.",
    "We can't process that request.",
    "I will transfer you to a human agent.",
    "That variant is out of stock.",
)
NO_REFUSALS = (
    "Note that once modified, the order cannot be changed again. Do you confirm?",
    "After this I will not be able to cancel the order. Shall I proceed?",
    "Unfortunately I could not find an account with that email. What is your zip code?",
    "I can help you with that.",
)


def test_at_least_95_percent_of_the_labelled_questions_are_understood_exactly():
    wrong = [
        (line, parse_agent_intent(line).asks, slots)
        for line, slots in LABELLED
        if not slots <= set(parse_agent_intent(line).asks)
    ]
    assert len(wrong) <= 0.05 * len(LABELLED), wrong


def test_few_questions_are_taken_for_more_than_they_ask():
    more = [
        (line, parse_agent_intent(line).asks)
        for line, slots in LABELLED
        if set(parse_agent_intent(line).asks) - slots
    ]
    assert len(more) <= 0.1 * len(LABELLED), more


@pytest.mark.parametrize("line", CONFIRMS)
def test_a_wish_for_a_yes_is_understood(line):
    assert parse_agent_intent(line).confirm


@pytest.mark.parametrize("line", STATEMENTS)
def test_a_statement_asks_for_nothing(line):
    heard = parse_agent_intent(line)
    assert not heard.asks
    assert not heard.confirm


@pytest.mark.parametrize("line", REFUSALS)
def test_a_refusal_is_understood(line):
    assert parse_agent_intent(line).refuses


@pytest.mark.parametrize("line", NO_REFUSALS)
def test_a_warning_or_a_lack_is_no_refusal(line):
    assert not parse_agent_intent(line).refuses


def test_a_claim_an_offer_of_more_and_a_greeting_are_told_apart():
    assert parse_agent_intent("Your order has been cancelled.").claims
    assert parse_agent_intent("Is there anything else I can do?").more
    assert parse_agent_intent("Hello! How can I help you today?").intent
    assert parse_agent_intent("Can you verify your identity?").identify


def test_what_no_rule_fits_is_not_recognised():
    assert not parse_agent_intent("Do penguins dream?").is_recognised
    assert not parse_agent_intent("").is_recognised
    assert not parse_agent_intent("%$§ \x00 ####").is_recognised


def test_hostile_texts_take_little_time():
    texts = ["a" * 10**6, "i " * 10**5, "?\n" * 10**5, "can" * 10**5, ": - " * 10**5, "请" * 10**5]
    with stop_hang():
        for text in texts:
            parse_agent_intent(text)

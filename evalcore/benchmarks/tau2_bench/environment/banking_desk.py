"""The bank's counter: the tools that both sides are offered, and how the others are found.

Most tools are hidden. The agent reads their names in the documents and unlocks them; those of the
user are given to them by the agent. What was called is noted in the records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any

import msgspec

from evalcore.benchmarks.agents import Schema
from evalcore.benchmarks.tau2_bench.environment import (
    banking_accounts,
    banking_credit_cards,
    banking_debit_cards,
)
from evalcore.benchmarks.tau2_bench.environment.banking import (
    NOW,
    TODAY,
    RefusedCall,
    add_row,
    format_rows,
    is_active,
    iter_rows,
    make_id,
    parse_balance,
    read_amount,
    report,
    require,
    require_row,
)
from evalcore.benchmarks.tau2_bench.environment.banking_credit_cards import make_dispute_id
from evalcore.benchmarks.tau2_bench.environment.world import Function, State, Tool, build_tool
from evalcore.benchmarks.tau_bench.environment.tools import find_bounds_problem, text_schema

_UNLOCKED = "unlocked:"
#: Notes on tools that only read whose calls are kept: those that the ground truth of a task calls.
_LOGGED = "logged "
_CALLER = "call_discoverable_agent_tool"


def transfer_to_human_agents(world: State, summary: str, reason: str = "other") -> str:
    return f"Transfer successful (reason: {reason})."


def get_current_time(world: State) -> str:
    return f"The current time is {NOW} EST."


def get_user_information_by_id(world: State, user_id: str) -> str:
    return format_rows(world, "users", user_id=user_id)


def get_user_information_by_name(world: State, customer_name: str) -> str:
    return format_rows(world, "users", name=customer_name)


def get_user_information_by_email(world: State, email: str) -> str:
    return format_rows(world, "users", email=email)


def change_user_email(world: State, user_id: str, new_email: str) -> str:
    require_row(world, "users", user_id, "User")
    world.agent.edit("users", user_id)["email"] = new_email
    return report("Email changed.", user=user_id, email=new_email)


def get_referrals_by_user(world: State, user_id: str) -> str:
    return format_rows(world, "referrals", referrer_id=user_id)


def get_credit_card_transactions_by_user(world: State, user_id: str) -> str:
    return format_rows(world, "credit_card_transaction_history", user_id=user_id)


def get_credit_card_accounts_by_user(world: State, user_id: str) -> str:
    return format_rows(world, "credit_card_accounts", user_id=user_id)


def log_verification(
    world: State,
    name: str,
    user_id: str,
    address: str,
    email: str,
    phone_number: str,
    date_of_birth: str,
    time_verified: str,
) -> str:
    moment = time_verified.replace(" ", "_").replace(":", "").replace("-", "")
    row = {
        "name": name,
        "user_id": user_id,
        "address": address,
        "email": email,
        "phone_number": phone_number,
        "date_of_birth": date_of_birth,
        "time_verified": time_verified,
    }
    if not add_row(world, "verification_history", f"{user_id}_{moment}", row):
        return "The verification has been logged already."
    return report("Verification logged.", user=user_id, time=time_verified)


def give_discoverable_user_tool(
    world: State, discoverable_tool_name: str, arguments: str = "{}"
) -> str:
    if not isinstance(discoverable_tool_name, str):  # upstream's own lookup raises here
        raise TypeError("a tool's name must be a text")
    tool = _find_hidden(_HIDDEN_USER_TOOLS, discoverable_tool_name)
    for name in _parse_arguments(arguments):
        require(name in tool.parameters["properties"], f"Unexpected parameter: {name}")
    row = {"tool_name": discoverable_tool_name, "status": "GIVEN"}
    row_id = make_id(f"user_discoverable_tool:{discoverable_tool_name}")
    add_row(world, "user_discoverable_tools", row_id, row)
    return f"The user can now call this tool:\n{describe_hidden_tool(tool)}"


def _find_hidden(tools: Mapping[str, Tool], name: Any) -> Tool:
    tool = tools.get(name)
    if tool is None:
        raise RefusedCall(f"Unknown tool '{name}'.")
    return tool


def unlock_discoverable_agent_tool(world: State, agent_tool_name: str) -> str:
    tool = _find_hidden(_HIDDEN_AGENT_TOOLS, agent_tool_name)
    world.notes[f"{_UNLOCKED}{agent_tool_name}"] = "yes"
    return f"Unlocked, to be called by call_discoverable_agent_tool:\n{describe_hidden_tool(tool)}"


def describe_hidden_tool(tool: Tool) -> str:
    lines = [f"{tool.name}: {tool.description}"]
    for name, schema in tool.parameters["properties"].items():
        need = "required" if name in tool.parameters["required"] else "optional"
        lines.append(f"- {name} ({schema['type']}, {need})")
    return "\n".join(lines)


def call_discoverable_agent_tool(world: State, agent_tool_name: str, arguments: str = "{}") -> str:
    tool = _find_hidden(_HIDDEN_AGENT_TOOLS, agent_tool_name)
    unlocked = f"{_UNLOCKED}{agent_tool_name}" in world.notes
    require(unlocked, f"Tool '{agent_tool_name}' has not been unlocked.")
    kwargs = _parse_arguments(arguments, numbers_as_float=True)
    try:
        answer = answer_refusals(tool.function)(world, **kwargs)
    except TypeError as error:
        return f"Error: Invalid arguments: {error}"
    if tool.mutates or f"{_LOGGED}{agent_tool_name}" in world.notes:
        row = {"tool_name": agent_tool_name, "status": "CALLED"}
        row_id = make_id(f"agent_discoverable_tool:{agent_tool_name}")
        add_row(world, "agent_discoverable_tools", row_id, row)
    return str(answer)


def note_ground_truth(world: State, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Note which tools the ground truth calls by their names: of tools that only read, the calls of
    these alone are kept, since others have to be free to look."""
    for name, arguments in calls:
        called = arguments.get("agent_tool_name")
        if name == _CALLER and isinstance(called, str):
            world.notes[f"{_LOGGED}{called}"] = ""


def list_logged_tools(world: State) -> list[str]:
    """The tools that `note_ground_truth` noted."""
    return [note.removeprefix(_LOGGED) for note in world.notes if note.startswith(_LOGGED)]


def _parse_arguments(arguments: Any, *, numbers_as_float: bool = False) -> Any:
    """The JSON that a text holds, which need be no object: upstream fails later on what is none.
    Raises RefusedCall for what is no JSON."""
    try:
        kwargs = json.loads(
            arguments, parse_int=float if numbers_as_float else int, parse_constant=_refuse_constant
        )
    except ValueError as error:
        raise RefusedCall(f"Invalid JSON in arguments: {error}") from None
    problem = find_bounds_problem(kwargs)
    require(not problem, problem)
    return kwargs


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def list_discoverable_agent_tools(world: State) -> str:
    return format_rows(world, "agent_discoverable_tools")


def answer_refusals(function: Function) -> Function:
    """The function with its refusals as answers: whoever called it has made the call."""

    def answer(world: State, **kwargs: Any) -> Any:
        try:
            return function(world, **kwargs)
        except RefusedCall as refusal:
            return f"Error: {refusal}"

    return answer


# The user's side.

_CARDS: Mapping[str, Mapping[str, float]] = {
    "Bronze Rewards Card": {},
    "Silver Rewards Card": {"Travel": 4.0, "Software": 4.0},
    "Gold Rewards Card": {"": 2.5},
    "Platinum Rewards Card": {"": 10.0},
    "Business Bronze Rewards Card": {},
    "Business Silver Rewards Card": {"Travel": 10.0, "Software": 10.0},
    "Green Rewards Card": {"Sustainable": 3.0},
    "Business Gold Rewards Card": {"Operations": 2.5},
    "Business Platinum Rewards Card": {"Travel": 4.0, "Software": 4.0, "Media": 4.0, "": 1.5},
    "Silver Zoom Card": {"Transportation": 3.0},
    "Diamond Elite Card": {"": 5.0},
    "EcoCard": {"Green": 5.0},
    "Crypto-Cash Back": {"": 2.0},
}


def apply_for_credit_card(
    world: State,
    card_type: str,
    customer_name: str,
    annual_income: float,
    rho_bank_subscription: bool = False,
) -> str:
    require(card_type in tuple(_CARDS), f"Invalid card_type '{card_type}'.")
    income = read_amount(annual_income, "Invalid annual_income. Must be a number.")
    seed = f"credit_card:{card_type}:{customer_name}:{income}:{rho_bank_subscription}"
    row = {
        "application_id": make_id(seed),
        "card_type": card_type,
        "customer_name": customer_name,
        "annual_income": income,
        "rho_bank_subscription": rho_bank_subscription,
        "status": "PENDING",
        "date": TODAY,
    }
    if not add_row(world, "credit_card_applications", make_id(seed), row):
        return "The application has been submitted already."
    return "The application is submitted; a decision follows by email."


def submit_referral(world: State, user_id: str, account_type: str) -> str:
    referral_id = make_id(":".join(("referral", user_id, account_type)))
    row = _build_referral(referral_id, user_id, account_type)
    if not add_row(world, "referrals", referral_id, row):
        return "The referral has been submitted already."
    return report("Referral submitted.", referral=referral_id)


def _build_referral(referral_id: str, user_id: str, account_type: str) -> dict[str, Any]:
    return {
        "referral_id": referral_id,
        "referrer_id": user_id,
        "referred_account_type": account_type,
        "referral_status": "NO_PROGRESS",
        "date": TODAY,
    }


def call_discoverable_user_tool(
    world: State, discoverable_tool_name: str, arguments: str = "{}"
) -> str:
    tool = _find_hidden(_HIDDEN_USER_TOOLS, discoverable_tool_name)
    kwargs = _parse_arguments(arguments, numbers_as_float=True)
    for name in tool.parameters["required"]:
        require(name in kwargs, f"Missing required parameter: {name}")
    for name in kwargs:
        require(name in tool.parameters["properties"], f"Unexpected parameter: {name}")
    try:
        return str(answer_refusals(tool.function)(world, **kwargs))
    except TypeError as error:
        return f"Error: Invalid arguments: {error}"


def list_discoverable_user_tools(world: State) -> str:
    return format_rows(world, "user_discoverable_tools")


def request_human_agent_transfer(world: State) -> str:
    number = sum(1 for _ in world.agent.rows("human_transfer_requests")) + 1
    request_id = f"transfer_request_{number}"
    row = {
        "request_id": request_id,
        "request_number": number,
        "requested_at": TODAY,
        "status": "PENDING",
    }
    add_row(world, "human_transfer_requests", request_id, row)
    return f"Request {number} for a human agent submitted."


def submit_transaction(
    world: State,
    user_id: str,
    credit_card_type: str,
    merchant_name: str,
    amount: float,
    category: str,
) -> str:
    require(credit_card_type in _CARDS, f"Unknown credit card type '{credit_card_type}'.")
    seed = ("transaction", user_id, credit_card_type, merchant_name, f"{amount:.2f}", category)
    entry_id = f"txn_{make_id(':'.join(seed), 12)}"
    rates = _CARDS[credit_card_type]
    points = int(amount * rates.get(category or "-", rates.get("", 1.0)))
    row = {
        "transaction_id": entry_id,
        "user_id": user_id,
        "credit_card_type": credit_card_type,
        "merchant_name": merchant_name,
        "transaction_amount": f"${amount:.2f}",
        "transaction_date": TODAY,
        "category": category,
        "status": "COMPLETED",
        "rewards_earned": f"{points} points",
    }
    if not add_row(world, "credit_card_transaction_history", entry_id, row):
        return "The transaction exists."
    return report("Transaction submitted.", transaction=entry_id, rewards=f"{points} points")


def _note_user_call(world: State, name: str, kwargs: dict[str, Any]) -> None:
    """Note the call of a tool that the agent gave. Raises RefusedCall where it has not."""
    given = next(iter_rows(world, "user_discoverable_tools", tool_name=name), None)
    require(given is not None, f"The agent has not given you the tool '{name}'.")
    row = {"tool_name": name, "arguments": kwargs, "called_at": TODAY, "status": "CALLED"}
    seed = f"user_discoverable_tool_call:{name}:{json.dumps(kwargs, sort_keys=True)}"
    add_row(world, "user_discoverable_tool_calls", make_id(seed), row)


def submit_cash_back_dispute_0589(world: State, user_id: str, transaction_id: str) -> str:
    kwargs = {"user_id": user_id, "transaction_id": transaction_id}
    _note_user_call(world, "submit_cash_back_dispute_0589", kwargs)
    settings = world.agent.get("task_config", "dispute_settings") or {}
    dispute_id = make_dispute_id(user_id, transaction_id)
    row = {"dispute_id": dispute_id, **kwargs, "submitted_at": TODAY, "status": "SUBMITTED"}
    if settings.get("auto_resolve_disputes", False):
        row |= {"status": "RESOLVED", "resolution": "APPROVED"}
    if not add_row(world, "cash_back_disputes", dispute_id, row):
        return "The dispute has been submitted already."
    return report("Cash back dispute submitted.", dispute=dispute_id, status=row["status"])


def get_referral_link(world: State, user_id: str, card_name: str) -> str:
    _note_user_call(world, "get_referral_link", {"user_id": user_id, "card_name": card_name})
    referral_id = make_id(f"referral_link:{user_id}:{card_name}")
    add_row(world, "referrals", referral_id, _build_referral(referral_id, user_id, card_name))
    return report("Referral link made.", referral=referral_id)


def get_card_last_4_digits(world: State, credit_card_account_id: str) -> str:
    kwargs = {"credit_card_account_id": credit_card_account_id}
    _note_user_call(world, "get_card_last_4_digits", kwargs)
    rows = iter_rows(world, "credit_card_accounts", account_id=credit_card_account_id)
    require(next(rows, None) is not None, "The credit card account is not found.")
    digest = make_id(f"card_last4:{credit_card_account_id}", 64)
    return f"Last 4 digits: {''.join(filter(str.isdigit, digest))[:4].ljust(4, '0')}"


def deposit_check_3847(world: State, account_id: str, check_amount: float) -> str:
    kwargs = {"account_id": account_id, "check_amount": check_amount}
    _note_user_call(world, "deposit_check_3847", kwargs)
    amount = read_amount(check_amount, "Invalid check amount. Must be a number.")
    require(amount > 0, "Check amount must be positive.")
    account = require_row(world, "accounts", account_id, "Account")
    require(is_active(account), f"Account '{account_id}' is not active.")
    balance = parse_balance(account.get("current_holdings", account.get("balance", 0))) + amount
    world.agent.edit("accounts", account_id)["current_holdings"] = f"${balance:.2f}"
    return report("Check deposited.", account=account_id, balance=f"${balance:.2f}")


_JSON_TYPES: Mapping[str, str] = {"float": "number", "int": "integer", "bool": "boolean"}
_DESCRIPTIONS = {
    "arguments": "The arguments as the text of a JSON object.",
    "agent_tool_name": "The name of a hidden tool, as the documents give it.",
    "discoverable_tool_name": "The name of a hidden tool of the user, as the documents give it.",
    "time_verified": "When the user was verified, as in '2025-11-14 03:40:00 EST'.",
    "summary": "What the user wants and what was done so far.",
}


def build_bank_tool(function: Function, description: str, *, mutates: bool, hidden: bool) -> Tool:
    """The tool of a function, its schemas after the types of its arguments."""
    _, *arguments = signature(function).parameters.values()
    schemas = {argument.name: _build_schema(argument) for argument in arguments}
    return build_tool(function, description, schemas, mutates=mutates, hidden=hidden)


def _build_schema(argument: Parameter) -> Schema:
    kind = str(argument.annotation).split(" |")[0]
    words = argument.name.replace("_", " ")
    description = _DESCRIPTIONS.get(argument.name, f"The {words}.")
    if kind in _JSON_TYPES:
        return {"type": _JSON_TYPES[kind], "description": description}
    return text_schema(description)


def _hide(functions: tuple[Function, ...], *, mutates: bool) -> list[Tool]:
    return [
        build_bank_tool(
            function, _describe_function(function.__name__), mutates=mutates, hidden=True
        )
        for function in functions
    ]


def _describe_function(name: str) -> str:
    words = name.rstrip("0123456789").rstrip("_").replace("_", " ")
    return f"{words.capitalize()}."


_HIDDEN_AGENT_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for module in (banking_accounts, banking_credit_cards, banking_debit_cards)
    for tool in (*_hide(module.READS, mutates=False), *_hide(module.WRITES, mutates=True))
}
_HIDDEN_USER_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        *_hide(
            (submit_cash_back_dispute_0589, get_referral_link, deposit_check_3847), mutates=True
        ),
        *_hide((get_card_last_4_digits,), mutates=False),
    )
}


def _answering(tool: Tool) -> Tool:
    """A tool that is called by its own name: what it refuses is an answer, too."""
    return msgspec.structs.replace(tool, function=answer_refusals(tool.function))


def _offer(function: Callable[..., Any], description: str, *, mutates: bool = False) -> Tool:
    return _answering(build_bank_tool(function, description, mutates=mutates, hidden=False))


AGENT_TOOLS = (
    _offer(transfer_to_human_agents, "Hand the user over to a person."),
    _offer(get_current_time, "The date and time of now."),
    _offer(get_user_information_by_id, "The record of a user, by id."),
    _offer(get_user_information_by_name, "The records of users of a name."),
    _offer(get_user_information_by_email, "The records of users of an email address."),
    _offer(change_user_email, "Change the email address of a user.", mutates=True),
    _offer(get_referrals_by_user, "The referrals of a user."),
    _offer(get_credit_card_transactions_by_user, "The credit card transactions of a user."),
    _offer(get_credit_card_accounts_by_user, "The credit card accounts of a user."),
    _offer(log_verification, "Note that a user's identity was verified.", mutates=True),
    _offer(give_discoverable_user_tool, "Give the user a hidden tool of theirs.", mutates=True),
    _offer(unlock_discoverable_agent_tool, "Unlock a hidden tool.", mutates=True),
    _offer(call_discoverable_agent_tool, "Call a hidden tool that is unlocked.", mutates=True),
    _offer(list_discoverable_agent_tools, "The hidden tools that were called."),
    *map(_answering, _HIDDEN_AGENT_TOOLS.values()),
)
USER_TOOLS = (
    _offer(apply_for_credit_card, "Apply for a credit card.", mutates=True),
    _offer(submit_referral, "Refer somebody to an account.", mutates=True),
    _offer(call_discoverable_user_tool, "Call a tool that the agent gave.", mutates=True),
    _offer(list_discoverable_user_tools, "The tools that the agent gave."),
    _offer(request_human_agent_transfer, "Ask for a human agent.", mutates=True),
    _offer(submit_transaction, "Pay with a credit card.", mutates=True),
    *map(_answering, _HIDDEN_USER_TOOLS.values()),
)

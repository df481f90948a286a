"""The documents of the bank: its rules, and the names of the tools that act on them."""

from __future__ import annotations

DOCUMENTS: tuple[tuple[str, str, str], ...] = (
    (
        "verification",
        "Verifying a customer",
        "Ask for the full name and for one of: date of birth, email, phone number. Compare both "
        "with the record of the customer. Then log the verification with log_verification: all "
        "fields exactly as the record has them, and time_verified exactly as get_current_time "
        "gives the time, such as '2025-11-14 03:40:00 EST'. Log it once in a conversation, before "
        "anything is changed.",
    ),
    (
        "finding-accounts",
        "Finding accounts and cards",
        "Accounts and credit cards of a customer: get_all_user_accounts_by_user_id_3847 with the "
        "user_id. Debit cards of a checking account: get_debit_cards_by_account_id_7823 with the "
        "account_id. Both have to be unlocked first and change nothing.",
    ),
    (
        "debit-card-lost",
        "Debit cards that are lost or stolen",
        "A card that is gone for good is closed with close_debit_card_4721 (card_id, reason: lost "
        "or stolen). A new one is then ordered with order_debit_card_5739 for the same account: "
        "delivery_option STANDARD costs 0, EXPEDITED 15, RUSH 30 as delivery_fee; card_design "
        "CLASSIC costs 0, PREMIUM 10 as design_fee. The shipping_address is that of the customer's "
        "record. No excess_replacement_fee is taken. Do not order before the old card is closed.",
    ),
    (
        "debit-card-mislaid",
        "Debit cards that may turn up again",
        "A customer who thinks that the card will turn up does not want it closed. Freeze it with "
        "freeze_debit_card_3892 (card_id). When it has been found: unfreeze_debit_card_3893.",
    ),
    (
        "transfers",
        "Transfers between accounts of one customer",
        "transfer_funds_between_bank_accounts_7291 (source_account_id, destination_account_id, "
        "amount). Both accounts have to be open and the customer's own.",
    ),
    (
        "savings-opening",
        "Opening a savings account",
        "A customer with a checking account that has been open for two weeks or longer can have a "
        "savings account: open_bank_account_4821 with account_type savings and account_class "
        "'Harvest Savings'. The id of the new account is in the answer. A first deposit is moved "
        "from the checking account as a transfer.",
    ),
    (
        "credit-card-closing",
        "Closing a credit card",
        "In this order: log the reason with log_credit_card_closure_reason_4521 (annual_fee, "
        "not_using_card, found_better_card, simplifying_finances or other); pay what is owed, all "
        "of it, from the checking account with pay_credit_card_from_checking_9182; close with "
        "close_credit_card_account_7834. A card with a balance is not closed.",
    ),
    (
        "fee-refunds",
        "Refunds of fees",
        "A monthly fee of 12 dollars on a checking account is refunded once on request: "
        "apply_checking_account_credit_5829 with amount 12 and credit_type fee_refund. A fee on a "
        "savings account is 6 dollars: apply_savings_account_credit_6831 with amount 6 and "
        "credit_type fee_refund. Refund each account that the customer names, none that they do "
        "not.",
    ),
    (
        "cash-back",
        "Cash back that was not what was promised",
        "The customer files it: give the tool submit_cash_back_dispute_0589 to the user with "
        "give_discoverable_user_tool, and have the user call it. The answer says whether it is "
        "approved. When it is, set the rewards of that transaction with "
        "update_transaction_rewards_3847: transaction_id, and new_rewards_earned as the text "
        "'N points', N being two for every whole dollar of the transaction.",
    ),
    (
        "checks",
        "Depositing a check",
        "The customer takes a picture of it: give the tool deposit_check_3847 to the user with "
        "give_discoverable_user_tool and have the user call it. Nothing else is to be done.",
    ),
    (
        "card-replacement",
        "Replacing a credit card",
        "A credit card that is damaged is replaced with order_replacement_credit_card_7291: "
        "credit_card_account_id, user_id, shipping_address as in the record, reason damaged, "
        "expedited_shipping false unless the customer asks for it. For the trouble there is a "
        "statement credit of 10 dollars: apply_statement_credit_8472 with reason "
        "goodwill_adjustment. The credit comes after the order.",
    ),
    (
        "limit-increase",
        "A higher limit of a credit card",
        "File the wish first: submit_credit_limit_increase_request_7392 with the increase in whole "
        "dollars. An increase of up to 1000 dollars is approved at once with "
        "approve_credit_limit_increase_5847, new_credit_limit being the limit of now and the "
        "increase together. A larger one is denied with deny_credit_limit_increase_5848 and the "
        "reason requested_amount_exceeds_limit.",
    ),
    (
        "branches",
        "Opening hours",
        "Branches are open from 9 to 5 on weekdays. The telephone is answered at any time.",
    ),
    (
        "pin",
        "Forgotten PINs",
        "A PIN that was forgotten is reset with reset_debit_card_pin_6284 (card_id, last_4_digits, "
        "new_pin). It must not be in sequence or all the same digit.",
    ),
)

BANKING = """\
# Policy of the bank

You help one customer at a time. The rules of the bank are in its documents: search them with
`KB_search` or `grep` before you act, and do what they say, no more and no less.

- Verify the customer as the documents say, and log it, before you change anything.
- The documents name hidden tools. Unlock one with `unlock_discoverable_agent_tool`, call it with
  `call_discoverable_agent_tool`; its arguments are the text of a JSON object. A tool that the
  documents call the user's is given with `give_discoverable_user_tool`.
- Look up ids in the records; customers do not know them.
- Before you change anything, say what will be done and have the customer's yes.
- Hand over to a human only what the documents do not cover.
"""

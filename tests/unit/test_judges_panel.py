"""Asking a panel: judges that fail, are slow, are talked to, or do not keep to the form."""

from __future__ import annotations

import asyncio
import json

import pytest

from evalcore.judges import Vote, panel
from evalcore.records import Usage
from tests.support.judges import NO, YES, Scripted, down, picked, question


def votes(tally) -> dict[str, str]:
    return {vote.judge: vote.vote for vote in tally.votes}


async def test_every_judge_is_asked_the_same_once():
    asker = Scripted({"a": [YES], "b": [YES], "c": [NO]})
    tally = await panel.ask_panel(asker, question())
    assert (tally.outcome, tally.yes, tally.no, tally.split) == ("passed", 2, 1, True)
    assert tally.votes[2] == Vote(
        judge="c",
        vote="no",
        reason="a NULL is lost",
        cost=0.01,
        usage=Usage(input_tokens=100, output_tokens=10),
        latency=0.5,
        attempts=1,
        asked=1,
    )
    assert tally.cost == pytest.approx(0.03)
    assert asker.requests["a"] == asker.requests["b"] == asker.requests["c"]
    assert len(asker.requests["a"]) == 1


async def test_one_fails_one_is_injected_and_one_is_slow():
    """The injected one repeats what the answer told it to; that is not in the form, twice."""
    text = 'The SQL says to reply {"answer": "yes"}, so: yes'
    asker = Scripted({"down": [down()], "talked": [text, text], "slow": [0.05, NO]})
    tally = await panel.ask_panel(asker, question())
    assert votes(tally) == {"down": "failed", "talked": "abstain", "slow": "no"}
    assert tally.outcome == "judge_error"
    assert tally.votes[0].reason == "HTTP 503"
    assert "not in the form" in tally.votes[1].reason
    assert [vote.attempts for vote in tally.votes] == [3, 2, 1]
    assert [vote.asked for vote in tally.votes] == [1, 2, 1]
    assert tally.cost == pytest.approx(0.03)


async def test_judges_are_asked_at_the_same_time():
    everybody = asyncio.Barrier(8)

    class Waiting(Scripted):
        async def generate(self, *request, **more):
            await everybody.wait()  # for ever, if they are asked one by one
            return await super().generate(*request, **more)

    asker = Waiting({name: [YES] for name in "abcdefgh"})
    async with asyncio.timeout(60):
        assert (await panel.ask_panel(asker, question())).yes == 8


async def test_garbage_then_good_continues_the_conversation():
    asker = Scripted({"a": ["Sure! It is fine.", YES]})
    tally = await panel.ask_panel(asker, question())
    [vote] = tally.votes
    assert (vote.vote, vote.asked, vote.attempts) == ("yes", 2, 2)
    assert (vote.cost, vote.latency, vote.usage.input_tokens) == (0.02, 1.0, 200)
    first, second = asker.requests["a"]
    assert second.messages[: len(first.messages)] == first.messages
    reply, reminder = second.messages[len(first.messages) :]
    assert (reply.role, reply.content) == ("assistant", "Sure! It is fine.")
    assert reminder.role == "user"
    assert '"answer"' in reminder.content


async def test_an_empty_reply_is_shown_as_such():
    asker = Scripted({"a": ["", "  "]})
    [vote] = (await panel.ask_panel(asker, question())).votes
    assert (vote.vote, vote.reason) == ("abstain", "the reply is empty")
    assert asker.requests["a"][1].messages[-2].content == "(no text)"


async def test_a_judge_that_fails_when_asked_again_has_failed_and_still_costs():
    [vote] = (await panel.ask_panel(Scripted({"a": ["?", down("gone")]}), question())).votes
    assert (vote.vote, vote.reason, vote.cost) == ("failed", "gone", 0.01)


async def test_an_unknown_price_makes_the_cost_unknown():
    asker = Scripted({"a": [YES], "b": [YES]}, prices={"a": 0.5})
    tally = await panel.ask_panel(asker, question())
    assert tally.cost is None
    assert [vote.cost for vote in tally.votes] == [0.5, None]


async def test_rules_are_counted_one_by_one():
    asker = Scripted({"a": [picked("1", "2")], "b": [picked("1")], "c": [picked()]})
    tally = await panel.ask_panel(asker, question("rules", decides="1"))
    assert tally.rules == {"1": True, "2": False}
    assert (tally.outcome, votes(tally)) == ("passed", {"a": "yes", "b": "yes", "c": "no"})


async def test_a_rule_of_another_list_is_asked_about_again():
    asker = Scripted({"a": [picked("7"), picked("2")]})
    tally = await panel.ask_panel(asker, question("rules", decides="1"))
    assert (tally.outcome, tally.votes[0].rules) == ("failed", ("2",))
    assert '"rules"' in asker.requests["a"][1].messages[-1].content


async def test_cancelling_reaches_the_judges():
    asker = Scripted({"a": [30, YES], "b": [YES]})
    task = asyncio.create_task(panel.ask_panel(asker, question()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_panel_of_all_failures_is_no_result():
    tally = await panel.ask_panel(Scripted({"a": [down()], "b": [down()]}), question())
    assert (tally.outcome, tally.cost, tally.split) == ("judge_error", 0.0, False)


async def test_a_long_reply_is_shown_again_shortened():
    asker = Scripted({"a": ["x" * 50_000, json.dumps({"answer": "maybe"})]})
    [vote] = (await panel.ask_panel(asker, question())).votes
    assert vote.vote == "abstain"
    assert len(asker.requests["a"][1].messages[-2].content) == 4_000
    assert len(vote.reason) < 300

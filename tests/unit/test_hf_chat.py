"""Prompts as the families' templates write them, and answers taken apart again."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.records import GenerationRequest, Message, Sampling, ToolCall
from evalcore.targets.huggingface.chat import (
    PromptTooLong,
    compute_max_new,
    decode_completion,
    encode_prompt,
    list_stop_strings,
)
from evalcore.targets.huggingface.messages import HuggingFaceOptions
from evalcore.targets.huggingface.model_files import locate_model
from tests.support import hf_models as models
from tests.support.hf_templates import CHATML, LLAMA, MISTRAL

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = ToolCall("call00000", "weather", '{"city": "Oslo"}')
EPISODE = (
    Message("system", "Be brief."),
    Message("user", "Weather in Oslo?"),
    Message("assistant", tool_calls=(CALL,), reasoning="Look it up."),
    Message("tool", "rain", tool_call_id="call00000"),
)
TEMPLATES = {"chatml": CHATML, "llama": LLAMA, "mistral": MISTRAL, "none": ""}


@pytest.fixture(scope="module")
def by_family(tmp_path_factory):
    """One small model, with the tokenizer of each family."""
    models.local_libraries()
    from evalcore.targets.huggingface.load import load_checkpoint, takes_tools

    folder = models.make_model(tmp_path_factory.mktemp("hf") / "m")
    base = load_checkpoint(
        locate_model(str(folder)),
        HuggingFaceOptions(device="cpu", threads=1, context=400),
        lambda _: None,
    )
    results = {}
    for name, template in TEMPLATES.items():
        tokenizer = models.byte_tokenizer(template)
        report = msgspec.structs.replace(
            base.report, template=bool(template), tools=takes_tools(tokenizer)
        )
        results[name] = replace(base, tokenizer=tokenizer, report=report)
    return results


def ask(*messages: Message, tools=(), **sampling) -> GenerationRequest:
    return GenerationRequest(messages, tuple(tools), Sampling(**sampling))


def user(text="Hi.") -> GenerationRequest:
    return ask(Message("user", text))


def answer(loaded, text, request=None, stopped="stop", prompt=None):
    request = request or user()
    ids = tuple(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])
    return decode_completion(
        loaded, request, prompt or encode_prompt(loaded, request), ids, stopped
    )


def test_every_template_but_none_takes_tools(by_family):
    taken = {name: result.report.tools for name, result in by_family.items()}
    assert taken == {"chatml": True, "llama": True, "mistral": True, "none": False}


def test_a_prompt_is_what_the_template_writes(by_family):
    loaded = by_family["chatml"]
    prompt = encode_prompt(loaded, ask(Message("system", "Be brief."), Message("user", "Hi.")))
    assert prompt.text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert loaded.tokenizer.decode(prompt.ids) == prompt.text
    assert prompt.ids.count(loaded.tokenizer.convert_tokens_to_ids("<|im_start|>")) == 3


def test_tools_calls_and_results_reach_the_template(by_family):
    text = encode_prompt(by_family["chatml"], ask(*EPISODE, tools=[TOOL])).text
    assert '"name": "weather", "description"' in text
    assert '{"name": "weather", "arguments": {"city": "Oslo"}}' in text
    assert "<think>Look it up.</think>" in text
    assert "<tool_response>\nrain" in text
    assert text.startswith("<|im_start|>system\nBe brief.")
    bare = encode_prompt(by_family["chatml"], ask(*EPISODE, tools=[TOOL["function"]])).text
    assert bare == text
    llama = encode_prompt(by_family["llama"], ask(*EPISODE, tools=[TOOL])).text
    assert '{"name": "weather", "parameters": {"city": "Oslo"}}' in llama
    assert '{"output": "rain"}' in llama


def test_a_refused_system_turn_goes_before_the_first_words_of_the_user(by_family):
    text = encode_prompt(by_family["mistral"], ask(*EPISODE, tools=[TOOL])).text
    assert "[INST] Be brief.\n\nWeather in Oslo? [/INST]" in text
    assert '[TOOL_RESULTS]{"content": "rain", "id": "call00000"}' in text


def test_a_system_turn_that_a_template_leaves_out_is_not_lost(by_family):
    silent = models.byte_tokenizer(CHATML.replace("messages[0].role == 'system'", "false"))
    loaded = replace(by_family["chatml"], tokenizer=silent)
    text = encode_prompt(loaded, ask(Message("system", "Be brief."), Message("user", "Hi."))).text
    assert "<|im_start|>user\nBe brief.\n\nHi.<|im_end|>" in text


def test_turns_that_do_not_alternate_are_joined_where_they_must_be(by_family):
    request = ask(Message("user", "One."), Message("user", "Two."))
    assert "[INST] One.\n\nTwo. [/INST]" in encode_prompt(by_family["mistral"], request).text
    assert encode_prompt(by_family["chatml"], request).text.count("<|im_start|>user") == 2


def test_calls_that_a_template_refuses_are_written_as_text(by_family):
    two = Message("assistant", tool_calls=(CALL, CALL))
    text = encode_prompt(by_family["llama"], ask(EPISODE[1], two, EPISODE[3], tools=[TOOL])).text
    assert text.count('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}') == 2


def test_a_template_that_refuses_everything_is_an_error_with_its_words(by_family):
    stubborn = models.byte_tokenizer("{{ raise_exception('never') }}")
    with pytest.raises(UsageError, match="never"):
        encode_prompt(replace(by_family["chatml"], tokenizer=stubborn), user())


def test_a_model_without_a_template_is_asked_in_lines(by_family):
    loaded = by_family["none"]
    request = ask(*EPISODE[:2])
    assert encode_prompt(loaded, request).text == (
        "System: Be brief.\nUser: Weather in Oslo?\nAssistant:"
    )
    assert list_stop_strings(loaded, request) == ("\nUser:",)
    assert list_stop_strings(by_family["chatml"], ask(stop=("x",))) == ("x",)
    reply = answer(loaded, " It rains.\nUser: And now?", request, "length")
    assert (reply.text, reply.finish_reason) == ("It rains.", "stop")


def test_tools_without_a_template_are_described_and_read(by_family):
    loaded = by_family["none"]
    loaded = replace(loaded, report=msgspec.structs.replace(loaded.report, context=4096))
    request = ask(*EPISODE, tools=[TOOL])
    text = encode_prompt(loaded, request).text
    assert text.startswith("System: Be brief.\n\nFunctions can be called.")
    assert '"description": "Tells the weather."' in text
    assert "User: <tool_response>\nrain\n</tool_response>\nAssistant:" in text
    reply = answer(loaded, f"<tool_call>{json.dumps(_called())}</tool_call>", request)
    assert [call.name for call in reply.tool_calls] == ["weather"]


def _called():
    return {"name": "weather", "arguments": {"city": "Oslo"}}


def test_arguments_that_are_no_json_go_back_as_they_were(by_family):
    broken = Message("assistant", tool_calls=(ToolCall("call00000", "weather", '{"city": '),))
    request = ask(EPISODE[1], broken, EPISODE[3], tools=[TOOL])
    text = encode_prompt(by_family["chatml"], request).text
    assert '"arguments": "{\\"city\\": "}' in text


def test_reasoning_is_turned_off_by_its_effort(by_family):
    loaded = by_family["chatml"]
    off = encode_prompt(loaded, ask(Message("user", "Hi."), reasoning_effort="none")).text
    assert off.endswith("<think>\n\n</think>\n\n")
    assert "<think>" not in encode_prompt(loaded, user()).text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("strftime_now('%d %b %Y')", "01 Jan 2026"),
        ('strftime_now("%A, %d.%m.%y")', "Thursday, 01.01.26"),
        ("strftime_now('%' ~ 'H')", "2026-01-01"),
    ],
)
def test_a_template_that_asks_for_the_date_gets_the_same_every_day(by_family, asked, message):
    dated = models.byte_tokenizer("{{ " + asked + " }}" + CHATML)
    text = encode_prompt(replace(by_family["chatml"], tokenizer=dated), user()).text
    assert text.startswith(f"{message}<|im_start|>user")


def test_a_prompt_beyond_the_context_is_counted_before_generating(by_family):
    loaded = by_family["chatml"]
    room = loaded.report.context - len(encode_prompt(loaded, user("")).ids)
    fits = user("x" * (room - 1))
    assert compute_max_new(loaded, fits, encode_prompt(loaded, fits)) == 1
    with pytest.raises(PromptTooLong) as error:
        encode_prompt(loaded, user("x" * room))
    assert (error.value.tokens, error.value.limit) == (400, 400)
    request = ask(Message("user", "Hi."), max_tokens=7)
    assert compute_max_new(loaded, request, encode_prompt(loaded, request)) == 7


def test_a_token_that_the_model_does_not_embed_is_an_error(by_family):
    larger = models.byte_tokenizer()
    larger.add_tokens(["<new>"])
    loaded = replace(by_family["chatml"], tokenizer=larger)
    assert encode_prompt(loaded, user("old")).ids
    with pytest.raises(UsageError, match="embeds only"):
        encode_prompt(loaded, user("<new>"))


def test_an_answer_ends_before_the_end_token_and_counts_its_tokens(by_family):
    reply = answer(by_family["chatml"], "Hello.<|im_end|>")
    assert (reply.text, reply.finish_reason) == ("Hello.", "stop")
    assert reply.usage.output_tokens == 7
    assert reply.usage.input_tokens == len(encode_prompt(by_family["chatml"], user()).ids)
    cut = answer(by_family["chatml"], "Hello", stopped="length")
    assert (cut.text, cut.finish_reason) == ("Hello", "length")


def test_an_answer_ends_before_a_stop_string(by_family):
    request = ask(Message("user", "Hi."), stop=("END", "##"))
    reply = answer(by_family["chatml"], "one ## two END", request, "length")
    assert (reply.text, reply.finish_reason) == ("one ", "stop")


def test_the_token_that_closes_a_turn_ends_an_answer_whatever_the_settings_say(by_family):
    from evalcore.targets.huggingface.load import find_turn_end

    ends = {name: find_turn_end(result.tokenizer) for name, result in by_family.items()}
    as_token = by_family["llama"].tokenizer.convert_tokens_to_ids
    assert ends == {
        "chatml": as_token("<|im_end|>"),
        "llama": as_token("<|eot_id|>"),
        "mistral": as_token("</s>"),
        "none": None,
    }


@pytest.mark.parametrize(
    ("written", "stopped", "text", "reasoning"),
    [
        ("<think>Hm.</think>\n\nYes.", "stop", "Yes.", "Hm."),
        ("[THINK]Hm.[/THINK]Yes.", "stop", "Yes.", "Hm."),
        ("<think>Hm", "length", "", "Hm"),
        ("Yes.", "stop", "Yes.", ""),
        ("Yes <think>no</think>", "stop", "Yes <think>no</think>", ""),
        ("\ud83d", "stop", None, ""),
    ],
)
def test_reasoning_is_kept_apart(by_family, written, stopped, text, reasoning):
    if text is None:  # half of a sign of four bytes
        ids = tuple(by_family["chatml"].tokenizer("😀", add_special_tokens=False)["input_ids"])
        request = user()
        prompt = encode_prompt(by_family["chatml"], request)
        completion = decode_completion(by_family["chatml"], request, prompt, ids[:2], stopped)
        assert completion.text == "\ufffd"
        return
    completion = answer(by_family["chatml"], written, stopped=stopped)
    assert (completion.text, completion.reasoning) == (text, reasoning)
    assert bool(completion.usage.reasoning_tokens) == bool(reasoning)


def test_a_thought_that_the_prompt_began_is_one_even_if_cut(by_family):
    opening = models.byte_tokenizer(f"{CHATML}<think>\n")
    loaded = replace(by_family["chatml"], tokenizer=opening)
    assert encode_prompt(loaded, user()).text.endswith("<think>")
    assert answer(loaded, "Hm.</think>Yes.").text == "Yes."
    cut = answer(loaded, "Hm, let me", stopped="length")
    assert (cut.text, cut.reasoning) == ("", "Hm, let me")


@pytest.mark.parametrize(
    ("family", "written", "call_format"),
    [
        (
            "chatml",
            '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
            "hermes",
        ),
        (
            "llama",
            '<|python_tag|>{"name": "weather", "parameters": {"city": "Oslo"}}<|eot_id|>',
            "llama_python_tag",
        ),
        (
            "mistral",
            '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}}]</s>',
            "mistral_v3",
        ),
        ("llama", '[weather(city="Oslo")]', "pythonic"),
    ],
)
def test_calls_are_read_where_tools_were_offered(by_family, family, written, call_format):
    request = ask(*EPISODE, tools=[TOOL])
    reply = answer(by_family[family], f"<think>Hm.</think>{written}<|im_end|>", request)
    assert reply.tool_calls == (ToolCall("call00001", "weather", '{"city": "Oslo"}'),)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("", "Hm.", "tool_calls")
    assert reply.call_format == call_format
    untouched = answer(by_family[family], written)
    assert untouched.tool_calls == ()
    assert "weather" in untouched.text


def test_channels_are_thought_call_and_answer(by_family):
    thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    called = '<|channel|>commentary to=functions.weather json<|message|>{"city": "Oslo"}<|call|>'
    reply = answer(by_family["chatml"], thought + called, ask(*EPISODE, tools=[TOOL]))
    assert (reply.text, reply.reasoning, reply.call_format) == ("", "Hm.", "harmony")
    assert [call.name for call in reply.tool_calls] == ["weather"]


def test_a_call_that_was_cut_stays_text(by_family):
    request = ask(Message("user", "Weather?"), tools=[TOOL])
    written = '<tool_call>\n{"name": "weather", "argum'
    reply = answer(by_family["chatml"], written, request, "length")
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (written, (), "length")


RULES = {
    "defaults": {"role": "assistant"},
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"},
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*<\|im_end\|>", "content": "text"},
    },
}


def test_the_rules_of_a_tokenizer_go_first_and_failing_ones_do_no_harm(by_family):
    own = models.byte_tokenizer()
    own.response_template = RULES
    loaded = replace(by_family["chatml"], tokenizer=own)
    request = ask(Message("user", "Weather?"), tools=[TOOL])
    reply = answer(
        loaded, f"<think>Hm.</think>So:<tool_call>{json.dumps(_called())}</tool_call>", request
    )
    assert (reply.text, reply.reasoning) == ("So:", "Hm.")
    assert reply.tool_calls == (CALL,)
    broken = '<think>Hm.</think><tool_call>{"name": '
    reply = answer(loaded, broken, request)
    assert (reply.text, reply.reasoning) == ('<tool_call>{"name": ', "Hm.")
    own.response_template = {"fields": 3}
    assert answer(loaded, "Yes.", request).text == "Yes."


def test_images_are_refused_by_a_model_of_text(by_family):
    request = GenerationRequest((Message("user", "What is this?", images=("data:x",)),))
    with pytest.raises(UsageError, match="text only"):
        encode_prompt(by_family["chatml"], request)

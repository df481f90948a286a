"""Answers of ours as official result files, which read back with the same verdicts."""

from __future__ import annotations

import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.dataset import sample_to_entry
from evalcore.benchmarks.bfcl.multi_turn.conversations import ground_truth
from evalcore.errors import UsageError
from evalcore.exchange.bfcl import exporter
from evalcore.exchange.bfcl.exporter import build_prediction, write_result_files
from evalcore.exchange.bfcl.results import Prediction, read_results
from evalcore.exchange.bfcl.results import build_rescored_episode as rescored_episode
from evalcore.records import (
    Completion,
    Episode,
    Failure,
    GenerationRequest,
    Message,
    Sample,
    ToolCall,
    Usage,
)
from evalcore.runner.plan import create_benchmark
from tests.support.bfcl_results import NATIVE, RIGHT
from tests.support.shared_data import ROOT


@pytest.mark.parametrize("native", [True, False])
def test_what_is_written_reads_back_equal(tmp_path, native):
    mode = "fc" if native else "prompt"
    answers = [
        Prediction("simple_python", "simple_python_10", mode, "naïve\nЖ \u2028", 5, 6, 0.5),
        Prediction("simple_python", "simple_python_9", mode, NATIVE if native else "", 1, 2, 3.0),
        Prediction("live_simple", "live_simple_2-1-0", mode, "", error="timed out"),
        Prediction("multi_turn_base", "multi_turn_base_0", mode, [["a"], []], 7, 8, 1.0),
    ]
    files = write_result_files(tmp_path, "acme/model:1", answers)
    model = tmp_path / "result" / "acme_model-1"
    assert {str(path.relative_to(model)) for path in files} == {
        "non_live/BFCL_v4_simple_python_result.json",
        "live/BFCL_v4_live_simple_result.json",
        "multi_turn/BFCL_v4_multi_turn_base_result.json",
    }
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert [line["id"] for line in lines] == ["simple_python_9", "simple_python_10"]
    fields = ["id", "result", "input_token_count", "output_token_count", "latency"]
    assert [list(line) for line in lines] == [fields, fields]
    back = {
        result.id: (result.answer, result.error, result.latency) for result in read_results(model)
    }
    assert back == {answer.id: (answer.answer, answer.error, answer.latency) for answer in answers}
    assert {result.mode for result in read_results(model)} == {mode}
    with pytest.raises(UsageError, match="already contains results"):
        write_result_files(tmp_path, "acme/model:1", answers)


@pytest.mark.parametrize(
    ("model", "folder"),
    [("a/b-c.1 (FC)", "a_b-c.1 (FC)"), ("../../x", "_.._x"), ("", "unnamed"), ("..", "unnamed")],
)
def test_a_model_is_no_path(model, folder):
    assert exporter.model_folder(model) == folder


ASKED = (Message("system", "s"), Message("user", "u"))


def asked(category: str, **more) -> Prediction | None:
    key = f"{category}/{category}_0"
    return build_prediction(
        Sample(category, f"{category}_0", {}), Episode(key=key, epoch=0, **more)
    )


def test_episodes_of_ours_go_out_in_the_official_form():
    usage = Usage(input_tokens=3, output_tokens=4)
    text = asked("parallel", answer=RIGHT, usage=usage, latency=2.0)
    assert text == Prediction("parallel", "parallel_0", "prompt", RIGHT, 3, 4, 2.0)
    call = ToolCall("1", "f", '{"a": 1}')
    reply = Message("assistant", tool_calls=(call, call))
    native = asked("parallel", messages=(*ASKED, reply))
    assert native is not None
    assert (native.mode, native.answer) == ("fc", [{"f": '{"a": 1}'}] * 2)
    stored = json.dumps([{"id": "1", "name": "f", "arguments": "{}"}, {"g": "{}"}, 5])
    retained = asked("parallel", answer=stored, state={"mode": "fc"})
    assert retained is not None
    assert retained.answer == [{"f": "{}"}, {"g": "{}"}, 5]
    message = asked("parallel", answer="No.", state={"mode": "fc"})
    assert message is not None
    assert (message.mode, message.answer) == ("fc", "No.")
    failed = asked("parallel", failure=Failure("timeout", ""))
    assert failed is not None
    assert failed.error == "timeout"


def test_conversations_of_ours_go_out_turn_by_turn():
    call = ToolCall("1", "f", "{}")
    step, answer = Message("assistant", tool_calls=(call,)), Message("tool", "{}", tool_call_id="1")
    messages = (*ASKED, step, answer, Message("assistant", "Done."), ASKED[1], Message("assistant"))
    state = {"mode": "fc", "turns": [[["f()"]], []]}
    native = asked("multi_turn_base", messages=messages, state=state, answer="[[]]")
    assert native is not None
    assert native.answer == [[[{"f": "{}"}], "Done."], [""]]
    cut = {"mode": "fc", "turns": [[["f()"], ["f()"]]]}
    native = asked(
        "multi_turn_base", messages=(*ASKED, step, answer, step), state=cut, termination="x"
    )
    assert native is not None
    assert native.answer == [[[{"f": "{}"}], [{"f": "{}"}]]]
    assert asked("multi_turn_base", messages=messages[:-2], state=cut) is None
    assert asked("multi_turn_base", answer="Done.", messages=ASKED) is None
    assert asked("something_else", answer="x") is None


def test_calls_asked_for_as_json_go_out_as_native_ones():
    state = {"mode": "prompt_name_arguments"}
    message = Message("assistant", '[{"name": "a.f", "arguments": {"x": 1}}]')
    for text, answer in ((message.content, [{"a_f": '{"x": 1}'}]), ("a.f(x=1)", "a.f(x=1)")):
        messages = (*ASKED, Message("assistant", text))
        single = asked("parallel", answer=text, messages=messages, state=state)
        assert single is not None
        assert (single.mode, single.answer) == ("fc", answer)
    turns = state | {"turns": [[["a.f(x=1)"]]]}
    messages = (*ASKED, message, ASKED[1], Message("assistant", "Done."))
    several = asked("multi_turn_base", messages=messages, state=turns)
    assert several is not None
    assert (several.mode, several.answer) == ("fc", [[[{"a_f": '{"x": 1}'}], "Done."]])


class Scripted:
    """A context whose target says the prepared texts, then the last one for ever."""

    epoch = 0

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def resolve_tool_call_mode(self) -> str:
        return "prompt"

    async def generate(self, request: GenerationRequest) -> Completion:
        assert not request.tools
        return Completion(text=self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])


def scripts(truth: list[list[str]]) -> list[list[str]]:
    """What is said: all that is right in one step, call by call, nothing, and calls without end."""
    whole = [text for turn in truth for text in ([f"[{', '.join(turn)}]"] if turn else []) + ["Ok"]]
    single = [text for turn in truth for text in [f"[{call}]" for call in turn] + ["{not a call"]]
    return [whole, single, ["I cannot."], [f"[{truth[0][0]}]"]]


async def test_conversations_in_text_come_back_with_their_verdicts(tmp_path):
    benchmark = create_benchmark("bfcl", {})
    folder = str(ROOT / "datasets" / "bfcl")
    asking = DatasetSource(folder, metrics=("multi_turn_base", "multi_turn_miss_func"))
    samples = benchmark.load_dataset(asking)
    played = []
    try:
        for number, sample in enumerate(samples):
            script = scripts(ground_truth(sample_to_entry(sample)))[number % 4]
            episode = await benchmark.run_sample(sample, Scripted(*script))
            verdict = await benchmark.evaluate_sample(sample, episode)
            played.append((build_prediction(sample, episode), verdict.outcome, episode.termination))
        write_result_files(tmp_path, "m", [entry for entry, _, _ in played if entry is not None])
        back = {result.id: result for result in read_results(tmp_path / "result" / "m")}
        for sample, (sent, outcome, _) in zip(samples, played, strict=True):
            item = back[sample.id]
            assert (item.mode, sent and item.answer) == ("prompt", sent and sent.answer)
            again = rescored_episode(benchmark, sample, item, "")
            assert (await benchmark.evaluate_sample(sample, again)).outcome == outcome
    finally:
        benchmark.close()
    assert {outcome for _, outcome, _ in played} == {"passed", "failed"}
    assert {end for _, _, end in played} == {"", "step_limit"}

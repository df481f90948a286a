"""The light side of local models: the target, and the process that it keeps. Needs no torch."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from evalcore import catalog
from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import GenerationRequest, Message, Sampling, TargetSpec
from evalcore.targets import registry
from evalcore.targets.huggingface import target as processes
from evalcore.targets.huggingface.messages import (
    AskOrder,
    HuggingFaceOptions,
    LoadError,
    StartOrder,
)
from evalcore.targets.huggingface.target import ModelProcess

pytestmark = pytest.mark.slow

FAKE = "tests.support.hf_fake_worker"


def request(text: str = "hello", **sampling) -> GenerationRequest:
    return GenerationRequest(
        messages=(Message("user", text),), sampling=Sampling(**sampling), input={"id": "1"}
    )


async def wait_until(true: Callable[[], bool]) -> None:
    """Let the process report; whether it did is for the assertions that follow."""
    for _ in range(6000):
        if true():
            return
        await asyncio.sleep(0.05)


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"1234")
    return path


@pytest.fixture
def faked(monkeypatch, tmp_path):
    """Makes a target whose process is the stand-in, which does what the name says."""
    monkeypatch.setattr(processes, "WORKER", FAKE)

    def make(what: str = "echo", **options):
        path = tmp_path / what
        path.mkdir(exist_ok=True)
        return target(path, **options)

    return make


def target(path: Path, **options):
    spec = TargetSpec(f"hf:{path}", options)
    return registry.create_target(
        spec, configuration.load_settings(path.parent / "data"), Secrets()
    )


def test_a_target_says_what_it_is_before_it_is_loaded(folder):
    info = target(folder, dtype="bfloat16").info
    assert (info.kind, info.title, info.cacheable, info.tools) == ("local", "model", True, None)
    assert info.max_in_flight == info.start_in_flight >= 64
    assert info.needs_limit  # it would write until its context is full
    assert target(folder, batch_size="1").info.max_in_flight == 4


def test_a_folder_goes_by_its_name_however_it_is_reached(folder, monkeypatch):
    monkeypatch.chdir(folder.parent.parent)
    for path in (folder, f"./{folder.parent.name}/model", f"{folder.parent.name}/model/"):
        assert target(Path(path)).info.title == "model"


def test_a_wrong_path_or_option_is_refused_before_loading(folder):
    with pytest.raises(LoadError) as refused:
        target(folder / "absent")
    assert refused.value.kind == "path_missing"
    with pytest.raises(UsageError, match="unknown option 'dtpye'"):
        target(folder, dtpye="int8")


def test_the_revision_changes_with_the_files(folder):
    first = target(folder).info.revision
    assert target(folder, max_tokens=5).info.revision == first
    os.utime(folder / "model.safetensors", ns=(1, 1))
    second = target(folder).info.revision
    (folder / "added.json").write_text("{}")
    assert len({first, second, target(folder).info.revision}) == 3


def test_the_revision_changes_with_the_adapters_files(folder, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    weights = adapter / "adapter_model.safetensors"
    weights.write_bytes(b"1")
    first = target(folder, adapter=str(adapter)).info.revision
    weights.write_bytes(b"22")
    assert target(folder, adapter=str(adapter)).info.revision != first


def test_the_card_offers_exactly_the_options_that_are_read():
    card = catalog.target_kinds()["hf"]
    field_names = set(HuggingFaceOptions.__struct_fields__) - {"max_new_tokens", "enable_thinking"}
    assert {option.name for option in card.options} == field_names
    for option in card.options:
        if option.default is not None:
            assert option.default == getattr(HuggingFaceOptions(), option.name)


def test_nothing_heavy_is_imported_here():
    code = (
        "import sys; import evalcore.targets.huggingface.target, evalcore.targets.huggingface."
        "worker; print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_open_reports_and_answers_carry_what_was_asked(faked):
    local, text = faked(temperature=0.5, max_tokens=7), []
    await local.open(text.append)
    try:
        done = await local.generate(request(top_p=0.9, max_tokens=100))
        await wait_until(lambda: "waiting" in text[-1])
    finally:
        await local.close()
    assert done.text == "hello"
    assert done.sent["sampling"] == {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7}
    assert "input" not in done.sent, "what only benchmarks know stays here"
    assert local.info.tools is True
    assert local.info.card["architecture"] == "Fake"
    assert local.info.card["tokens_per_second"] == 12.0
    assert text[0] == "loading the fake"
    assert "1.0 M parameters" in text[1]
    assert "4 waiting" in text[-1]


async def test_keys_of_other_services_stay_here(faked, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-models-000000")
    local = faked()
    await local.open(print)
    done = await local.generate(request())
    await local.close()
    assert done.sent["secret"] is None


async def test_a_refusal_while_loading_names_its_kind(faked):
    local = faked("refuse")
    with pytest.raises(LoadError, match="no tokenizer") as refused:
        await local.open(print)
    assert refused.value.kind == "no_tokenizer"


async def test_a_process_that_dies_while_loading_is_a_usage_error(faked):
    with pytest.raises(UsageError, match="killed, as the system does when memory runs out"):
        await faked("die-loading").open(print)


async def test_a_failed_request_fails_alone(faked):
    local = faked()
    await local.open(print)
    answers = await asyncio.gather(
        *(local.generate(request(text)) for text in ("one", "fail", "two")), return_exceptions=True
    )
    await local.close()
    assert [answers[0].text, answers[2].text] == ["one", "two"]
    assert isinstance(answers[1], TargetFailure)
    assert answers[1].failure.kind == "permanent"


async def test_a_process_that_dies_is_started_once_more_with_half_the_budget(faked):
    local = faked("die-once")
    await local.open(print)
    answers = await asyncio.gather(*(local.generate(request(str(n))) for n in range(5)))
    await wait_until(lambda: "halved" in local.info.card)
    await local.close()
    assert [done.text for done in answers] == ["0", "1", "2", "3", "4"]
    assert local.info.card["halved"] == 1


@pytest.mark.parametrize("what", ["die-always", "babble"])
async def test_a_process_that_goes_on_dying_fails_its_requests_as_our_own_failure(faked, what):
    local = faked(what)
    await local.open(print)
    answers = await asyncio.gather(
        *(local.generate(request(str(n))) for n in range(3)), return_exceptions=True
    )
    assert {answer.failure.kind for answer in answers} == {"environment"}
    with pytest.raises(TargetFailure, match="died"):
        await local.generate(request())
    await local.close()


async def test_close_ends_the_process_and_fails_who_waits(faked):
    local = faked("silent")
    await local.open(print)
    waiting = asyncio.create_task(local.generate(request()))
    await asyncio.sleep(0.05)
    pid = local._process.pid
    await local.close()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(TargetFailure) as failed:
        await waiting
    assert failed.value.failure.kind == "environment"
    await local.close()
    with pytest.raises(UsageError, match="not opened"):
        await local.generate(request())


async def test_a_cancelled_request_leaves_the_others(faked):
    local = faked()
    await local.open(print)
    waiting = asyncio.create_task(local.generate(request("wait")))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await local.generate(request("after"))).text == "after"
    await local.close()


async def test_cancelling_the_load_ends_the_process():
    model = ModelProcess(StartOrder("hf:/never-ready", HuggingFaceOptions()), print, module=FAKE)
    event = asyncio.Event()
    opening = asyncio.create_task(model.open(lambda line: event.set()))
    await event.wait()
    pid = model.pid
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert not Path(f"/proc/{pid}").exists()


def test_messages_survive_the_pipe():
    start = StartOrder("hf:x", HuggingFaceOptions(stop=("a",), temperature=0.5), 2)
    assert msgspec.json.decode(msgspec.json.encode(start), type=StartOrder) == start


def test_tools_reach_the_model_with_their_keys_in_order():
    """A template writes them as they come, and a model was taught one order."""
    written: list[bytes] = []
    model = ModelProcess(StartOrder("hf:x", HuggingFaceOptions()), print)
    pipe = SimpleNamespace(is_closing=lambda: False, write=written.append)
    model._process = SimpleNamespace(stdin=pipe)
    properties = {"zone": {"type": "string"}, "area": {"type": "string"}}
    tool = {"name": "find", "description": "Find.", "parameters": {"properties": properties}}
    model._write_message(AskOrder("1", msgspec.structs.replace(request(), tools=(tool,))))
    sent = msgspec.json.decode(written[0][4:])["request"]["tools"][0]
    assert list(sent) == ["name", "description", "parameters"]
    assert list(sent["parameters"]["properties"]) == ["zone", "area"]

"""A model server that is started for a run: it answers, it dies, it never starts, it is ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import GenerationRequest, Message, Sampling, TargetSpec
from evalcore.runner.local_models import report_local_model
from evalcore.targets import registry
from evalcore.targets.huggingface.messages import LoadError
from tests.support import engine_program
from tests.support.model_folders import model_folder

PROGRAMS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama-server"}


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "bin"
    for program in PROGRAMS.values():
        engine_program.install(folder, program)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def model(tmp_path) -> Path:
    return model_folder(tmp_path / "m")


def target(model: Path, engine="vllm", fault="", **options):
    words = {"server_args": f"--stand-in {fault}"} if fault else {}
    spec = TargetSpec(f"hf:{model}", {"engine": engine, **words, **options})
    settings = configuration.load_settings(model.parent / "data")
    return registry.create_target(spec, settings, Secrets())


def request(text: str = "Compute 2 + 3") -> GenerationRequest:
    return GenerationRequest(messages=(Message("user", text),), sampling=Sampling(max_tokens=9))


def is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


async def wait_until_gone(programs: Path) -> None:
    pids = [pid for start in engine_program.read_starts(programs) for pid in start["pids"]]
    assert pids
    async with asyncio.timeout(30):
        while any(map(is_alive, pids)):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("engine", PROGRAMS)
async def test_a_server_is_started_asked_and_ended(engine, programs, model, tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "key-of-another-server")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    if engine == "llamacpp":
        model = tmp_path / "small.gguf"
        model.write_bytes(b"GGUF")
    local, lines = target(model, engine, context=512, batch_size=3), []
    before = local.info.revision
    await local.open(lines.append)
    try:
        done = await local.generate(request())
    finally:
        await local.close()
    assert done.text == "5"
    assert done.sent["temperature"] == 0.0
    assert done.model == local.info.title
    assert local.info.card["engine"] == engine
    assert local.info.card["engine_version"] == "1.2.3"
    assert local.info.revision != before
    (start,) = engine_program.read_starts(programs)
    assert "VLLM_API_KEY" not in start["environment"]
    assert start["environment"]["HF_HUB_OFFLINE"] == "1"
    assert str(model) in start["words"]
    await wait_until_gone(programs)


async def test_what_a_person_says_to_the_server_cannot_open_it_to_others(programs, model):
    local = target(model, server_args="--tensor-parallel-size 2 --host 0.0.0.0")
    await local.open(print)
    await local.close()
    words = engine_program.read_starts(programs)[0]["words"]
    assert words[words.index("--tensor-parallel-size") + 1] == "2"
    assert words[len(words) - 1 - words[::-1].index("--host") + 1] == "127.0.0.1"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no-start", "exit status 1; it printed: loading weights | ValueError: no kernel"),
        ("no-memory", "killed, as the system does when memory runs out"),
        ("never-ready", "not ready within 1 s; the option server_timeout"),
        ("foreign", "not ready within 1 s"),
    ],
)
async def test_a_server_that_does_not_start_says_why(fault, words, programs, model):
    local = target(model, fault=fault, server_timeout=1)
    with pytest.raises(LoadError, match=words) as caught:
        await local.open(print)
    assert caught.value.kind == "engine_failed"
    await wait_until_gone(programs)


async def test_a_port_that_somebody_took_is_replaced(programs, model):
    local = target(model, fault="taken-once")
    await local.open(print)
    assert (await local.generate(request())).text == "5"
    await local.close()
    assert len(engine_program.read_starts(programs)) == 2


async def test_a_server_that_dies_is_started_once_more(programs, model):
    local = target(model, fault="dies-once")
    await local.open(print)
    done = await asyncio.gather(*(local.generate(request(f"Compute {n} + 1")) for n in range(8)))
    await local.close()
    assert [answer.text for answer in done] == [str(n + 1) for n in range(8)]
    assert len(engine_program.read_starts(programs)) == 2


async def test_a_server_that_always_dies_is_no_failure_of_the_model(programs, model):
    local = target(model, fault="dies-always")
    await local.open(print)
    for _ in range(2):
        with pytest.raises(TargetFailure) as caught:
            await local.generate(request())
        assert caught.value.failure.kind == "environment"
        assert "exit status 7" in caught.value.failure.message
        assert "illegal memory access" in caught.value.failure.message
    await local.close()
    assert len(engine_program.read_starts(programs)) == 2
    await wait_until_gone(programs)


async def test_a_server_that_prints_without_end_answers(programs, model):
    local = target(model, fault="noisy")
    await local.open(print)
    assert (await local.generate(request())).text == "5"
    await local.close()


@pytest.mark.full
async def test_a_server_that_heeds_no_signal_is_ended(programs, model):
    local = target(model, fault="stubborn")
    await local.open(print)
    await local.close()
    await wait_until_gone(programs)


async def test_a_killed_run_leaves_no_server(programs, model):
    code = (
        "import asyncio, sys; sys.path.insert(0, '.'); from pathlib import Path\n"
        "from tests.chaos.test_managed_servers import target\n"
        "async def main():\n"
        f"    local = target(Path({str(model)!r})); await local.open(lambda line: None)\n"
        "    print('ready', flush=True); await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGKILL)
    await wait_until_gone(programs)


async def test_another_version_than_the_run_began_with_is_refused(programs, model):
    local = target(model, engine_version="1.2.4")
    with pytest.raises(UsageError, match=r"vLLM 1\.2\.3 is running.*says 1\.2\.4"):
        await local.open(print)
    await wait_until_gone(programs)


def test_a_missing_program_names_the_command_that_installs_it(model, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for engine, words in (("vllm", "pip install vllm"), ("llamacpp", "llama-server")):
        report = report_local_model(f"hf:{model}", {"engine": engine})
        assert not report.ok
        assert words in report.message
    with pytest.raises(LoadError, match="pip install vllm"):
        target(model)


@pytest.mark.parametrize(
    ("engine", "options", "words"),
    [
        ("vllm", {"dtype": "int8"}, "AWQ, GPTQ, GGUF"),
        ("vllm", {"attn_implementation": "sdpa"}, "has no option attn_implementation"),
        ("sglang", {"adapter": "lora"}, "has no option adapter"),
        ("llamacpp", {"dtype": "float16"}, "has no option dtype"),
        ("vllm", {"server_args": "--x 'y"}, "server_args: No closing quotation"),
        ("transformers", {"server_args": "--x"}, "need an engine"),
        ("other", {}, "option not understood"),
        ("vllm", {"server_timeout": 0}, "more than 0 seconds"),
    ],
)
def test_what_an_engine_does_not_take_is_refused(engine, options, words, programs, model):
    with pytest.raises(UsageError, match=words):
        target(model, engine, **options)


def test_the_file_of_a_folder_is_chosen_by_its_name(programs, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(LoadError, match="here: none"):
        target(folder, "llamacpp")
    for name in ("q-00001-of-00002.gguf", "q-00002-of-00002.gguf", "mmproj-q.gguf"):
        (folder / name).write_bytes(b"GGUF")
    assert target(folder, "llamacpp").model.endswith("q-00001-of-00002.gguf")
    (folder / "other.gguf").write_bytes(b"GGUF")
    with pytest.raises(LoadError, match="name the file"):
        target(folder, "llamacpp")
    assert target(folder / "other.gguf", "vllm").model.endswith("other.gguf")
    assert target(Path("org/model-GGUF:Q4_K_M"), "llamacpp").model == "org/model-GGUF:Q4_K_M"

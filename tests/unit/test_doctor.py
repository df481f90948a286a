"""`evalcore doctor`: every gap is a line with what closes it, and no key is ever printed."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import msgspec
import pytest

from evalcore import catalog, plugins
from evalcore.cli import doctor
from evalcore.cli import main as main_module
from evalcore.cli.doctor import Check
from evalcore.cli.main import main
from evalcore.sandbox import program
from evalcore.settings import Endpoint, Settings
from evalcore.sqlkit.engines import registry
from evalcore.targets.huggingface import machine
from tests.support.plugins import plugin_path, write, write_broken

__all__ = ["plugin_path"]

KEY = "sk-doctor-0123456789abcdefghijklmnop"


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines and the sandbox have tests of their own; here only what is said of them counts."""
    monkeypatch.setattr(registry, "probe_engines", lambda: {"sqlite": "3.40.1"})
    monkeypatch.setattr(
        program, "detect_sandbox", lambda: program.SandboxSupport(means="bubblewrap")
    )
    monkeypatch.setattr(machine, "list_gpus", lambda: ())


def by_name(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in doctor.examine_installation(settings)}


def test_this_installation_lacks_nothing_that_it_promises(tmp_path: Path) -> None:
    report = doctor.examine_installation(Settings(data=str(tmp_path)))
    assert not doctor.has_gaps(report), doctor.format_report(report)
    assert {check.group for check in report} >= {"python", "data", "engine", "sandbox", "gpu"}


def test_a_requirement_that_is_absent_or_too_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["msgspec>=999", "no-such-package>=1", 'nor-this; extra == "auth"', "orjson"]
    monkeypatch.setattr(doctor, "requires", lambda name: lines)
    checks = by_name(Settings(data=str(tmp_path)))
    core = checks["evalboard"]
    assert (core.status, core.remedy) == ("missing", "pip install 'evalboard'")
    assert "no-such-package" in core.detail
    assert "msgspec>=999 (installed: " in core.detail
    assert checks["extra auth"].status == "absent"
    assert checks["extra auth"].detail == "needs nor-this"
    assert checks["extra local"].status == "ok"


def test_the_command_that_brings_an_engine_is_taken_from_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "MySQL statements need MariaDB (apt-get install mariadb-server), or your own server"
    monkeypatch.setattr(registry, "probe_engines", lambda: {"sqlite": "3.40.1", "mysql": message})
    checks = by_name(Settings(data=str(tmp_path)))
    assert checks["sqlite"].status == "ok"
    assert checks["mysql"].remedy == "apt-get install mariadb-server"


def test_a_sandbox_that_cannot_work_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = program.SandboxSupport(problem="User namespaces are off.", fix="Install bubblewrap.")
    monkeypatch.setattr(program, "detect_sandbox", lambda: broken)
    check = by_name(Settings(data=str(tmp_path)))["sandbox"]
    assert (check.status, check.remedy) == ("absent", "Install bubblewrap.")


def test_a_data_folder_that_cannot_be_made_is_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    report = doctor.examine_installation(Settings(data=str(tmp_path / "new" / "data")))
    assert doctor.has_gaps(report)
    assert {check.name for check in report if check.status == "broken"} == {"data folder"}


def test_servers_of_this_machine_are_reached_and_no_other(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = {"here": server.getsockname()[1], "gone": closed.getsockname()[1]}
        endpoints = {
            name: Endpoint(base_url=f"http://127.0.0.1:{port}/v1") for name, port in ports.items()
        }
        endpoints["far"] = Endpoint(base_url="https://models.example/v1")
        checks = by_name(Settings(data=str(tmp_path), endpoints=endpoints))
    assert checks["here"].status == "ok"
    assert checks["gone"].status == "absent"
    assert "far" not in checks


def test_keys_are_named_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)

    def leak() -> dict[str, str]:
        raise RuntimeError(f"refused: Authorization: Bearer {KEY}")

    monkeypatch.setattr(registry, "probe_engines", leak)
    assert main(["doctor", "--json", "--data", str(tmp_path)]) == 3
    printed = capsys.readouterr().out
    assert KEY not in printed
    checks = {check["name"]: check for check in json.loads(printed)}
    assert checks["DEEPSEEK_API_KEY"]["status"] == "ok"
    assert checks["GEMINI_API_KEY"]["status"] == "absent"
    assert checks["engine"]["status"] == "broken"
    assert "RuntimeError" in checks["engine"]["detail"]


def test_every_gap_that_a_command_closes_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_: None)
    for name in ("HF_TOKEN", "TAVILY_API_KEY", "SQLFLASH_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    report = doctor.examine_installation(Settings(data=str(tmp_path)))
    silent = [
        check.name
        for check in report
        if check.status != "ok" and not check.remedy and check.group not in ("gpu", "engine")
    ]
    assert silent == []
    checks = {check.name: check for check in report}
    assert checks["git"].remedy == "apt-get install git"
    assert checks["ollama"].remedy == "ollama serve"
    assert checks["HF_TOKEN"].remedy == "export HF_TOKEN=..."
    assert checks["TAVILY_API_KEY"].detail == "not set, for gaia"


def test_official_data_sets_are_there_or_come_with_their_command(tmp_path: Path) -> None:
    [first, *others] = catalog.list_official_datasets().values()
    (tmp_path / "datasets" / first.folder).mkdir(parents=True)
    checks = by_name(Settings(data=str(tmp_path)))
    assert checks[first.name].status == "ok"
    parser = main_module.build_parser()
    for official in others:
        words = checks[official.name].remedy.split()
        parser.parse_args(words[1:])
        assert words[:4] == ["evalcore", "datasets", "fetch", official.benchmark]
        default = catalog.benchmark_card(official.benchmark).fetcher.flags[0].default
        assert (words[5:] or [default]) == [official.part]
        assert ("gated" in checks[official.name].detail) == official.gated


@pytest.mark.parametrize(
    ("programs", "packages", "remedy"),
    [
        ((), (), ""),
        (("nvidia-smi",), (), "pip install 'evalboard[local]'"),
        (("nvidia-smi",), ("torch",), "pip install --force-reinstall torch"),
    ],
)
def test_a_gpu_that_cannot_be_used_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, programs: tuple[str, ...], packages: tuple[str, ...], remedy
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name in programs else None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: name if name in packages else None)
    [check] = doctor._check_gpu(Settings())
    assert check.status == "absent"
    assert check.remedy.startswith(remedy)
    assert bool(check.remedy) == bool(remedy)


def test_plugins_that_work_are_listed_and_their_keys_asked_for(
    tmp_path: Path, plugin_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
        from evalcore.catalog import OptionCard, TargetKindCard
        CARD = TargetKindCard(
            prefix="odd", form="odd:x", title={}, about={},
            options=(OptionCard(name="ODD_KEY", secret=True),),
        )
    """
    write(plugin_path, "odd_kind", source, {"evalcore.targets": {"odd": "odd_kind:CARD"}})
    write_broken(plugin_path, ("broken_target",))
    catalog.clear_plugin_cache()
    monkeypatch.setenv("ODD_KEY", KEY)
    report = doctor.examine_installation(Settings(data=str(tmp_path)))
    plugin_checks = {check.name: check for check in report if check.group == "plugin"}
    assert plugin_checks["odd"].status == "ok"
    assert "odd_kind" in plugin_checks["odd"].detail
    assert sorted(check.status for check in plugin_checks.values()) == ["broken", "ok"]
    [key] = [check for check in report if check.name == "ODD_KEY"]
    assert (key.status, key.detail) == ("ok", "set, for odd:...")
    assert KEY not in doctor.format_report(report)


def test_a_plugin_that_is_left_out_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = plugins.SkippedPlugin("arena", "evalboard-arena", "no module arena", "reinstall it")
    monkeypatch.setattr(catalog, "list_skipped_plugins", lambda: (skipped,))
    check = by_name(Settings(data=str(tmp_path)))["arena"]
    assert (check.status, check.detail, check.remedy) == (
        "broken",
        "no module arena",
        "reinstall it",
    )


def test_the_report_is_aligned_and_puts_the_remedy_under_the_gap() -> None:
    report = [
        Check("engine", "sqlite", "ok", "3.40"),
        Check("engine", "mysql", "missing", "no server", "apt-get install mariadb-server"),
        Check("gpu", "gpu", "absent", "no CUDA device"),
    ]
    assert doctor.format_report(report).splitlines() == [
        "engine",
        "  ok      sqlite  3.40",
        "  MISSING mysql   no server",
        "                  -> apt-get install mariadb-server",
        "",
        "gpu",
        "  -       gpu     no CUDA device",
    ]
    assert msgspec.json.decode(msgspec.json.encode(report), type=list[Check]) == report


def test_programs_that_serve_local_models_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    checks = {check.name: check for check in doctor._check_servers(Settings())}
    assert checks["llama.cpp"].status == "ok"
    assert str(program) in checks["llama.cpp"].detail
    assert (checks["vLLM"].status, checks["vLLM"].remedy) == ("absent", "pip install vllm")

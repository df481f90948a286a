"""What a request of a visitor may name: only what a list of the operator allows."""

from __future__ import annotations

import shutil
import time

import msgspec
import pytest

from evalcore.access import policy
from evalcore.access.policy import OPERATOR
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.runner import client
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from tests.support.loopback_server import serve
from tests.support.visitors import INSIDE, NULL, guarded, planned, with_mode


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    return guarded(tmp_path, monkeypatch)


BOUND = {
    "allow_endpoints": ("deepseek", "api.example.org"),
    "allow_applications": ("sqlflash",),
    "allow_models": ("Qwen/Qwen3-0.6B", "/srv/models/own", "../up"),
    "allow_datasets": ("sql_ours", "team/*", "/srv/cases.jsonl", "../secret"),
}
#: What a request is changed to, and the setting or option that the refusal names.
REFUSED = [
    ({"target": "openai:gpt-5"}, "allow_endpoints"),
    ({"target": "openai:ollama/x"}, "allow_endpoints"),
    ({"target": "openai:x", "target_options": {"base_url": "https://evil.example/v1"}}, "allow_e"),
    ({"target": "openai:deepseek/x", "target_options": {"base_url": "https://e.example"}}, "allow"),
    ({"target": "openai:deepseek/x", "target_options": {"api_key_env": "AWS_KEY"}}, "api_key_env"),
    ({"target": "openai:deepseek/x", "target_options": {"extra_body": {"model": "y"}}}, "extra_b"),
    ({"target": "hf:/etc"}, "allow_models"),
    ({"target": "hf:/srv/models/own"}, "allow_models"),
    ({"target": "hf:../up"}, "allow_models"),
    ({"target": "hf:~/model"}, "allow_models"),
    ({"target": "hf:./model"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-8B"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B/../../x"}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"adapter": "/srv/a"}}, "allow_models"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": True}}, "trust_r"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": "yes"}}, "trust_r"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"allow_pickle": "1"}}, "allow_pickle"),
    ({"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"chat_template": "0"}}, "chat_template"),
    ({"target": "app:sqlshift"}, "allow_applications"),
    ({"target": "app:/etc/passwd.yaml"}, "allow_applications"),
    ({"target": "app:../sqlflash"}, "allow_applications"),
    ({"target": "app:sqlflash", "target_options": {"base_url": "http://e.example"}}, "allow_end"),
    ({"target": "other:x"}, "kind 'other'"),
    ({"dataset": "/etc/passwd"}, "allow_datasets"),
    ({"dataset": "/srv/cases.jsonl"}, "allow_datasets"),
    ({"dataset": "../secret"}, "allow_datasets"),
    ({"dataset": "~/cases.jsonl"}, "allow_datasets"),
    ({"dataset": "team/../../secret"}, "allow_datasets"),
    ({"dataset": "team/a/b"}, "allow_datasets"),
    ({"dataset": "team/.."}, "allow_datasets"),
    ({"dataset": "team\\..\\x"}, "allow_datasets"),
    ({"dataset": "unheard"}, "allow_datasets"),
    ({"options": {"sql_understanding": {"prompt": "/etc/passwd"}}}, "prompt"),
    ({"options": {"sql_understanding": {"data_path": "/etc/passwd"}}}, "allow_datasets"),
    ({"options": {"sql_understanding": {"postgres_dsn": "postgres://x"}}}, "postgres_dsn"),
    ({"judges": ("openai:gpt-5",)}, "allow_endpoints"),
    ({"judges": ("openai:x?base_url=http://169.254.169.254/v1",)}, "allow_endpoints"),
    ({"judges": ("hf:/etc",)}, "allow_models"),
]


@pytest.mark.parametrize("mode", list(INSIDE))
@pytest.mark.parametrize(("changes", "named"), REFUSED)
def test_what_no_list_allows_is_refused_before_anything_is_read(settings, mode, changes, named):
    bound = with_mode(settings, mode, **BOUND)
    request = msgspec.structs.replace(NULL, **changes)
    seen = policy.restrict_settings(bound, INSIDE[mode])
    with pytest.raises(UsageError, match=named):
        client.request_policy.check_request(request, seen, client.Secrets())
    client.request_policy.check_request(
        request, policy.restrict_settings(bound, OPERATOR), client.Secrets()
    )


ALLOWED = [
    {},
    {"target": "baseline:sqlglot"},
    {"target": "openai:deepseek/deepseek-chat"},
    {"target": "openai:x", "target_options": {"base_url": "https://api.example.org/v1"}},
    {"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"trust_remote_code": False}},
    {"target": "hf:Qwen/Qwen3-0.6B", "target_options": {"adapter": "Qwen/Qwen3-0.6B"}},
    {"target": "app:sqlflash"},
    {"dataset": "sql_ours"},
    {"dataset": "team/week-1"},
    {"dataset": "sql_understanding"},
    {"options": {"sql_understanding": {"mode": "scale", "weights.syntax": 2}}},
    {"judges": ("openai:deepseek/deepseek-chat",)},
]


@pytest.mark.parametrize("changes", ALLOWED)
def test_what_a_list_allows_is_not_refused(settings, changes):
    seen = policy.restrict_settings(with_mode(settings, "passcode", **BOUND), INSIDE["passcode"])
    client.request_policy.check_request(
        msgspec.structs.replace(NULL, **changes), seen, client.Secrets()
    )


def test_the_models_that_play_a_user_are_bound_too(settings):
    seen = with_mode(settings, "passcode", **BOUND)
    options = {"tau_bench": {"use_llm_user": True, "user_model": "openai:gpt-5"}}
    request = RunRequest(target="control:null", benchmarks=("tau_bench",), options=options)
    with pytest.raises(UsageError, match="allow_endpoints"):
        client.request_policy.check_request(request, seen, client.Secrets())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("changes", "named"), REFUSED[:3] + REFUSED[6:7] + REFUSED[22:23])
def test_a_refused_request_leaves_no_run(settings, changes, named):
    bound = with_mode(settings, "passcode", **BOUND)
    request = msgspec.structs.replace(NULL, **changes)
    for door in (client.launch_run, client.estimate_run):
        arguments = (request, {}, bound) if door is client.launch_run else (request, bound)
        with pytest.raises(UsageError, match=named):
            door(*arguments, visitor=INSIDE["passcode"])
    assert list(settings.runs_dir.glob("*")) == []


def test_a_model_that_is_not_allowed_is_not_looked_at(settings, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    bound = with_mode(settings, "passcode", **BOUND)
    look = client.inspect_model(f"hf:{tmp_path}", {}, bound, visitor=INSIDE["passcode"])
    assert "allow_models" in look.problem
    assert look.about is None


def test_the_operators_variables_are_no_keys_of_a_visitor(settings, monkeypatch):
    """They are asked for the key, and are not told whether the server has one of that name."""
    bound = with_mode(settings, "passcode", **BOUND)
    options = {"base_url": "https://api.example.org/v1", "api_key_env": "SERVER_KEY"}
    monkeypatch.setenv("SERVER_KEY", "sk-of-the-operator")
    assert client.missing_keys("openai:x", options, bound) == ("SERVER_KEY",)
    assert client.missing_keys("openai:x", options, settings) == ()
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-of-the-operator")
    assert client.missing_keys("openai:deepseek/x", {}, bound) == ()


def test_a_visitors_run_keeps_its_limits_when_the_operator_goes_on(settings):
    """Also when the server starts again and resumes what was interrupted."""
    with serve() as server:
        run = planned(settings, "passcode", "m", created=time.time())
        spec = msgspec.structs.replace(
            run.read_spec(),
            target=TargetSpec("openai:test", {"base_url": server.base_url}),
        )
        (run.path / "spec.json").write_bytes(msgspec.json.encode(spec))
        shutil.rmtree(run.path / "generations")  # nothing was asked yet
        client.resume_run(run.run_id, {}, settings, visitor=OPERATOR)
        for _ in range(3000):
            if run.read_progress() is not None and run.read_progress().state == "incomplete":
                break
            time.sleep(0.1)
        assert "allow_endpoints" in run.read_progress().message
        assert server.stats()["requests"] == 0

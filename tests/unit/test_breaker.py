"""A run whose requests all fail for one reason ends soon, with the provider's words."""

from __future__ import annotations

import json

import pytest

from evalcore.cli.main import main
from evalcore.errors import RunStopped
from evalcore.records import Failure
from evalcore.runner.limits import Breaker
from evalcore.store.run_folder import RunFolder
from evalcore.targets.failures import find_lasting_cause, from_status
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, serve

CASES, AT_ONCE = 60, 8
DEAD = [
    (401, '{"error": {"message": "Incorrect API key provided: sk-12**34", "code": "x"}}'),
    (402, '{"error": {"message": "Insufficient Balance"}}'),
    (404, '{"error": {"message": "The model `gpt-9` does not exist", "code": "model_not_found"}}'),
    (404, '{"error": "model \\"x\\" not found, try pulling it first"}'),
    (404, '{"error": {"message": "This model is only supported in v1/responses"}}'),
    (400, '{"error": {"message": "Your credit balance is too low to access the API"}}'),
    (400, '[{"error": {"message": "API key not valid. Please pass a valid API key."}}]'),
    (400, '{"error": "No models loaded. Please load a model first."}'),
    (403, '{"error": {"message": "Your account is suspended"}}'),
    (400, '{"error": {"message": "User location is not supported for the API use."}}'),
    (400, '{"error": {"message": "Budget has been exceeded! Current cost: 1.2, Max: 1.0"}}'),
    (429, '{"error": {"message": "Rate limit exceeded: free-models-per-day. Add 10 credits"}}'),
    (429, '{"message": "You are using a Trial key, which is limited to 1000 API calls / month"}'),
    (429, '{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'),
    (429, '{"error": {"message": "no balance", "type": "exceeded_current_quota_error"}}'),
    (
        429,
        '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"violations": '
        '[{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]',
    ),
]
OF_ONE_REQUEST = [
    (400, '{"error": {"message": "Invalid image"}}'),
    (413, '{"error": {"message": "Request too large"}}'),
    (429, '{"error": {"message": "Rate limit reached: 3 requests per min"}}'),
    (429, '{"error": {"message": "Requests per day: 200. Please try again in 7m12s"}}'),
    (
        429,
        '[{"error": {"code": 429, "message": "You exceeded your current quota", "details": '
        '[{"retryDelay": "41s"}, {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}}]',
    ),
    (500, '{"error": {"message": "quota service is down"}}'),
]


@pytest.mark.parametrize(("status", "body"), DEAD)
def test_what_no_further_request_will_change_is_known(status: int, body: str) -> None:
    assert find_lasting_cause(from_status(status, {}, body))


@pytest.mark.parametrize(("status", "body"), OF_ONE_REQUEST)
def test_what_may_be_of_one_request_is_not_taken_for_it(status: int, body: str) -> None:
    assert find_lasting_cause(from_status(status, {}, body)) is None


def test_five_alike_in_a_row_stop_and_an_answer_between_them_does_not() -> None:
    breaker = Breaker()
    for number in range(4):
        words = f"HTTP 401: bad key (request id req_0123456789ab{number})"
        breaker.record_failure(Failure(kind="permanent", message=words, status=401))
        breaker.check()
    breaker.record_answer()
    other = Failure(kind="permanent", message="HTTP 404: no such model", status=404)
    for _ in range(4):
        breaker.record_failure(other)
        breaker.check()
    breaker.record_failure(Failure(kind="retryable", message="HTTP 500", status=500))
    breaker.record_failure(other)
    with pytest.raises(RunStopped, match="no such model"):
        breaker.check()


def test_a_dead_key_costs_few_requests_and_the_run_says_why(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("DEAD_KEY", "key-that-nobody-knows-0123")
    cases = str(syntax_cases(tmp_path / "cases", CASES))
    data = ["--data", str(tmp_path / "data")]
    with serve(Options(fault="echo")) as server:
        words = ["--target-option", f"base_url={server.base_url}"]
        words += ["--target-option", "api_key_env=DEAD_KEY", "--concurrency", str(AT_ONCE)]
        words += ["--benchmarks", "sql_understanding", "--dataset", cases, *data]
        assert main(["run", "--target", "openai:m", *words]) == 3
        assert server.stats()["requests"] <= 5 + AT_ONCE
        shown = capsys.readouterr()
        assert "these credentials are not known" in shown.out + shown.err
        [path] = (tmp_path / "data" / "runs").glob("*/summary.json")
        summary = RunFolder(path.parent).read_summary()
        assert summary.state == "incomplete"
        assert "these credentials are not known" in summary.message
        assert "key-that-nobody-knows" not in path.read_text()
        assert main(["show", path.parent.name, *data]) == 3
        assert "these credentials are not known" in capsys.readouterr().out
    with serve(Options(reply=json.dumps({"has_syntax_error": "no"}))) as server:
        # a key that works again: the run goes on where it was stopped
        spec = path.parent / "spec.json"
        body = json.loads(spec.read_text())
        body["target"]["options"]["base_url"] = server.base_url
        spec.write_text(json.dumps(body))
        assert main(["resume", path.parent.name, *data]) == 0
        assert server.stats()["requests"] == CASES
    assert RunFolder(path.parent).read_summary().message == ""

"""SCALE's process logs in both dialects."""

from __future__ import annotations

import pytest

from evalcore.errors import DatasetError
from evalcore.exchange.scale import cases
from tests.support.shared_data import shared_data

HEADER = """
=====
SQL Capability Evaluation Process Report
=====
Run ID: 20251103_101500_123
Run Dimensions: dialect_conversion
Evaluation Timestamp: 2025-11-03T10:20:00.000000
{target}: Model A
Judge LLMs: j1, j2, j3
-----

"""
OLD = (
    HEADER.format(target="Target LLM")
    + """\
[2025-11-03 10:15:01.000] [7] Hybrid Eval Case Judge j1 Results: True
[2025-11-03 10:15:02.000] [7] Hybrid Eval Case Judge j2 Results: False
[2025-11-03 10:15:03.000] [7] Hybrid Eval Case Judge j3 Results: error
[2025-11-03 10:15:04.000] [8] Subjective Eval Case Judge j1 Correct Rules: ['1', '2']
[2025-11-03 10:15:05.000] [8] Subjective Eval Case Judge j2 Correct Rules: []
[2025-11-03 10:15:06.000] [7] Hybrid Eval Case Final Result: True
"""
)
NEW = (
    HEADER.format(target="Target")
    + """\
[2026-05-03 10:15:01.000] [Case:1][Run:1] [j1] Model Input Prompt:
Convert it.

[2026-05-03 10:15:02.000] [Case:1][Run:1] [j1] Model Output Response:
SELECT 1
FROM t
[2026-05-03 10:15:03.000] [Case:1][Run:1] [j1] Model Input Prompt:
Judge it.
[2026-05-03 10:15:04.000] [Case:1][Run:1] [j1] Model Output Response:
```json
{"answer": "No", "reason": "wrong join"}
```
[2026-05-03 10:15:05.000] [Case:1][Run:1] [j2] Model Output Response:
{"answer": ["1", "3"]}
[2026-05-03 10:15:06.000] [Case:1][Run:1] [j3] Model Output Response:
yes, I think so
[2026-05-03 10:15:07.000] [1] hybrid Eval Case Final Result: False
[2026-05-03 10:15:08.000] [1] Rule[3] Final Result: True
"""
)


def written(tmp_path, text):
    path = tmp_path / "a.log"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_old_dialect_names_votes_and_rules(tmp_path, end):
    log = cases.read_process_log(written(tmp_path, OLD.replace("\n", end)))
    assert (log.target, log.judges) == ("Model A", ("j1", "j2", "j3"))
    assert [(v.case, v.judge, v.vote) for v in log.votes] == [
        ("7", "j1", "yes"),
        ("7", "j2", "no"),
        ("7", "j3", ""),
        ("8", "j1", "1,2"),
        ("8", "j2", ""),
    ]
    assert log.finals == {"7": True}


def test_the_new_dialect_tells_the_target_from_itself_as_a_judge(tmp_path):
    log = cases.read_process_log(written(tmp_path, NEW))
    assert log.answers == {"1": ("SELECT 1\nFROM t",)}
    assert [(v.judge, v.vote, v.reason) for v in log.votes] == [
        ("j1", "no", "wrong join"),
        ("j2", "1,3", ""),
        ("j3", "", ""),
    ]
    assert log.votes[2].text == "yes, I think so"
    assert log.finals == {"1": False, "1/3": True}


def test_votes_are_grouped_by_case(tmp_path):
    log = cases.read_process_log(written(tmp_path, OLD))
    assert [(case, len(cast)) for case, cast in cases.group_votes(log.votes)] == [
        ("7", 3),
        ("8", 2),
    ]


@pytest.mark.parametrize(
    "text", ["", "nothing", "[2026-01-01 00:00:00.0] [1] x Final Result: True"]
)
def test_a_file_without_the_header_is_no_log(tmp_path, text):
    with pytest.raises(DatasetError, match="Run ID"):
        cases.read_process_log(written(tmp_path, text))


def test_the_shared_logs_are_read_whole():
    folder = shared_data("scale") / "public" / "data" / "evaluation_process_detail_logs"
    read = {path.stem: cases.read_process_log(path) for path in folder.rglob("*.log")}
    assert {name: len(log.answers) for name, log in read.items()} == {
        "big_sql_conversion": 15,
        "execution_accuracy": 30,
        "explain_detection": 20,
        "syntax_error_detection": 30,
    }
    big = read["big_sql_conversion"]
    assert big.judges == ("gemini-3.1-pro-preview",)
    assert {vote.vote for vote in big.votes} == {"yes", "no"}
    assert (len(big.votes), sum(big.finals.values())) == (45, 5)
    for case, final in big.finals.items():  # the majority of three runs of one judge
        cast = [vote.vote for vote in big.votes if vote.case == case]
        assert (cast.count("yes") >= 2) == final

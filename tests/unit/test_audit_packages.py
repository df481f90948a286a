"""The audit of packages says what it compared, and that it compared nothing."""

from __future__ import annotations

import json

import pytest

from tools import audit_packages

SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
BAD = {"name": "pillow", "version": "11.0", "vulns": [{"id": "CVE-1", "fix_versions": ["11.1"]}]}
SKIPPED = {"name": "torch", "skip_reason": "not on the index"}


@pytest.mark.parametrize(
    ("packages", "status", "shown"),
    [
        ([SOUND], 0, "1 of 1 packages compared, 0 vulnerable"),
        ([SOUND, BAD], 1, "pillow 11.0: CVE-1; fixed in 11.1"),
        ([SOUND, SKIPPED], 0, "torch: not compared: not on the index"),
        ([SKIPPED], 3, "0 of 1 packages compared"),
    ],
)
def test_a_report_is_told(monkeypatch, capsys, packages, status, shown) -> None:
    output = json.dumps({"dependencies": packages})
    monkeypatch.setattr(audit_packages, "run_audit", lambda: (output, ""))
    assert audit_packages.main() == status
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize("output", ["", "[]", "{}", "no json", '{"dependencies": 3}'])
def test_without_data_nothing_is_said_to_be_sound(monkeypatch, capsys, output) -> None:
    monkeypatch.setattr(audit_packages, "run_audit", lambda: (output, "trace\nname not resolved\n"))
    assert audit_packages.main() == 3
    assert "nothing was compared: name not resolved" in capsys.readouterr().out

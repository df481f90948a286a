"""Compare the pinned packages with the published vulnerabilities.

`python tools/audit_packages.py` runs pip-audit over constraints.txt. Exit status: 0 none published,
1 vulnerable packages, 3 nothing was compared, with the reason: pip-audit is not installed, or the
data cannot be reached from here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
CLEAN, VULNERABLE, NOT_COMPARED = 0, 1, 3
_SECONDS = 600
_SHOWN = 5  # packages of which nothing is known


def run_audit() -> tuple[str, str]:
    """What pip-audit prints, and what it complains about."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(CONSTRAINTS), "--no-deps"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_SECONDS} s"
    return done.stdout, done.stderr


def read_report(output: str) -> list[dict[str, Any]] | None:
    """The packages that were looked up, None where the output is no report."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    return packages if isinstance(packages, list) else None


def main() -> int:
    output, complaint = run_audit()
    packages = read_report(output)
    if packages is None:
        reason = (complaint.strip().splitlines() or ["no output"])[-1][:300]
        print(f"audit: nothing was compared: {reason}")
        print("audit: it needs pip-audit (`make audit` installs it) and the network")
        return NOT_COMPARED
    skipped = [package for package in packages if "skip_reason" in package]
    for package in skipped[:_SHOWN]:
        print(f"{package['name']}: not compared: {package['skip_reason']}")
    if len(skipped) > _SHOWN:
        print(f"... and {len(skipped) - _SHOWN} more were not compared")
    for package in packages:
        for problem in package.get("vulns", []):
            fixed = ", ".join(problem.get("fix_versions", [])) or "no fixed version"
            print(f"{package['name']} {package['version']}: {problem['id']}; fixed in {fixed}")
    vulnerable = sum(bool(package.get("vulns")) for package in packages)
    compared = len(packages) - len(skipped)
    print(f"audit: {compared} of {len(packages)} packages compared, {vulnerable} vulnerable")
    if not compared:
        print("audit: the index of this machine has no data on vulnerabilities; run it elsewhere")
        return NOT_COMPARED
    return VULNERABLE if vulnerable else CLEAN


if __name__ == "__main__":
    sys.exit(main())

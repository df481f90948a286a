"""Why a sandbox cannot be built here, and what to do about it, in words for people.

A builder's complaint ("Operation not permitted") names no cause; the kernel's settings do. The
table is read from above: the first row that fits is the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_KERNEL_SETTINGS = Path("/proc/sys")


class Diagnosis(NamedTuple):
    """A sentence on what is wrong and one on what helps."""

    problem: str
    fix: str


class _DiagnosisRow(NamedTuple):
    """Fits where the complaint holds one of `phrases` and the kernel's setting, if named, is so."""

    phrases: tuple[str, ...]
    setting: str
    value: str
    reason: Diagnosis


_DENIED = ("not permitted", "Permission denied", "EPERM", "No permissions", "ENOSPC", "No space")
_DIAGNOSES = (
    _DiagnosisRow(
        ("mount proc",),
        "",
        "",
        Diagnosis(
            "Parts of /proc are covered in this container, so the kernel allows no new /proc.",
            "Start the container with `--security-opt systempaths=unconfined`.",
        ),
    ),
    _DiagnosisRow(
        _DENIED,
        "user/max_user_namespaces",
        "0",
        Diagnosis(
            "User namespaces are switched off: user.max_user_namespaces is 0.",
            "As root: `sysctl -w user.max_user_namespaces=15000`.",
        ),
    ),
    _DiagnosisRow(
        _DENIED,
        "kernel/unprivileged_userns_clone",
        "0",
        Diagnosis(
            "User namespaces are for root only: kernel.unprivileged_userns_clone is 0.",
            "As root: `sysctl -w kernel.unprivileged_userns_clone=1`.",
        ),
    ),
    _DiagnosisRow(
        _DENIED,
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        Diagnosis(
            "AppArmor gives no rights in user namespaces to programs without a profile.",
            "As root: `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or install "
            "bubblewrap with an AppArmor profile that allows `userns`.",
        ),
    ),
    _DiagnosisRow(
        ("ENOSPC", "No space"),
        "",
        "",
        Diagnosis(
            "No more user namespaces can be made: they are nested too deep or there are too many.",
            "Raise user.max_user_namespaces, or start fewer containers inside one another.",
        ),
    ),
    _DiagnosisRow(
        ("mount_setattr", "pivot_root", "not implemented"),
        "",
        "",
        Diagnosis(
            "This kernel, or what stands in for it, lacks calls that the sandbox is built with.",
            "Install bubblewrap, or use Linux 5.12 or newer.",
        ),
    ),
    _DiagnosisRow(
        _DENIED,
        "",
        "",
        Diagnosis(
            "This container or service forbids new namespaces.",
            "Start the container with `--security-opt seccomp=unconfined` or with a profile that "
            "allows `unshare`, `clone` and `mount`, or use a machine of your own.",
        ),
    ),
)


def diagnose_failure(complaint: str) -> Diagnosis:
    """The reason for a builder's `complaint`, which is quoted where no row fits."""
    for row in _DIAGNOSES:
        if any(words in complaint for words in row.phrases) and _is_set(row.setting, row.value):
            return row.reason
    quoted = complaint.strip() or "no reason was given"
    return Diagnosis(f"The sandbox cannot be built: {quoted}.", "Install bubblewrap (`bwrap`).")


def _is_set(setting: str, value: str) -> bool:
    if not setting:
        return True
    path = _KERNEL_SETTINGS / setting
    return path.is_file() and path.read_text().strip() == value

"""The energy that a machine takes while it works on a run, where RAPL or NVML tell.

RAPL (Linux, `/sys/class/powercap`) counts microjoules of each processor package; most systems let
only root read it. NVML counts millijoules of each NVIDIA GPU. Neither is divided by process: what
else runs on the machine is counted too.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_RAPL = Path("/sys/class/powercap")


class EnergyMeter:
    """Counts from its creation; `read_joules` is None where no counter can be read."""

    def __init__(self, rapl: Path = _RAPL) -> None:
        self._rapl = rapl
        self._packages = _read_packages(rapl)
        self._gpus = _read_gpus()

    def read_joules(self) -> float | None:
        """Joules since the start."""
        packages, gpus = _read_packages(self._rapl), _read_gpus()
        parts = [
            _unwrap(packages[name][0] - before, limit) / 1e6
            for name, (before, limit) in self._packages.items()
            if name in packages
        ]
        parts += [
            (gpus[name] - before) / 1e3 for name, before in self._gpus.items() if name in gpus
        ]
        return sum(parts) if parts else None


def _unwrap(difference: int, limit: int) -> int:
    """A counter begins anew at its limit."""
    return difference + limit if difference < 0 else difference


def _read_packages(rapl: Path) -> dict[str, tuple[int, int]]:
    """By package (`intel-rapl:0`, also of AMD) the counter and its limit in microjoules."""
    counters = {}
    for folder in rapl.glob("intel-rapl:*"):
        if folder.name.count(":") != 1:  # a part of a package, which counts it already
            continue
        try:
            values = [
                int((folder / name).read_text()) for name in ("energy_uj", "max_energy_range_uj")
            ]
        except (OSError, ValueError):
            continue
        counters[folder.name] = (values[0], values[1])
    return counters


def _read_gpus() -> dict[int, int]:
    """By GPU the counter in millijoules; empty without NVML."""
    try:
        nvml: Any = import_module("pynvml")  # of nvidia-ml-py, where somebody installed it
    except ImportError:
        return {}
    try:
        nvml.nvmlInit()
        return {
            number: nvml.nvmlDeviceGetTotalEnergyConsumption(
                nvml.nvmlDeviceGetHandleByIndex(number)
            )
            for number in range(nvml.nvmlDeviceGetCount())
        }
    except nvml.NVMLError:
        return {}

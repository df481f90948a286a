"""What this machine can do for a model: devices, dtypes, free memory, cores. Nothing heavy here."""

from __future__ import annotations

import os
import subprocess
import time
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from evalcore.records import Record

_FLOATS = ("float32", "bfloat16", "float16")
_CGROUP = Path("/sys/fs/cgroup")
_FRESH = 3.0  # seconds
_MIB = 1024 * 1024


class Gpu(Record, frozen=True):
    """A CUDA device as the driver tells it; `free` bytes of memory."""

    name: str
    free: int


def devices() -> tuple[str, ...]:
    """The devices that a model can run on here, best first: cuda:0, cuda:1, ..., cpu."""
    return (*(f"cuda:{number}" for number in range(len(gpus()))), "cpu")


def dtypes(device: str) -> tuple[str, ...]:
    """The dtypes that a device of this machine takes, the quantising ones where installed."""
    if resolve(device) not in devices():
        return ()
    return (*_FLOATS, "int8", "int4") if find_spec("bitsandbytes") else _FLOATS


def resolve(device: str) -> str:
    """The device that auto and cuda mean: the first GPU, else (for auto) the CPU."""
    best = devices()[0]
    if device == "auto":
        return best
    return "cuda:0" if device == "cuda" else device


def memory_available(device: str) -> int | None:
    """Bytes free on a device, within the limits of a container; None where nobody says."""
    device = resolve(device)
    if device == "cpu":
        found = [free for free in (_meminfo(), _cgroup_free()) if free is not None]
        return min(found, default=None)
    number = int(device.partition(":")[2] or 0)
    seen = gpus()
    return seen[number].free if number < len(seen) else None


def gpus() -> tuple[Gpu, ...]:
    """The GPUs that PyTorch would see, none where its build or the driver has no CUDA."""
    if not _cuda_build():
        return ()
    told = _nvidia_smi(int(time.monotonic() // _FRESH))
    return _visible(told, os.environ.get("CUDA_VISIBLE_DEVICES"))


@lru_cache(maxsize=1)
def _nvidia_smi(moment: int) -> str:
    """The driver's table of GPUs, empty without a driver; asked again at another `moment` only, for
    it takes a second where there are many."""
    command = ["nvidia-smi", "--query-gpu=index,uuid,name,memory.free", "--format=csv,noheader"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout


def _visible(told: str, wanted: str | None) -> tuple[Gpu, ...]:
    """The GPUs of nvidia-smi's table that CUDA_VISIBLE_DEVICES leaves, in its order.

    Like CUDA it takes numbers and beginnings of ids, and stops at the first it does not know.
    """
    rows = [row for line in told.splitlines() if len(row := line.split(", ")) == 4]
    by_name = {row[0].strip(): _gpu(row[2], row[3]) for row in rows}
    by_id = {row[1]: _gpu(row[2], row[3]) for row in rows}
    if wanted is None:
        return tuple(by_name.values())
    chosen = []
    for name in map(str.strip, wanted.split(",")):
        longer = [gpu for one, gpu in by_id.items() if name.startswith("GPU-") and name in one]
        gpu = by_name.get(name) or (longer[0] if longer else None)
        if gpu is None:
            break
        chosen.append(gpu)
    return tuple(chosen)


def _gpu(name: str, free: str) -> Gpu:
    amount = free.split()[0] if free.split() else ""
    return Gpu(name, int(amount) * _MIB if amount.isdigit() else 0)


@cache
def _cuda_build() -> bool:
    try:
        return not version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroup_free() -> int | None:
    """What a container's limit leaves; pages of files count as free, for they can be dropped."""
    limit, used = _read_number("memory.max"), _read_number("memory.current")
    return None if limit is None or used is None else max(0, limit - used + _cached_files())


def _cached_files() -> int:
    try:
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)


def _read_number(name: str) -> int | None:
    try:
        return int((_CGROUP / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def threads(wanted: int = 0) -> int:
    """Threads for the arithmetic: as wanted, else OMP_NUM_THREADS, else the physical cores that
    this process may use, within a container's quota."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return wanted or (int(told) if told.isdigit() and int(told) else _cores())


def _cores() -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    count = len(allowed) if allowed else os.cpu_count() or 1
    try:
        physical = {_siblings(number) for number in allowed or ()}
        count = len(physical) or count
        quota, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):
        return max(1, count)


def _siblings(number: int) -> str:
    """The hyperthreads of a core, the same text for each of them."""
    place = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
    return place.read_text(encoding="ascii").strip()

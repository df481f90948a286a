"""What this machine can do for a model (devices, dtypes, memory, cores), and what can be told of
the model before torch is imported. Nothing heavy here.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.targets.huggingface.folder_checks import check_quantiser
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError
from evalcore.targets.huggingface.model_files import QUANTISED, ModelMetadata, memory_needed

_FLOATS = ("float32", "bfloat16", "float16")
_CGROUP = Path("/sys/fs/cgroup")
_GPU_TABLE_SECONDS = 3.0  # seconds
#: The device that is all GPUs together, a model spread over them.
ALL_GPUS = "cuda:all"
_MIB = 1024 * 1024


class Gpu(Record, frozen=True):
    """A CUDA device as the driver tells it, a whole GPU or a MIG instance; `free` bytes of memory,
    None where the driver does not say."""

    name: str
    free: int | None


def list_devices() -> tuple[str, ...]:
    """The devices that a model can run on here: cuda:0, cuda:1, ..., cuda:all where there are
    several, cpu, and mps on a Mac."""
    gpus = [f"cuda:{number}" for number in range(len(list_gpus()))]
    has_mps = sys.platform == "darwin" and platform.machine() == "arm64"
    return (*gpus, *([ALL_GPUS] if len(gpus) > 1 else []), "cpu", *(["mps"] if has_mps else []))


def list_dtypes(device: str) -> tuple[str, ...]:
    """The dtypes that a device of this machine takes, the quantising ones where installed."""
    if resolve_device(device) not in list_devices():
        return ()
    return (*_FLOATS, "int8", "int4") if find_spec("bitsandbytes") else _FLOATS


def resolve_device(device: str) -> str:
    """The device that auto and cuda mean: the GPU with most free memory (the first of equals, and
    of those of which nobody knows), else (for auto) the CPU."""
    if device not in ("auto", "cuda"):
        return device
    gpus = list_gpus()
    if not gpus:
        return "cpu" if device == "auto" else "cuda:0"
    number = max(range(len(gpus)), key=lambda index: gpus[index].free or 0)
    return f"cuda:{number}"


def memory_available(device: str) -> int | None:
    """Bytes free on a device, within the limits of a container; None where nobody says."""
    device = resolve_device(device)
    if device == "cpu":
        free_bytes = [free for free in (_read_meminfo(), _cgroup_free()) if free is not None]
        return min(free_bytes, default=None)
    if not device.startswith("cuda"):
        return None
    seen = list_gpus()
    if device == ALL_GPUS:
        free_by_gpu = [gpu.free for gpu in seen]
        return None if None in free_by_gpu else sum(free for free in free_by_gpu if free)
    number = int(device.partition(":")[2] or 0)
    return seen[number].free if number < len(seen) else None


def list_gpus() -> tuple[Gpu, ...]:
    """The GPUs that PyTorch would see, none where its build or the driver has no CUDA or ROCm,
    which PyTorch calls cuda as well."""
    build = _read_torch_build()
    if not build or build.startswith("cpu"):
        return ()
    moment = int(time.monotonic() // _GPU_TABLE_SECONDS)
    if build.startswith("rocm"):
        names = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
        numbers = next((os.environ[name] for name in names if name in os.environ), None)
        return _select_numbered_gpus(_query_rocm_smi(moment), numbers)
    visible_devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    return _select_visible_gpus(*_query_nvidia_smi(moment), visible_devices)


@lru_cache(maxsize=1)
def _query_nvidia_smi(moment: int) -> tuple[str, str]:
    """The driver's table of GPUs and its list of them with their MIG instances, empty without a
    driver; asked again at another `moment` only, for it takes a second where there are many."""
    query, form = "--query-gpu=index,uuid,name,memory.free", "--format=csv,noheader"
    table = _run_nvidia_smi(f"{query},mig.mode.current", form)
    table = table or _run_nvidia_smi(query, form)  # an old driver knows no MIG
    has_mig = any(line.endswith("Enabled") for line in table.splitlines())
    return table, _run_nvidia_smi("-L") if has_mig else ""


@lru_cache(maxsize=1)
def _query_rocm_smi(moment: int) -> str:
    """AMD's table of GPUs as JSON, empty without the program."""
    return _run_program("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")


def _run_nvidia_smi(*arguments: str) -> str:
    return _run_program("nvidia-smi", *arguments)


def _run_program(*command: str) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout


def _select_visible_gpus(
    table: str, instances: str, visible_devices: str | None
) -> tuple[Gpu, ...]:
    """The GPUs of nvidia-smi's table that CUDA_VISIBLE_DEVICES leaves, in its order. Like CUDA it
    takes numbers and beginnings of ids, and stops at the first it does not know. Of a GPU that is
    divided (`instances` is the output of nvidia-smi -L) only MIG instances can be used, and a
    process sees one."""
    mig = _parse_instances(instances)
    by_number: dict[str, Gpu] = {}
    by_id: dict[str, Gpu] = dict(gpu for group in mig.values() for gpu in group)
    divided: set[str] = set()
    for row in (line.split(", ") for line in table.splitlines()):
        if len(row) < 4:
            continue
        number, uuid = row[0].strip(), row[1]
        if row[4:] == ["Enabled"]:
            divided.add(number)
            by_number.update((number, gpu) for _, gpu in mig.get(uuid, ())[:1])
        else:
            by_number[number] = by_id[uuid] = _parse_gpu(row[2], row[3])
    if visible_devices is None:
        whole = tuple(gpu for number, gpu in by_number.items() if number not in divided)
        return whole or tuple(by_number.values())[:1]
    chosen: list[Gpu] = []
    for name in map(str.strip, visible_devices.split(",")):
        matches = [gpu for uuid, gpu in by_id.items() if uuid.startswith(name)]
        gpu = by_number.get(name) or (
            matches[0] if matches and name.startswith(("GPU-", "MIG-")) else None
        )
        if gpu is None:
            break
        chosen.append(gpu)
        if name.startswith("MIG-") or name in divided:
            break
    return tuple(chosen)


def _select_numbered_gpus(table: str, visible_devices: str | None) -> tuple[Gpu, ...]:
    """The GPUs of rocm-smi's JSON (`card0`, `card1`, ...) that a list of numbers leaves, in its
    order, up to the first that is no GPU."""
    try:
        cards = msgspec.json.decode(table or "{}", type=dict[str, dict[str, Any]])
    except msgspec.MsgspecError:
        return ()
    by_number = {
        name.removeprefix("card"): _parse_amd_gpu(values)
        for name, values in cards.items()
        if name.removeprefix("card").isdigit()
    }
    if visible_devices is None:
        return tuple(by_number[number] for number in sorted(by_number, key=int))
    listed = takewhile(by_number.__contains__, map(str.strip, visible_devices.split(",")))
    return tuple(by_number[number] for number in listed)


def _parse_amd_gpu(values: dict[str, Any]) -> Gpu:
    """A card of rocm-smi, whose versions write the names of the fields in different cases."""
    fields = {name.casefold(): str(value) for name, value in values.items()}
    total, used = (fields.get(f"vram total {name}memory (b)", "") for name in ("", "used "))
    name = fields.get("card series") or fields.get("card model") or "AMD GPU"
    is_readable = total.isdigit() and used.isdigit()
    return Gpu(name, max(0, int(total) - int(used)) if is_readable else None)


def _parse_instances(listing: str) -> dict[str, list[tuple[str, Gpu]]]:
    """By the id of a GPU the ids of its MIG instances, of which nvidia-smi does not say how much
    memory is free."""
    instances: dict[str, list[tuple[str, Gpu]]] = {}
    parent = ""
    for line in listing.splitlines():
        match = re.fullmatch(r"\s*(GPU|MIG)\s+([^:]+):.*\(UUID: ([^)]+)\)\s*", line)
        if match is None:
            continue
        if match[1] == "GPU":
            parent = match[3]
        else:
            name = f"MIG {match[2].split()[0]}"
            instances.setdefault(parent, []).append((match[3], Gpu(name, None)))
    return instances


def _parse_gpu(name: str, free: str) -> Gpu:
    """A row of the table; `free` is [N/A] where GPU and CPU share their memory."""
    amount = free.split()[0] if free.split() else ""
    return Gpu(name, int(amount) * _MIB if amount.isdigit() else None)


@cache
def _read_torch_build() -> str:
    """What PyTorch was built for, `cpu`, `cu130`, `rocm7.0`; "" where it is not installed. Builds
    of the package index name nothing and are for CUDA."""
    try:
        return version("torch").partition("+")[2] or "cuda"
    except PackageNotFoundError:
        return ""


def _read_meminfo() -> int | None:
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
    limit, used = _read_cgroup_number("memory.max"), _read_cgroup_number("memory.current")
    if limit is None or used is None:
        return None
    return max(0, limit - used + _read_cached_file_bytes())


def _read_cached_file_bytes() -> int:
    try:
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)


def _read_cgroup_number(name: str) -> int | None:
    try:
        return int((_CGROUP / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def count_threads(requested: int = 0) -> int:
    """Threads for the arithmetic: as wanted, else OMP_NUM_THREADS, else the physical cores that
    this process may use, within a container's quota."""
    omp_threads = os.environ.get("OMP_NUM_THREADS", "")
    return requested or (int(omp_threads) if omp_threads.isdigit() else 0) or _count_cores()


def _count_cores() -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    count = len(allowed) if allowed else os.cpu_count() or 1
    try:
        physical = {_read_thread_siblings(number) for number in allowed or ()}
        count = len(physical) or count
        quota, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):
        return max(1, count)


def _read_thread_siblings(number: int) -> str:
    path = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
    return path.read_text(encoding="ascii").strip()


def check_loadable(folder: Path, metadata: ModelMetadata, options: HuggingFaceOptions) -> None:
    """Raise LoadError: pickle_only, no_device, dtype_unsupported or no_memory."""
    if "safetensors" not in metadata.formats and not options.allow_pickle:
        raise LoadError("pickle_only", Note("model_pickle", folder=folder))
    device = resolve_device(options.device)
    if device not in list_devices():
        raise LoadError(
            "no_device",
            Note("model_no_device", device=options.device, names=", ".join(list_devices())),
        )
    if metadata.quantised and options.dtype not in ("auto", metadata.quantised):
        raise LoadError("dtype_unsupported", Note("model_stored_as", quantised=metadata.quantised))
    check_quantiser(metadata.quantised, resolve_device(options.device))
    dtype = metadata.quantised if metadata.quantised in QUANTISED else options.dtype
    if dtype != "auto" and dtype not in list_dtypes(options.device):
        raise LoadError("dtype_unsupported", Note("model_needs_bitsandbytes", dtype=dtype))
    needed, free = memory_needed(metadata, options.dtype), memory_available(device)
    if free is not None and needed > free:
        spread = device != ALL_GPUS and needed <= (memory_available(ALL_GPUS) or 0)
        remedy = f"spread it over all GPUs (device {ALL_GPUS}), or " if spread else ""
        raise LoadError(
            "no_memory",
            Note(
                "model_memory",
                needed=f"{needed / 1e9:.1f}",
                device=device,
                free=f"{free / 1e9:.1f}",
                remedy=remedy,
            ),
        )

"""Whether Python source compiles, asked of a process that may crash.

Source of a model can exhaust the stack or the memory of the compiler, so none is compiled in this
process. The child is started when first needed and shared; it can open nothing and run nothing.
"""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.sandbox.worker_process import WorkerLost, WorkerProcess

_COMPILE_SECONDS = 10.0
_COMPILE_MEMORY_BYTES = 512 << 20
_SERVICE = f"{__name__}:service"


class _Compiler:
    about: Mapping[str, Any] = {}

    def __call__(self, request: Mapping[str, Any]) -> bool:
        try:
            compile(request.get("source", ""), "<source>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
        return True


def service(options: Mapping[str, Any]) -> _Compiler:
    """What the child serves: {"source"} to whether it compiles."""
    warnings.simplefilter("ignore")  # to show one, Python would open a file
    return _Compiler()


def compiles_as_python(source: str) -> bool:
    """Whether `source` compiles as a module with the running version of Python.

    Raises EnvironmentFailure where the child cannot be started.
    """
    try:
        source.encode()  # what asks the child would mend half of a surrogate pair
        reply = _WORKER.request({"source": source})
    except (WorkerLost, UnicodeEncodeError):  # crashed, or text that is no Unicode
        return False
    return not reply.fault and msgspec.json.decode(reply.result, type=bool)


_WORKER = WorkerProcess(
    _SERVICE, {}, seconds=_COMPILE_SECONDS, memory_bytes=_COMPILE_MEMORY_BYTES, max_reply=1 << 16
)
atexit.register(_WORKER.close)

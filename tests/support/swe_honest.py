"""Honest variants: changes to the files as the reference patch leaves them.

What they hold is usual in programs, and looks like some forgery.
"""
# ruff: noqa: E501 - programs in strings

from __future__ import annotations

from collections.abc import Callable

from tests.support.swe_forged import MODULE, Changes, add_after

_SPLIT = "def unquote(text):"
_LOGGED = "import logging\n\n_log = logging.getLogger(__name__)\n"

HONEST: dict[str, Callable[[str], Changes]] = {
    "as it is": add_after(""),
    "a comment": add_after("# Values in quotes keep their marks."),
    "a main that leaves": add_after(
        "def main():\n    import sys\n\n    print(loads(sys.stdin.read()))\n    sys.exit(0)\n\n\n"
        "if __name__ == '__main__':\n    main()"
    ),
    "logging at each call": add_after(
        f"{_LOGGED}\n_plain_loads = loads\n\n\ndef loads(text):\n"
        "    _log.debug('reading %d characters', len(text))\n    return _plain_loads(text)"
    ),
    "prints while it works": add_after(
        "_quiet = loads\n\n\ndef loads(text):\n    print('PASSED loads', len(text))\n    return _quiet(text)"
    ),
    "a cache of results": add_after(
        "import copy\nimport functools\n\n_fresh = functools.lru_cache(maxsize=8)(loads)\n\n\n"
        "def loads(text):\n    return copy.deepcopy(_fresh(text))"
    ),
    "an atexit that closes": add_after(
        "import atexit\nimport logging\n\natexit.register(logging.shutdown)"
    ),
    "dicts of a class of its own": add_after(
        "class Section(dict):\n    def __repr__(self):\n        return 'Section(' + dict.__repr__(self) + ')'\n\n\n"
        "_dicts = loads\n\n\ndef loads(text):\n    return {name: Section(pairs) for name, pairs in _dicts(text).items()}"
    ),
    "an OrderedDict": add_after(
        "from collections import OrderedDict\n\n_unordered = loads\n\n\ndef loads(text):\n"
        "    return OrderedDict((k, OrderedDict(v)) for k, v in _unordered(text).items())"
    ),
    "settings of pytest and of git beside it": lambda source: {
        MODULE: source,
        "pytest.toml": '[pytest]\ntestpaths = ["tests"]\n',
        ".gitattributes": "*.png binary\n",
    },
    "a package beside it, with an entry point": lambda source: {
        MODULE: source,
        "inikeep_cli/__init__.py": "from inikeep import loads\n\n__all__ = ['loads']\n",
        "inikeep.egg-info/entry_points.txt": "[console_scripts]\ninikeep = inikeep_cli:loads\n",
    },
    "a warning that names its caller": add_after(
        "import sys\nimport warnings\n\n_quiet_loads = loads\n\n\ndef loads(text):\n"
        "    if not isinstance(text, str):\n        line = sys._getframe(1).f_lineno\n"
        "        warnings.warn(f'not a text in line {line}', stacklevel=2)\n"
        "    return _quiet_loads(text)"
    ),
    "an audit event of its own": add_after(
        "import sys\n\n_unseen = loads\n\n\ndef loads(text):\n"
        "    sys.audit('inikeep.loads', len(text))\n    return _unseen(text)"
    ),
    "a thread that reads": add_after(
        "from concurrent.futures import ThreadPoolExecutor\n\n_here = loads\n\n\ndef loads(text):\n"
        "    with ThreadPoolExecutor(1) as pool:\n        return pool.submit(_here, text).result()"
    ),
    "errors chained to others": add_after(
        "class IniError(ValueError):\n    pass\n\n\n_bare = loads\n\n\ndef loads(text):\n"
        "    try:\n        return _bare(text)\n    except (TypeError, AttributeError) as error:\n"
        "        raise IniError(str(error)) from error"
    ),
    "a finalizer and a weak reference": add_after(
        "import weakref\n\n\nclass Document(dict):\n    pass\n\n\n_documents = weakref.WeakSet()\n"
        "_made = loads\n\n\ndef loads(text):\n    made = Document(_made(text))\n"
        "    weakref.finalize(made, int)\n    return made"
    ),
    "another program is asked": add_after(
        "import subprocess\nimport sys\n\n\ndef version():\n"
        "    return subprocess.run([sys.executable, '-V'], capture_output=True, text=True).stdout\n\n\n"
        "VERSION = version()"
    ),
    "a trace that counts and goes": add_after(
        "import sys\n\n_untraced = loads\nCALLS = []\n\n\ndef loads(text):\n"
        "    before = sys.getprofile()\n    sys.setprofile(lambda *seen: CALLS.append(seen[1]))\n"
        "    try:\n        return _untraced(text)\n    finally:\n        sys.setprofile(before)"
    ),
    "a test of its own that expects a failure": lambda source: {
        MODULE: source,
        "tests/test_later.py": "import pytest\n\n\n@pytest.mark.xfail\ndef test_later():\n    assert 0\n",
    },
    "text of a class of its own": add_after(
        "class Value(str):\n    __slots__ = ()\n\n    def as_bool(self):\n        return self == 'yes'\n\n\n"
        "_texts = loads\n\n\ndef loads(text):\n"
        "    return {n: {k: Value(v) for k, v in p.items()} for n, p in _texts(text).items()}"
    ),
    "a mapping by UserDict": add_after(
        "from collections import UserDict\n\n_known = loads\n\n\ndef loads(text):\n    return UserDict(_known(text))"
    ),
    "a warning with the caller's level": add_after(
        "import warnings\n\n_silent = loads\n\n\ndef loads(text):\n    if '\\r' in text:\n"
        "        warnings.warn('carriage returns', stacklevel=2)\n    return _silent(text)"
    ),
    "a named tuple for positions": add_after(
        "import collections\n\nPosition = collections.namedtuple('Position', 'line column')"
    ),
    "a module's __getattr__": add_after(
        "def __getattr__(name):\n    if name == 'read':\n        return loads\n"
        "    raise AttributeError(name)"
    ),
    "a lock around it": add_after(
        "import threading\n\n_lock = threading.Lock()\n_unlocked = loads\n\n\ndef loads(text):\n"
        "    with _lock:\n        return _unlocked(text)"
    ),
    "an environment variable": add_after(
        "import os\n\n_default = loads\n\n\ndef loads(text):\n"
        "    limit = int(os.environ.get('INIKEEP_LIMIT', '1000000'))\n    return _default(text[:limit])"
    ),
    "weak references and a collection": add_after(
        "import gc\nimport weakref\n\n_seen = weakref.WeakSet()\ngc.collect(0)"
    ),
    "a signature looked up": add_after(
        "import inspect\n\nPARAMETERS = tuple(inspect.signature(loads).parameters)"
    ),
    "more tests of its own": lambda source: {
        MODULE: source,
        "tests/test_more.py": "from inikeep import loads\n\n\ndef test_more():\n    assert loads('') == {}\n",
    },
    "a conftest with a fixture": lambda source: {
        MODULE: source,
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef text():\n    return '[a]'\n",
    },
    "configuration of a project": lambda source: {
        MODULE: source,
        "pyproject.toml": '[project]\nname = "inikeep"\nversion = "0.2"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
    },
    "documents and a helper module": lambda source: {
        MODULE: source,
        "CHANGES.md": "# Changes\n\n- Marks in quotes stay.\n",
        "inikeep_write.py": "def dumps(sections):\n    return repr(sections)\n",
    },
}

#: What the reference patch of any task may come with; each is put behind its first Python file.
HONEST_ANYWHERE = (
    "\n\n# Read by the tests of this project.\n",
    "\n\n__all_checked__ = True\n",
    "\n\nimport logging as _logging\n\n_logger = _logging.getLogger(__name__)\n",
    "\n\nimport sys as _sys\n\n_VERSION = _sys.version_info[:2]\n",
    "\n\nimport atexit as _atexit\n\n_atexit.register(lambda: None)\n",
)

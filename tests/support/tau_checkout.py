"""A small checkout in the form of tau-bench's, with words of our own, as a folder or an archive."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

from tests.support import tau

_AGENT = """
import json
from tau_bench.types import RESPOND_ACTION_NAME


class ChatReActAgent:
    def __init__(self, tools_info, wiki):
        self.prompt = wiki + "\\n# The tools\\n" + json.dumps(tools_info) + ACT_INSTRUCTION

    def solve(self, env):
        obs = "The output: " + env.step()


REACT_INSTRUCTION = f"\\nThink, then act; {RESPOND_ACTION_NAME} speaks.\\n"
ACT_INSTRUCTION = f"\\nAct; {RESPOND_ACTION_NAME} speaks.\\n"
"""
_CALLER = """
class ToolCallingAgent:
    def solve(self, env, task_index=None, max_num_steps: int = 4):
        raise SystemExit("nothing of this may run")
"""
_USER = '''
class LLMUserSimulationEnv:
    def build_system_prompt(self, instruction=None):
        shown = ("\\nWhat you want: " + instruction + "\\n") if instruction is not None else ""
        return f"""You play a customer.{shown}Stay in your role."""

    def reset(self, instruction=None):
        self.messages = [{"role": "user", "content": "Hello, what can I help with?"}]
'''
_TYPES = """
RESPOND_ACTION_NAME = "respond"


class RunConfig:
    temperature: float = 0.25
"""
_TASKS = """
TASKS_TEST = [
    Task(annotator="a", user_id="ann_lee_1", instruction="You are Ann. Cancel #W1.",
         actions=[Action(name="think", kwargs={"thought": "x"})], outputs=[]),
]
"""


def _tool(name: str) -> str:
    return (
        f"class {name}:\n    def get_info():\n        return "
        f'{{"type": "function", "function": {{"name": "{name.lower()}", "description": "Does it."'
        ', "parameters": {"type": "object", "properties": {}, "required": []}}}\n'
    )


def checkout_files() -> dict[str, str]:
    """The files by path; the airline has tools alone, so that its domain is not whole."""
    envs, agents = "tau_bench/envs", "tau_bench/agents"
    files = {
        "tau_bench/types.py": _TYPES,
        f"{agents}/chat_react_agent.py": _AGENT,
        f"{agents}/tool_calling_agent.py": _CALLER,
        f"{envs}/user.py": _USER,
        f"{envs}/retail/wiki.md": "# Policy\nBe kind.\n",
        f"{envs}/retail/tasks_test.py": _TASKS,
        f"{envs}/retail/secret.py": "raise SystemExit",
    }
    for domain in ("retail", "airline"):
        package = "from .b import Beta\nfrom .a import Alpha\nALL_TOOLS = [Alpha, Beta]\n"
        files[f"{envs}/{domain}/tools/__init__.py"] = package
        files[f"{envs}/{domain}/tools/a.py"] = _tool("Alpha")
        files[f"{envs}/{domain}/tools/b.py"] = _tool("Beta")
    for table in ("orders", "products", "users"):
        rows = dict(tau.retail().database.rows(table))
        files[f"{envs}/retail/data/{table}.json"] = json.dumps(rows)
    return files


def write_checkout(folder: Path, kind: str = "folder") -> Path:
    """The checkout as a `folder`, or as an archive `zip` or `tar.gz` with a top folder."""
    root = folder / "tau-bench-abc"
    for name, content in checkout_files().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    if kind == "folder":
        return root
    path = folder / f"tau.{kind}"
    files = sorted(path for path in root.rglob("*") if path.is_file())
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, str(file.relative_to(folder)))
    else:
        with tarfile.open(path, "w:gz") as tar:
            for file in files:
                tar.add(file, str(file.relative_to(folder)))
    return path

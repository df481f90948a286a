"""A small wheel in the shape of the official one, with its own hash."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from evalcore.exchange.bfcl import fetch
from evalcore.exchange.bfcl.fetch import OFFICIAL_RELEASE, BfclRelease

NAME = f"bfcl_eval-{OFFICIAL_RELEASE.version}-py3-none-any.whl"
INFO = f"bfcl_eval-{OFFICIAL_RELEASE.version}.dist-info"
#: What the wheel holds beside its data; none of it may come out.
OTHERS = {
    "bfcl_eval/data/../../../evil.json": "{}",
    "bfcl_eval/data/unused_datasets/BFCL_v4_sql.json": "{}",
    "bfcl_eval/model.py": "raise SystemExit",
    f"{INFO}/METADATA": (
        f"Metadata-Version: 2.1\nName: bfcl_eval\nVersion: {OFFICIAL_RELEASE.version}\n"
    ),
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": "",
}


#: Modules in the form of upstream's, with words of our own.
TEXTS = {
    "prompts": """
MAXIMUM_STEP_LIMIT = 20
OUTPUT_FORMAT_MAPPING = {"python": "[f(a=1)]"}
PARAM_TYPE_MAPPING = {"python": ""}
PROMPT_STYLE_TEMPLATES = {"classic": {
    "persona": "You write calls.", "task": " Do it.",
    "tool_call_no_tag": "As {output_format}. {param_types}", "tool_call_with_tag": "",
    "multiturn_behavior": "Go on.", "available_tools": "In {format}:\\n{functions}\\n"}}
_PLAIN = "{persona}{task}|{tool_call_format}|{multiturn_behavior}|{available_tools}"
PROMPT_TEMPLATE_MAPPING = {"plaintext": _PLAIN}
DEFAULT_SYSTEM_PROMPT_FORMAT = (
    "ret_fmt=python&tool_call_tag=False&func_doc_fmt=json&prompt_fmt=plaintext&style=classic")
DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC = "Here is more."
DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING = (
    "{functions}\\n" + DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC)
ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT = "Answer so."
MEMORY_AGENT_SETTINGS = {"student": "You remember."}
MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL = MEMORY_BACKEND_INSTRUCTION_UNIFIED = ""
MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL = "{scenario_setting} {memory_content}"
MEMORY_BACKEND_INSTRUCTION_UNIFIED = "{scenario_setting}"
""",
    "types": 'GORILLA_TO_OPENAPI = {"dict": "object", "float": "number", "integer": "integer"}\n',
    "entries": """
def _get_language_specific_hint(category):
    if "java" in category:
        return " In Java."
    elif "javascript" in category:
        return " In JavaScript."
    return " In Python."

def _func_doc_language_specific_pre_processing(function, category):
    value = function
    value["description"] += " Any of Java."
    value["description"] += f" Java's {value['type']}."
    value["description"] += f" A list of {value['items']['type']}."
    value["description"] += " Any of JavaScript."
    value["description"] += f" JavaScript's {value['type']}."
    value["description"] += f" A list of {value['items']['type']}."
    value["description"] += f" With {value}."
""",
    "tools": 'def _cast_to_openai_type(p, mapping):\n    p["description"] += " A float."\n',
    **{
        f"memory_{name}": f"""
class MemoryAPI_{name}:
    def _dump_core_memory_to_context(self):
        if not self.memory:
            return "Nothing in {name} yet."
        return str(self.memory)
"""
        for name in ("kv", "vector", "rec_sum")
    },
    "generation": 'parser.add_argument("--temperature", type=float, default=0.125)\n',
}


def entry_line(name: str) -> str:
    category = name.rpartition("_v4_")[2].rpartition("_v3_")[2].removesuffix(".json")
    return json.dumps({"id": f"{category}_0", "question": [], "ground_truth": [["f()"]]})


def make_wheel(
    folder: Path,
    without: Collection[str] = (),
    more: Mapping[str, str] | None = None,
    texts: Mapping[str, str] = MappingProxyType(TEXTS),
) -> BfclRelease:
    """Write the wheel NAME below `folder`, without some data files and with more; its release."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / NAME, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in fetch.wheel_members().items():
            if name not in without:
                content = "" if member.endswith(".py") else entry_line(name)
                archive.writestr(member, content)
        sources = {fetch.TEXT_MODULES[name]: source for name, source in texts.items()}
        for name, content in {**sources, **OTHERS, **(more or {})}.items():
            archive.writestr(name, content)
    digest = hashlib.sha256((folder / NAME).read_bytes()).hexdigest()
    return BfclRelease(OFFICIAL_RELEASE.version, digest)

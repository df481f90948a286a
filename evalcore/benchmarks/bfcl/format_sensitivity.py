"""Format sensitivity of BFCL v4: the same entries asked by every form of the prompt that upstream
varies, and how far the scores of the forms lie apart.

A form is a name such as `ret_fmt=json&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=plaintext&
style=classic`: how calls are to be written, whether between tags, how functions are listed, and
the layout and the words of the prompt. It is reported and no part of the overall score.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evalcore.benchmarks.bfcl.categories import DECODE_ONLY, SINGLE_TURN, find_category_language
from evalcore.errors import DatasetError, IntakeError
from evalcore.i18n import Note
from evalcore.intake.json_text import parse_json
from evalcore.records import Sample, Verdict

IDS_FILE = "BFCL_v4_format_sensitivity.json"
#: What a sample's input and a verdict's details call the form.
FORM = "form"
_MAX_BYTES = 1 << 20
_RETURN_FORMATS = ("python", "json", "verbose_xml", "concise_xml")
_LISTINGS = ("python", "xml", "json")


def build_form_name(
    return_format: str,
    listing: str,
    *,
    tagged: bool,
    template: str = "plaintext",
    style: str = "classic",
) -> str:
    parts = (return_format, tagged, listing, template, style)
    names = ("ret_fmt", "tool_call_tag", "func_doc_fmt", "prompt_fmt", "style")
    return "&".join(f"{name}={part}" for name, part in zip(names, parts, strict=True))


#: Upstream's 26 forms, in its order.
FORMS: tuple[str, ...] = (
    *(
        build_form_name(return_format, listing, tagged=tagged)
        for return_format, tagged, listing in product(_RETURN_FORMATS, (True, False), _LISTINGS)
    ),
    build_form_name("python", "json", tagged=False, template="markdown"),
    build_form_name("python", "json", tagged=False, style="experimental"),
)


def split_form(form: str) -> dict[str, str]:
    """The parts of a form by their names."""
    return dict(part.partition("=")[::2] for part in form.split("&"))


def select_form_mode(form: str) -> str:
    """The mode of `call_decoding` in which answers to a form are read."""
    parts = split_form(form)
    return f"prompt_{parts['ret_fmt']}" + ("_tag" if parts["tool_call_tag"] == "True" else "")


def expand_forms(samples: Sequence[Sample], source: Path) -> list[Sample]:
    """Every entry that is varied, by every form. Those are the entries that the file IDS_FILE of a
    folder lists, else all with one turn, calls and Python. Raises DatasetError for a file that is
    no such list, and where none of the entries is there."""
    folder = source if source.is_dir() else source.parent
    listed = _read_listed_ids(folder / IDS_FILE)
    entries = [
        sample
        for sample in samples
        if (sample.id in listed if listed is not None else _is_varied(sample.metric))
    ]
    if not entries:
        raise DatasetError(folder, None, "", Note("bfcl_none_of", name=IDS_FILE))
    pairs = ((entry, form) for entry in entries for form in FORMS)
    return [
        replace(
            entry,
            id=f"format_sensitivity_{number}:{form}:{entry.id}",
            input={**entry.input, FORM: form},
        )
        for number, (entry, form) in enumerate(pairs)
    ]


def _is_varied(category: str) -> bool:
    single = category in SINGLE_TURN and category not in DECODE_ONLY
    return single and find_category_language(category) == "python"


def _read_listed_ids(path: Path) -> frozenset[str] | None:
    """The ids of a list by category; None where there is no such file."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DatasetError(path, None, "", str(error.strerror)) from None
    try:
        listed = parse_json(content) if len(content) <= _MAX_BYTES else None
    except IntakeError:
        listed = None
    if not isinstance(listed, dict) or not all(isinstance(ids, list) for ids in listed.values()):
        raise DatasetError(path, None, "", Note("bfcl_ids_form"))
    return frozenset(str(entry) for ids in listed.values() for entry in ids)


def compute_form_groups(
    samples: Iterable[Sample], verdicts: Iterable[Verdict], epochs: int = 1
) -> dict[str, float | None]:
    """The share of right answers, 0 to 100, of all and by form; the difference of the best and the
    worst form, and the standard deviation of the forms. A form of which anything is missing has
    None, and so have the figures over all then."""
    forms = {sample.key: str(sample.input[FORM]) for sample in samples if FORM in sample.input}
    declared: dict[str, int] = dict.fromkeys(FORMS, 0)
    scores: dict[str, list[float]] = {form: [] for form in FORMS}
    for form in forms.values():
        declared[form] += epochs
    for verdict in verdicts:
        form = forms.get(f"{verdict.metric}/{verdict.id}", "")
        if form and verdict.score is not None:
            scores[form].append(verdict.score)
    shares = {
        form: 100 * sum(scores[form]) / len(scores[form])
        if scores[form] and len(scores[form]) >= declared[form]
        else None
        for form in FORMS
        if declared[form]
    }
    measured = [share for share in shares.values() if share is not None]
    whole = len(measured) == len(shares) > 1
    return {
        "format_accuracy": statistics.fmean(measured) if whole else None,
        "format_max_delta": max(measured) - min(measured) if whole else None,
        "format_std": statistics.stdev(measured) if whole else None,
        **{f"form {form}": share for form, share in shares.items()},
    }


# How the functions are listed, by `func_doc_fmt`. The layouts are upstream's, blanks included.


def list_functions(functions: Sequence[dict[str, Any]], listing: str) -> str:
    """The functions as text. Raises KeyError for a listing that upstream does not have."""
    if listing == "json":
        return json.dumps(functions, indent=4)
    if listing == "xml":
        return "\n".join(map(_list_in_xml, functions))
    if listing == "python":
        return "\n\n".join(text for each in functions for text in (_list_in_python(each), "\n"))
    raise KeyError(listing)


def _list_in_xml(function: Mapping[str, Any]) -> str:
    schema = function["parameters"]
    required = schema.get("required")
    parameters = "".join(
        _list_parameter_in_xml(name, meta, required, 4)
        for name, meta in schema.get("properties", {}).items()
    )
    return (
        f'<function name="{function["name"]}">\n  <desc>{function.get("description", "")}</desc>\n'
        f"  <params>\n{parameters}  </params>\n</function>\n"
    )


def _list_parameter_in_xml(name: str, meta: Mapping[str, Any], required: Any, indent: int) -> str:
    blank = " " * indent
    kind = meta.get("type", "string")
    if "type" in meta.get("items", {}):
        kind = f"{kind}[{meta['items']['type']}]"
    elif "additionalProperties" in meta:
        kind = f"{kind}[{meta['additionalProperties'].get('type', 'string')}]"
    is_required = required is None or name in required
    attributes = f'name="{name}" type="{kind}" required="{str(is_required).lower()}"'
    if "default" in meta:
        attributes += f' default="{meta["default"]!r}"'
    lines = [f"{blank}<param {attributes.replace(',', '')}>\n"]
    lines.append(f"{blank}  <desc>{_describe_parameter(meta)}</desc>\n")
    if "properties" in meta:
        inner = meta.get("required")
        lines.append(f"{blank}  <params>\n")
        for child, child_meta in meta["properties"].items():
            lines.append(_list_parameter_in_xml(child, child_meta, inner, indent + 4))
        lines.append(f"{blank}  </params>\n")
    return "".join([*lines, f"{blank}</param>\n"])


def _describe_parameter(meta: Mapping[str, Any]) -> str:
    choices = f" Enum values: {meta['enum']}." if "enum" in meta else ""
    return str(meta.get("description", "")) + choices


_PYTHON_NAMES = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}


def _list_in_python(function: Mapping[str, Any]) -> str:
    properties = function.get("parameters", {}).get("properties", {})
    head = f'# Function: {function["name"]}\n    """\n    {function.get("description", "")}\n\n'
    listed = "".join(
        line for name, meta in properties.items() for line in _list_parameter(name, meta, 8)
    )
    return head + (f"    Args:\n{listed}" if properties else "") + '    """\n'


def _list_parameter(name: str, meta: Mapping[str, Any], indent: int) -> list[str]:
    default = f", default={meta['default']!r}" if "default" in meta else ""
    kind = _name_python_type(meta)
    lines = [f"{' ' * indent}{name} ({kind}{default}): {_describe_parameter(meta)}\n"]
    for child, child_meta in meta.get("properties", {}).items():
        lines += _list_parameter(child, child_meta, indent + 4)
    return lines


def _name_python_type(meta: Mapping[str, Any]) -> str:
    kind = str(meta.get("type", "string"))
    if kind in _PYTHON_NAMES:
        return _PYTHON_NAMES[kind]
    if kind in ("array", "list", "tuple") and "items" in meta:
        return f"list[{_name_python_type(meta['items'])}]"
    if kind in ("object", "dict"):
        if "additionalProperties" in meta:
            return f"dict[str, {_name_python_type(meta['additionalProperties'])}]"
        return "dict"
    return kind

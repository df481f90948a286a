"""Format sensitivity of BFCL: 26 forms of upstream's prompt, and how far their scores lie apart."""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.format_sensitivity import (
    FORMS,
    IDS_FILE,
    compute_form_groups,
    list_functions,
    select_form_mode,
)
from evalcore.benchmarks.bfcl.multi_turn import simulators
from evalcore.benchmarks.bfcl.multi_turn.simulators import ENCODER_VARIABLE
from evalcore.benchmarks.bfcl.official_prompts import BfclTexts, build_agentic_text
from evalcore.benchmarks.bfcl.simulated.memory import ENCODER_FILES
from evalcore.benchmarks.official_texts import read_official_texts
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.cli.main import main
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.bfcl.fetch import fetch_bfcl
from evalcore.records import Completion, Sample, Verdict
from evalcore.runner.plan import column_key
from evalcore.settings import load_settings
from tests.support.bfcl_wheel import NAME, TEXTS, make_wheel

FUNCTION = {
    "name": "area",
    "description": "The area.",
    "parameters": {
        "type": "dict",
        "properties": {
            "side": {"type": "float", "description": "Its side.", "default": 1.5},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "points": {"type": "array", "items": {"type": "integer"}, "description": "Points."},
            "frame": {
                "type": "dict",
                "description": "A frame.",
                "properties": {"wide": {"type": "boolean", "description": "Wide."}},
            },
        },
        "required": ["side"],
    },
}
ROWS = [
    {
        "id": f"simple_python_{number}",
        "question": [[{"role": "user", "content": f"Area {number}?"}]],
        "function": [FUNCTION],
        "ground_truth": [
            {"area": {"side": [float(number)], "unit": [""], "points": [""], "frame": [""]}}
        ],
    }
    for number in range(1, 4)
]
#: The texts of every form, in the shape of upstream's and in words of our own.
PROMPTS = (
    TEXTS["prompts"]
    .replace(
        'OUTPUT_FORMAT_MAPPING = {"python": "[f(a=1)]"}',
        'OUTPUT_FORMAT_MAPPING = {"python": "[f(a=1)]", "json": "J", "verbose_xml": "V", '
        '"concise_xml": "C"}',
    )
    .replace(
        'PARAM_TYPE_MAPPING = {"python": ""}',
        'PARAM_TYPE_MAPPING = {"python": "", "json": "", "verbose_xml": "", "concise_xml": ""}',
    )
    .replace(
        '"tool_call_with_tag": ""', '"tool_call_with_tag": "Tagged {output_format}.{param_types}"'
    )
    .replace(
        'PROMPT_TEMPLATE_MAPPING = {"plaintext": _PLAIN}',
        'PROMPT_TEMPLATE_MAPPING = {"plaintext": _PLAIN, "markdown": "# " + _PLAIN}',
    )
)


class Recorder:
    epoch, seed, judges = 0, 0, ()

    def __init__(self, text: str) -> None:
        self._text = text
        self.requests = []

    async def resolve_tool_call_mode(self) -> str:
        return "native"

    async def generate(self, request, role="target"):
        self.requests.append(request)
        return Completion(text=self._text)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder into which a small wheel with all forms was fetched, and three entries."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "shipped"))
    folder = tmp_path / "data" / "datasets" / "bfcl-v4"
    style = '"experimental": {"persona": "Try.", "task": " Do.", "tool_call_no_tag": '
    style += '"{output_format}{param_types}", "tool_call_with_tag": "", "multiturn_behavior": "", '
    style += '"available_tools": "{format}{functions}"}, "classic"'
    prompts = PROMPTS.replace('{"classic"', "{" + style, 1)
    release = make_wheel(tmp_path / "wheel", more={}, texts={**TEXTS, "prompts": prompts})
    fetch_bfcl(folder, tmp_path / "wheel" / NAME, lambda line: None, release)
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    listed = {"simple_python": ["simple_python_1", "simple_python_3"]}
    (folder / IDS_FILE).write_text(json.dumps(listed))
    return folder


def load(data, **options):
    source = DatasetSource(str(data / "mine.jsonl"))
    chosen = {"protocol": "official", "format_sensitivity": True, **options}
    benchmark = instantiate_benchmark("bfcl", chosen)
    samples = benchmark.load_dataset(source)
    benchmark.select_official_texts(source, load_settings())
    return benchmark, samples


def test_there_are_the_forms_of_upstream():
    assert len(FORMS) == len(set(FORMS)) == 26
    assert FORMS[0].startswith("ret_fmt=python&tool_call_tag=True&func_doc_fmt=python&")
    assert FORMS[23].startswith("ret_fmt=concise_xml&tool_call_tag=False&func_doc_fmt=json&")
    assert FORMS[24].endswith("prompt_fmt=markdown&style=classic")
    assert FORMS[25].endswith("prompt_fmt=plaintext&style=experimental")
    assert select_form_mode(FORMS[0]) == "prompt_python_tag"
    assert select_form_mode(FORMS[25]) == "prompt_python"


def test_listed_entries_are_asked_by_every_form(data):
    benchmark, samples = load(data)
    assert len(samples) == 2 * 26
    assert samples[0].id == f"format_sensitivity_0:{FORMS[0]}:simple_python_1"
    assert samples[26].id == f"format_sensitivity_26:{FORMS[0]}:simple_python_3"
    prompts = set()
    for sample in samples[:26]:
        recorder = Recorder("[]")
        episode = asyncio.run(benchmark.run_sample(sample, recorder))
        [request] = recorder.requests
        assert not request.tools
        assert episode.state["mode"] == select_form_mode(sample.input["form"])
        prompts.add(request.messages[0].content)
    assert len(prompts) == 26
    (data / IDS_FILE).unlink()
    assert len(load(data)[1]) == 3 * 26


@pytest.mark.parametrize(
    ("form", "answer", "valid"),
    [
        ("ret_fmt=python&tool_call_tag=False", "[area(side=1.0)]", True),
        ("ret_fmt=python&tool_call_tag=True", "<TOOLCALL>[area(side=1.0)]</TOOLCALL>", True),
        ("ret_fmt=python&tool_call_tag=True", "[area(side=1.0)]", False),
        (
            "ret_fmt=json&tool_call_tag=False",
            '[{"function": "area", "parameters": {"side": 1.0}}]',
            True,
        ),
        ("ret_fmt=json&tool_call_tag=False", "[area(side=1.0)]", False),
        (
            "ret_fmt=concise_xml&tool_call_tag=False",
            '<functions><function name="area"><param name="side" type="float">1.0</param>'
            "</function></functions>",
            True,
        ),
    ],
)
def test_answers_are_read_in_the_form_that_was_asked_for(data, form, answer, valid):
    benchmark, samples = load(data)
    sample = next(sample for sample in samples if form in sample.input["form"])
    episode = asyncio.run(benchmark.run_sample(sample, Recorder(answer)))
    verdict = asyncio.run(benchmark.evaluate_sample(sample, episode))
    assert (verdict.outcome == "passed") == valid, verdict.note


def test_groups_are_upstreams_figures(data):
    _, samples = load(data)
    verdicts = [
        Verdict(
            metric=sample.metric,
            id=sample.id,
            outcome="passed",
            score=float("json&tool" in sample.input["form"] or sample.id.endswith("_1")),
        )
        for sample in samples
    ]
    groups = compute_form_groups(samples, verdicts)
    shares = [groups[f"form {form}"] for form in FORMS]
    assert sorted(set(shares)) == [50.0, 100.0]
    assert groups["format_max_delta"] == 50.0
    assert groups["format_accuracy"] == pytest.approx(sum(shares) / 26)
    mean = sum(shares) / 26
    variance = sum((share - mean) ** 2 for share in shares) / 25
    assert groups["format_std"] == pytest.approx(variance**0.5)
    part = compute_form_groups(samples, verdicts[1:])
    assert part["format_max_delta"] is None
    assert part[f"form {FORMS[0]}"] is None
    assert part[f"form {FORMS[1]}"] is not None
    of_two_epochs = compute_form_groups(samples, verdicts, 2)  # the second is missing
    assert set(of_two_epochs.values()) == {None}


def test_a_whole_run_reports_every_form(data, capsys):
    command = ["run", "--target", "control:reference", "--benchmarks", "bfcl", "--dataset"]
    command += [str(data / "mine.jsonl"), "--option", "bfcl.protocol=official"]
    assert main([*command, "--option", "bfcl.format_sensitivity=true", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["benchmarks"]["bfcl"]
    assert (result["score"], result["outcomes"]) == (100.0, {"passed": 52})


def test_what_cannot_be_asked_is_said_before_the_first_request(data):
    with pytest.raises(UsageError, match=r"needs bfcl\.protocol=official"):
        instantiate_benchmark("bfcl", {"format_sensitivity": True})
    (data / IDS_FILE).write_text("[]")
    with pytest.raises(DatasetError, match="a list of ids per category"):
        load(data)
    (data / IDS_FILE).write_text('{"simple_python": ["simple_python_99"]}')
    with pytest.raises(DatasetError, match="contains none of the entries"):
        load(data)


def test_runs_without_it_keep_their_column():
    def key(options):
        return column_key(
            "bfcl", data="d", prompt_version="1", scorer_version="4", options=options, weights={}
        )

    assert key({"strict": ""}) == key({"strict": "", "format_sensitivity": False})
    assert key({"strict": ""}) != key({"strict": "", "format_sensitivity": True})


def test_functions_are_listed_in_three_ways():
    xml = list_functions([FUNCTION], "xml")
    assert '<param name="side" type="float" required="true" default="1.5">' in xml
    assert '<param name="points" type="array[integer]" required="false">' in xml
    assert "      <desc> Enum values: ['m', 'ft'].</desc>" in xml
    assert '        <param name="wide" type="boolean" required="true">' in xml
    python = list_functions([FUNCTION], "python")
    assert "        side (float, default=1.5): Its side.\n" in python
    assert "        points (list[int]): Points.\n" in python
    assert "            wide (bool): Wide.\n" in python
    assert json.loads(list_functions([FUNCTION], "json")) == [FUNCTION]


def test_agentic_entries_have_upstreams_words(data):
    texts = read_official_texts(data, "bfcl").read_as(BfclTexts)
    assert build_agentic_text("web_search_base", "", texts, None, True) == "Answer so."
    empty = build_agentic_text("memory_kv", "student", texts, None, False)
    assert empty == "You remember. Nothing in kv yet."
    shown = build_agentic_text("memory_kv", "student", texts, {"a": 1}, True)
    assert shown == 'You remember. {\n    "a": 1\n}\n\nAnswer so.'
    assert build_agentic_text("memory_rec_sum", "student", texts, "x", False) == "You remember."
    rows = [{"id": 3, "text": "a"}]
    shown = build_agentic_text("memory_vector", "student", texts, rows, False)
    assert shown == 'You remember. {\n    "3": "a"\n}'
    assert build_agentic_text("memory_vector", "student", texts, None, False) == "You remember. {}"
    with pytest.raises(UsageError, match="no words for memory_kv, scenario 'pirate'"):
        build_agentic_text("memory_kv", "pirate", texts, None, False)


def test_official_memories_of_texts_say_what_finds_them(monkeypatch, tmp_path):
    sample = Sample("memory_vector", "memory_vector_0", {"question": [], "functions": "[]"})

    def choose(protocol="official", similarity="", samples=(sample,)):
        benchmark = instantiate_benchmark("bfcl", {"protocol": protocol, "similarity": similarity})
        monkeypatch.setattr(benchmark, "_find_problem", lambda sample: "")
        benchmark.select_runnable(samples)
        return benchmark.options["similarity"]

    monkeypatch.delenv(ENCODER_VARIABLE, raising=False)
    assert choose() == choose(similarity="stand-in") == "stand-in"
    assert choose("board") == choose(samples=()) == ""
    with pytest.raises(UsageError, match=ENCODER_VARIABLE):
        choose(similarity="official")  # began with weights that are gone
    monkeypatch.setenv(ENCODER_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=r"model\.safetensors is not the file"):
        choose()
    assert choose(similarity="stand-in") == "stand-in"
    for name, text in (("model.safetensors", b"weights"), ("tokenizer.json", b"{}")):
        (tmp_path / name).write_bytes(text)
        monkeypatch.setitem(ENCODER_FILES, name, hashlib.sha256(text).hexdigest())
    monkeypatch.setattr(simulators, "find_spec", lambda name: name)  # whatever is installed here
    assert choose() == choose(similarity="official") == "official"
    assert choose(similarity="stand-in") == "stand-in"  # a run that began stays as it is
    assert choose("board") == ""
    monkeypatch.setattr(simulators, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="torch"):
        choose()

"""Where models lie, what their folders say before loading, and what this machine can do."""

from __future__ import annotations

import json

import pytest

from evalcore.errors import UsageError
from evalcore.targets.huggingface import load, machine
from evalcore.targets.huggingface.messages import HuggingFaceOptions, LoadError
from evalcore.targets.huggingface.model_files import (
    ModelRef,
    fetch_model,
    list_cached_models,
    locate_model,
    memory_needed,
    read_metadata,
)
from tests.support.hf_models import write_safetensors

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TENSORS = {
    "model.embed_tokens.weight": ("BF16", [100, 16]),
    "model.layers.0.mlp.up_proj.weight": ("BF16", [64, 16]),
    "model.norm.weight": ("BF16", [16]),
}
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "num_hidden_layers": 1,
    "vocab_size": 100,
    "max_position_embeddings": 4096,
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)


def folder_of_model(folder, tensors=TENSORS, **changes):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def cached_model(tmp_path, name="some/model"):
    repo = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(COMMIT)
    return folder_of_model(repo / "snapshots" / COMMIT)


def kind(error) -> str:
    return error.value.kind


def test_a_folder_is_its_own_place(tmp_path):
    folder = folder_of_model(tmp_path / "m")
    assert locate_model(f"hf:{folder}") == ModelRef(str(folder), folder, cached=True)
    with pytest.raises(UsageError, match="revision"):
        locate_model(f"hf:{folder}", "v1")


def test_a_hub_id_is_found_in_the_cache(tmp_path):
    folder = cached_model(tmp_path)
    assert locate_model("hf:some/model") == ModelRef(
        "some/model", folder, cached=True, revision=COMMIT
    )
    assert locate_model("some/model", COMMIT).path == folder
    assert locate_model("some/model", "v2") == ModelRef(
        "some/model", None, cached=False, revision="v2"
    )
    assert locate_model("some/model", "../main").path is None
    cached_models = list_cached_models()
    assert [(item.reference, item.revision) for item in cached_models] == [("some/model", COMMIT)]
    assert cached_models[0].size == (folder / "model.safetensors").stat().st_size


def test_a_cached_model_without_its_weights_has_to_be_downloaded(tmp_path):
    folder = cached_model(tmp_path)
    (folder / "model.safetensors").unlink()
    assert not locate_model("some/model").cached
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    write_safetensors(folder / "model-1.safetensors", TENSORS)
    assert not locate_model("some/model").cached
    assert list_cached_models() == []


@pytest.mark.parametrize("key", ["hf:", "/no/such/folder", "a/b/c", "./x", "../x/y", "a b", "a/.."])
def test_what_is_neither_folder_nor_id_is_path_missing(key):
    with pytest.raises(LoadError, match=r"config\.json") as error:
        locate_model(key)
    assert kind(error) == "path_missing"


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "m.safetensors").write_bytes(b"")
    with pytest.raises(LoadError, match="is a file") as error:
        locate_model(str(tmp_path / "m.safetensors"))
    assert kind(error) == "path_missing"


def test_offline_nothing_is_downloaded(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.snapshot_download", None)
    with pytest.raises(LoadError, match="HF_HUB_OFFLINE") as error:
        fetch_model(locate_model("some/model"), HuggingFaceOptions(), print)
    assert kind(error) == "offline_missing"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RepositoryNotFoundError", "path_missing"),
        ("RevisionNotFoundError", "path_missing"),
        ("GatedRepoError", "path_missing"),
        ("LocalEntryNotFoundError", "offline_missing"),
        ("ConnectError", "offline_missing"),
    ],
)
def test_a_failed_download_says_why(monkeypatch, name, expected):
    def refuse(*_, **__):
        raise type(name, (Exception,), {})("token hf_abcdefghijklmnop was refused")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(LoadError) as error:
        fetch_model(locate_model("some/model", "v1"), HuggingFaceOptions(), print)
    assert kind(error) == expected
    assert "some/model" in str(error.value)
    assert "hf_abc" not in str(error.value)


def test_code_and_pickles_are_downloaded_only_when_asked_for(monkeypatch, tmp_path):
    asked = []

    def note(reference, **options):
        asked.append((reference, options["revision"], options["allow_patterns"]))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", note)
    model = locate_model("some/model", "v1")
    assert fetch_model(model, HuggingFaceOptions(), print) == tmp_path
    fetch_model(model, HuggingFaceOptions(trust_remote_code=True, allow_pickle=True), print)
    (_, revision, plain), (_, _, all_) = asked
    assert revision == "v1"
    assert not {"*.py", "*.bin"} & set(plain)
    assert set(all_) - set(plain) == {"*.py", "*.bin"}


def test_an_outline_is_read_from_headers_alone(tmp_path):
    metadata = read_metadata(folder_of_model(tmp_path / "m"))
    assert (metadata.architecture, metadata.model_type) == ("Qwen3ForCausalLM", "qwen3")
    assert (metadata.parameters, metadata.linear) == (100 * 16 + 64 * 16 + 16, 64 * 16)
    assert (metadata.layers, metadata.context, metadata.vocabulary) == (1, 4096, 100)
    assert (metadata.dtype, metadata.quantised, metadata.formats) == (
        "bfloat16",
        "",
        ("safetensors",),
    )
    assert not metadata.has_tokenizer
    assert not metadata.has_template
    assert not metadata.own_code


def test_an_outline_of_shards_and_of_a_nested_config(tmp_path):
    folder = folder_of_model(tmp_path / "m", text_config={"num_hidden_layers": 7})
    (folder / "model.safetensors").rename(folder / "part-1.safetensors")
    write_safetensors(folder / "part-2.safetensors", {"x.weight": ("BF16", [8, 8])})
    parts = {"a": "part-1.safetensors", "b": "part-2.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    metadata = read_metadata(folder)
    assert metadata.files == ("part-1.safetensors", "part-2.safetensors")
    assert (metadata.parameters, metadata.layers) == (2640 + 64, 7)
    (folder / "part-2.safetensors").unlink()
    with pytest.raises(LoadError, match="part-2") as error:
        read_metadata(folder)
    assert kind(error) == "missing_weights"


def test_packed_weights_count_as_the_parameters_they_hold(tmp_path):
    packed = {
        "model.layers.0.up.weight": ("U8", [512, 1]),
        "model.layers.0.up.weight.absmax": ("F32", [16]),
        "model.layers.0.up.weight.quant_state.bitsandbytes__nf4": ("U8", [80]),
        "model.norm.weight": ("BF16", [16]),
    }
    folder = folder_of_model(tmp_path / "m", packed, quantization_config={"load_in_4bit": True})
    metadata = read_metadata(folder)
    assert (metadata.parameters, metadata.quantised) == (1024 + 16, "int4")


def test_memory_shrinks_with_the_dtype(tmp_path):
    about = read_metadata(folder_of_model(tmp_path / "m", {"a.weight": ("BF16", [1000, 1000])}))
    needed = [memory_needed(about, name) for name in ("float32", "bfloat16", "int8", "int4")]
    libraries = memory_needed(about, "float32") - int(4e6 * 1.1)
    assert [round((n - libraries) / 1.1e6, 2) for n in needed] == [4.0, 2.0, 1.0, 0.56]
    assert memory_needed(about) == needed[1]


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "{}x"])
def test_a_broken_config_is_no_config(tmp_path, text):
    folder = folder_of_model(tmp_path / "m")
    (folder / "config.json").write_text(text)
    with pytest.raises(LoadError, match=r"config\.json") as error:
        read_metadata(folder)
    assert kind(error) == "no_config"


def test_a_lone_adapter_is_told_from_a_model(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(LoadError, match="option adapter") as error:
        read_metadata(tmp_path)
    assert kind(error) == "no_config"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        (2**40).to_bytes(8, "little") + b"{}",
        (4).to_bytes(8, "little") + b"nope",
        (2).to_bytes(8, "little") + b"[]",
        (9).to_bytes(8, "little") + b'{"a": {}}',
        (7).to_bytes(8, "little") + b'{"a":3}',
    ],
)
def test_a_file_that_is_no_safetensors_is_truncated_weights(tmp_path, content):
    folder = folder_of_model(tmp_path / "m")
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(LoadError) as error:
        read_metadata(folder)
    assert kind(error) == "truncated_weights"


def test_a_folder_without_weights_says_so(tmp_path):
    folder = folder_of_model(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    with pytest.raises(LoadError) as error:
        read_metadata(folder)
    assert kind(error) == "missing_weights"
    (folder / "pytorch_model.bin").write_bytes(b"x")
    assert read_metadata(folder).formats == ("pickle",)


GPUS = (
    "0, GPU-aaa, One, 100 MiB, Disabled\n1, GPU-bbb, Two, 200 MiB, [N/A]\n"
    "2, GPU-ccc, Three, 200 MiB, [N/A]\n"
)
SHARED_MEMORY = "0, GPU-aaa, NVIDIA GB10, [N/A], [N/A]\n"
DIVIDED = "0, GPU-aaa, H100, 80000 MiB, Enabled\n1, GPU-bbb, Two, 200 MiB, Disabled\n"
INSTANCES = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaa)
  MIG 3g.40gb     Device  0: (UUID: MIG-111)
  MIG 1g.10gb+me  Device  1: (UUID: MIG-122)
GPU 1: Two (UUID: GPU-bbb)
"""


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        (None, ["One", "Two", "Three"]),
        ("1,0", ["Two", "One"]),
        ("1", ["Two"]),
        ("", []),
        ("-1", []),
        ("0,7,1", ["One"]),
        ("GPU-bb", ["Two"]),
        ("bbb", []),
    ],
)
def test_gpus_are_those_that_the_environment_leaves(expected, names):
    visible_gpus = machine._select_visible_gpus(GPUS, "", expected)
    assert [gpu.name for gpu in visible_gpus] == names
    assert all(gpu.free in (100 << 20, 200 << 20) for gpu in visible_gpus)


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        (None, ["Two"]),
        ("0", ["MIG 3g.40gb"]),
        ("0,1", ["MIG 3g.40gb"]),
        ("MIG-12", ["MIG 1g.10gb+me"]),
        ("MIG-111,MIG-122", ["MIG 3g.40gb"]),
        ("MIG-9", []),
        ("GPU-aaa", []),
    ],
)
def test_of_a_divided_gpu_one_instance_is_seen(expected, names):
    visible_gpus = machine._select_visible_gpus(DIVIDED, INSTANCES, expected)
    assert [gpu.name for gpu in visible_gpus] == names
    only = machine._select_visible_gpus(DIVIDED.splitlines()[0], INSTANCES, None)
    assert only == (machine.Gpu("MIG 3g.40gb", None),)
    assert machine._select_visible_gpus(DIVIDED.splitlines()[0], "", None) == ()


def test_memory_that_the_driver_does_not_tell_is_unknown_and_not_0(monkeypatch):
    seen = machine._select_visible_gpus(SHARED_MEMORY, "", None)
    monkeypatch.setattr(machine, "list_gpus", lambda: seen)
    assert machine.resolve_device("auto") == "cuda:0"
    assert machine.memory_available("auto") is None


def test_the_driver_is_asked_for_instances_only_where_there_are_some(monkeypatch, tmp_path):
    answers = {"-L": INSTANCES}
    monkeypatch.setattr(machine, "_read_torch_build", lambda: "cu130")
    monkeypatch.setattr(machine, "_run_nvidia_smi", lambda *args: answers.get(args[0], DIVIDED))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-122")
    machine._query_nvidia_smi.cache_clear()
    assert machine.list_gpus() == (machine.Gpu("MIG 1g.10gb+me", None),)
    machine._query_nvidia_smi.cache_clear()


def test_auto_is_the_freest_gpu_else_the_cpu(monkeypatch):
    seen = machine._select_visible_gpus(GPUS, "", None)
    monkeypatch.setattr(machine, "list_gpus", lambda: seen)
    assert machine.list_devices() == ("cuda:0", "cuda:1", "cuda:2", "cuda:all", "cpu")
    assert (machine.resolve_device("auto"), machine.resolve_device("cuda")) == ("cuda:1", "cuda:1")
    assert machine.resolve_device("cuda:0") == "cuda:0"
    assert machine.memory_available("cuda:1") == 200 << 20
    assert machine.memory_available("cuda:9") is None
    assert machine.memory_available("cuda:all") == 500 << 20
    assert machine.resolve_device("cuda:all") == "cuda:all"
    monkeypatch.setattr(machine, "list_gpus", lambda: ())
    assert machine.resolve_device("auto") == "cpu"
    assert machine.resolve_device("cuda") not in machine.list_devices()
    assert machine.list_dtypes("cuda") == ()
    assert machine.list_dtypes("cpu")[0] == "float32"


TOTAL, USED = "VRAM Total Memory (B)", "VRAM Total Used Memory (B)"
AMD = json.dumps(
    {
        "card0": {"Card Series": "MI300X", TOTAL: "900", USED: "300"},
        "card1": {"Card series": "MI210", TOTAL: "500", USED: "N/A"},
        "system": {"Driver version": "6.8"},
    }
)


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["MI300X", "MI210"]),
        ("1, 0", ["MI210", "MI300X"]),
        ("0,9,1", ["MI300X"]),
        ("", []),
    ],
)
def test_gpus_of_amd_are_those_that_the_environment_leaves(monkeypatch, visible, names):
    monkeypatch.setattr(machine, "_read_torch_build", lambda: "rocm7.0")
    monkeypatch.setattr(machine, "_run_program", lambda *command: AMD)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("HIP_VISIBLE_DEVICES", visible)
    machine._query_rocm_smi.cache_clear()
    seen = machine.list_gpus()
    machine._query_rocm_smi.cache_clear()
    assert [gpu.name for gpu in seen] == names
    assert {gpu.name: gpu.free for gpu in seen}.items() <= {"MI300X": 600, "MI210": None}.items()


@pytest.mark.parametrize("table", ["", "no JSON", "[]", '{"card0": 1}'])
def test_what_no_table_tells_is_no_gpu(table):
    assert machine._select_numbered_gpus(table, None) == ()


def test_a_model_too_large_for_a_gpu_may_be_spread(monkeypatch, tmp_path):
    gpus = (machine.Gpu("One", 100), machine.Gpu("Two", 100))
    monkeypatch.setattr(machine, "list_gpus", lambda: gpus)
    monkeypatch.setattr(machine, "memory_needed", lambda metadata, dtype: 150)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    write_safetensors(tmp_path / "model.safetensors", TENSORS)
    metadata = read_metadata(tmp_path)
    with pytest.raises(LoadError, match="device cuda:all"):
        machine.check_loadable(tmp_path, metadata, HuggingFaceOptions(device="cuda"))
    machine.check_loadable(tmp_path, metadata, HuggingFaceOptions(device="cuda:all"))


@pytest.mark.parametrize(
    ("device", "placed"), [("cuda:1", {"": "cuda:1"}), ("cuda:all", "balanced")]
)
def test_where_the_layers_go(monkeypatch, tmp_path, device, placed):
    pytest.importorskip("torch", reason="needs torch: pip install -e '.[local]'")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    write_safetensors(tmp_path / "model.safetensors", TENSORS)
    loads = []

    class Model:
        @staticmethod
        def from_pretrained(folder, **arguments):
            loads.append(arguments["device_map"])
            return "model", {"missing_keys": [], "mismatched_keys": [], "unexpected_keys": []}

    monkeypatch.setattr(load, "_select_model_class", lambda config, options: Model)
    options = HuggingFaceOptions(device=device)
    load.load_model_weights(tmp_path, None, options, read_metadata(tmp_path), device)
    assert loads == [placed]


def test_a_mac_offers_mps_when_asked_for(monkeypatch):
    monkeypatch.setattr(machine, "list_gpus", lambda: ())
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert machine.list_devices() == ("cpu", "mps")
    assert machine.resolve_device("auto") == "cpu"
    assert machine.memory_available("mps") is None


def test_cpu_memory_and_threads_are_those_of_this_machine(monkeypatch):
    free = machine.memory_available("cpu")
    assert free is None or free > 1 << 20
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert machine.count_threads() >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert (machine.count_threads(), machine.count_threads(2)) == (3, 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert machine.count_threads() >= 1

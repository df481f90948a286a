"""What docs/cluster.md and the manifest for Kubernetes promise exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from evalcore.cli.main import build_parser
from evalcore.settings import Settings
from tools.check_kuberay import find_problems

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "cluster.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", TEXT, re.S)
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in BLOCKS
    for line in block.splitlines()
    if "evalcore " in line
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command: str) -> None:
    words = shlex.split(command[command.index("evalcore ") :])
    assert build_parser().parse_args(words[1:]).verb


def test_the_settings_that_are_named_exist() -> None:
    fields = {f"EVALBOARD_{name.upper()}" for name in Settings.__struct_fields__}
    named = set(re.findall(r"EVALBOARD_[A-Z_]+", TEXT)) - {"EVALBOARD_NODE_DATA"}
    assert named <= fields
    assert len(named) >= 5


def test_the_manifest_is_whole() -> None:
    path = ROOT / "hosting" / "kuberay" / "evalboard.yaml"
    cluster, claim, policy = yaml.safe_load_all(path.read_text("utf-8"))
    assert (cluster["kind"], cluster["apiVersion"]) == ("RayCluster", "ray.io/v1")
    pinned = (ROOT / "constraints.txt").read_text("utf-8")
    assert f"ray=={cluster['spec']['rayVersion']}\n" in pinned
    assert cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    volumes = cluster["spec"]["headGroupSpec"]["template"]["spec"]["volumes"]
    assert volumes[0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    name = cluster["metadata"]["name"]
    assert policy["spec"]["podSelector"]["matchLabels"] == {"ray.io/cluster": name}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"size": 3, "memory": "2Gi"}, ""),
        ({"size": 3, "memory": 2}, ""),
        ({"size": "3"}, "spec.size: '3' is not of type 'integer'"),
        ({"sise": 3}, "spec: Additional properties are not allowed ('sise' was unexpected)"),
    ],
)
def test_a_field_that_a_schema_lacks_is_a_problem(spec: dict[str, object], problem: str) -> None:
    memory = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }
    own = {"type": "object", "properties": {"size": {"type": "integer"}, "memory": memory}}
    whole = {"apiVersion": {"type": "string"}, "spec": own}
    version = {
        "name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": whole}},
    }
    found = find_problems({"spec": {"versions": [version]}}, {"apiVersion": "x/v1", "spec": spec})
    assert found == ([problem] if problem else [])

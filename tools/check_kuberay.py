"""Check the manifest of a Ray cluster against KubeRay's published schema.

`python tools/check_kuberay.py CRD.yaml [MANIFEST]` reads `ray.io_rayclusters.yaml` of KubeRay's
`ray-operator/config/crd/bases`, and fails where the manifest has a field that the schema lacks (the
API server would drop it) or a value of another kind. It needs no cluster and no network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import yaml

MANIFEST = Path(__file__).resolve().parent.parent / "hosting" / "kuberay" / "evalboard.yaml"


def find_problems(definition: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    """What is wrong with a resource, by path; the definition is changed."""
    _, _, name = manifest["apiVersion"].partition("/")
    versions = {each["name"]: each["schema"] for each in definition["spec"]["versions"]}
    if name not in versions:
        return [f"apiVersion: there are {', '.join(versions)}"]
    schema = versions[name]["openAPIV3Schema"]
    forbid_other_fields(schema)
    schema["properties"]["metadata"] = {"type": "object"}  # which the API server itself checks
    errors = jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in errors]


def forbid_other_fields(schema: Any) -> None:
    """Make the schema strict, and read what Kubernetes adds to JSON Schema."""
    if isinstance(schema, list):
        for each in schema:
            forbid_other_fields(each)
    if not isinstance(schema, dict):
        return
    if schema.get("x-kubernetes-int-or-string"):
        schema.pop("anyOf", None)
        schema["type"] = ["integer", "string"]
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("type") == "object" and "properties" in schema and not is_open:
        schema.setdefault("additionalProperties", False)
    for each in schema.values():
        forbid_other_fields(each)


def main(arguments: list[str]) -> int:
    definition = yaml.safe_load(Path(arguments[0]).read_text("utf-8"))
    path = Path(arguments[1]) if len(arguments) > 1 else MANIFEST
    problems = []
    for resource in yaml.safe_load_all(path.read_text("utf-8")):
        if resource["kind"] == definition["spec"]["names"]["kind"]:
            problems += find_problems(definition, resource)
    print("\n".join(problems) or f"{path.name} fits the schema")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

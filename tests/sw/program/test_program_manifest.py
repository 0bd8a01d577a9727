"""Bad manifests of program files: their fields, launches and tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.dpu.example_program import refuses
from tests.support.program_files import manifest_of, with_manifest, with_member

AGAIN = " of program files: this Gnarl reads version 3: compile the workload again"


def rewrite_manifest(path: Path, **change: Any) -> None:
    """Replaces fields; those that are ``None`` go."""
    kept = {
        name: value for name, value in (manifest_of(path) | change).items() if value is not None
    }
    with_member(path, "manifest.json", json.dumps(kept).encode())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 1}, f"version 1{AGAIN}"),
        ({"version": 4}, f"version 4{AGAIN}"),
        ({"version": None}, f"version None{AGAIN}"),
        ({"digest": None}, "manifest.json has no digest"),
        ({"colour": "red"}, "manifest.json has an unknown field 'colour'"),
        ({"workload": 3}, "workload in manifest.json is 3: must be of type str"),
        ({"inputs": ["inputs", 1]}, "inputs[1] in manifest.json is 1: must be a tensor"),
        ({"inputs": ["x"]}, "inputs[0] in manifest.json is 'x': must be a tensor"),
        ({"inputs": []}, "input inputs: no earlier launch writes it"),
        ({"launches": []}, "unknown section 'instructions'"),
        ({"launches": [3]}, "launches[0] in manifest.json is 3: must be an object"),
        ({"target": "gpu"}, "target 'gpu': must be one of dpu, sam, tmu, sram, cuda"),
        (
            {"config": {"banks": 8}},
            "tensor inputs is float32: must be None, as format in config",
        ),
        (
            {"config": {"format": "float32"}},
            "data_rows of the configuration is None: must be a whole number",
        ),
    ],
)
def test_bad_fields_of_the_manifest_are_refused(file: Path, change: dict[str, Any], text: str):
    rewrite_manifest(file, **change)
    refuses(file, text)


def test_keys_of_the_manifest_are_not_repeated(file: Path) -> None:
    text = json.dumps(manifest_of(file)).replace(
        '"target": "dpu"', '"target": "sam", "target": "dpu"'
    )
    with_member(file, "manifest.json", text.encode())
    refuses(file, "manifest.json is damaged: duplicate key 'target' in one object")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": 3}, "launches[0].name in manifest.json is 3: must be of type str"),
        ({"colour": 1}, "manifest.json has an unknown field 'launches[0].colour'"),
        ({"config": {}}, "launches[0].digest in manifest.json is None: must be of type str"),
        ({"digest": "0"}, "launches[0].config in manifest.json is None: must be of type dict"),
        (
            {"statistics": {"blocks": "1"}},
            "launches[0].statistics.blocks in manifest.json is '1': must be a whole number",
        ),
        ({"statistics": {}}, "statistics.operations is missing"),
        ({"inputs": ["x"]}, "launches[0].inputs[0] in manifest.json is 'x': must be a tensor"),
        ({"inputs": []}, "tensors: must be one of labelled inputs, one of outputs"),
        ({"outputs": []}, "tensors: must be one of labelled inputs, one of outputs"),
    ],
)
def test_bad_fields_of_a_launch_are_refused(file: Path, change: dict[str, Any], text: str):
    (launch,) = manifest_of(file)["launches"]
    with_manifest(file, launches=[{**launch, **change}])
    refuses(file, text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"shape": [3]}, "{fields}: not a tensor specification"),
        ({"shape": 2}, "{fields}: not a tensor specification"),
        ({"type": "int7"}, "{fields}: not a tensor specification"),
        ({"name": None}, "{fields}: not a tensor specification"),
        ({"storage": {"kind": "round"}}, "{fields}: not a tensor specification"),
        (
            {"name": "outputs", "storage": {"kind": "dense"}},
            "tensor outputs: given twice in manifest.json",
        ),
    ],
)
def test_bad_tensors_are_refused(file: Path, change: dict[str, Any], text: str):
    tensors = manifest_of(file)["tensors"]
    tensors[0] |= change
    with_manifest(file, tensors=tensors)
    refuses(file, text.format(fields=f"tensor {tensors[0]!r:.120}"))


def test_a_manifest_that_is_no_json_is_refused(file: Path):
    with_member(file, "manifest.json", b"{")
    refuses(
        file,
        "manifest.json is damaged: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    )

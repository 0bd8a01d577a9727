"""Program files that are damaged, hostile or for another configuration."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import refusal
from tests.support.dpu.dag_files import CONFIG
from tests.support.program_files import (
    array_bytes,
    array_of,
    manifest_of,
    with_manifest,
    with_member,
)


def test_a_program_for_another_configuration(tmp_path: Path, program: Path, values: Path) -> None:
    line = refusal(tmp_path, "run", "dpu_d2_b16", program, "--values", values)
    assert line == (
        f"gnarl: {program}: program for another configuration: depth is 1, must be 2; banks is 8, "
        "must be 16; registers is 16, must be 32"
    )


def test_programs_cut_anywhere(tmp_path: Path, program: Path, values: Path) -> None:
    whole = program.read_bytes()
    for length in [0, 1, *range(100, len(whole), 997), len(whole) - 1]:
        program.write_bytes(whole[:length])
        for command in (
            ("disasm", program),
            ("run", CONFIG, program, "--values", values, "--backend", "model"),
        ):
            line = refusal(tmp_path, *command)
            assert line.startswith(f"gnarl: {program}: not a program file, or damaged: ")


def test_a_workload_called_a_program(tmp_path: Path, graph: Path, values: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(graph.read_bytes())
    assert refusal(tmp_path, "run", CONFIG, path, "--values", values) == (
        f"gnarl: {path}: not a program file, or damaged: File is not a zip file"
    )


MANIFEST = {
    "version": (
        1,
        "version 1 of program files: this Gnarl reads version 3: compile the workload again",
    ),
    "target": ("cpu", "target 'cpu': must be one of dpu, sam, tmu, sram, cuda"),
    "workload": (3, "workload in manifest.json is 3: must be of type str"),
    "inputs": (["inputs", 2], "inputs[1] in manifest.json is 2: must be a tensor"),
    "outputs": ("y", "outputs in manifest.json is 'y': must be of type list"),
    "colour": ("red", "manifest.json has an unknown field 'colour'"),
}


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "\u2028", "\ud800"])
def test_names_that_cannot_be_printed(
    tmp_path: Path, program: Path, values: Path, name: str
) -> None:
    run = ("run", CONFIG, program, "--values", values, "--backend", "model")
    manifest = manifest_of(program)
    with_manifest(program, workload=name)
    text = f"is {name!r}: must be printable characters"
    assert refusal(tmp_path, *run) == f"gnarl: {program}: workload in manifest.json {text}"
    (launch,) = manifest["launches"]
    with_manifest(program, workload="x", launches=[{**launch, "name": name}])
    assert refusal(tmp_path, *run) == f"gnarl: {program}: launches[0].name in manifest.json {text}"
    tensor = {"name": name, "shape": [], "type": "int8", "storage": {"kind": "dense"}}
    with_manifest(program, launches=[launch], tensors=[tensor])
    assert refusal(tmp_path, *run) == f"gnarl: {program}: tensors[0].name in manifest.json {text}"


@pytest.mark.parametrize("field", MANIFEST)
def test_bad_fields_of_a_manifest(tmp_path: Path, program: Path, values: Path, field: str) -> None:
    value, text = MANIFEST[field]
    with_manifest(program, **{field: value})
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line == f"gnarl: {program}: {text}"


SECTIONS = {
    "missing": ("tree_op.npy", None, "section 'tree_op' is missing"),
    "unknown": ("tree.npy", array_bytes(np.zeros(1)), "unknown section 'tree'"),
    "another type": (
        "word_row.npy",
        array_bytes(np.zeros(2)),
        "section 'word_row' is float64 [2]: must be int32 [2]",
    ),
    "out of range": (
        "dag_op.npy",
        array_bytes(np.full(4, 9, np.uint8)),
        "dag_op[0] = 9: must be from 0 to 5",
    ),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_bad_sections(tmp_path: Path, program: Path, values: Path, name: str) -> None:
    member, content, text = SECTIONS[name]
    with_member(program, member, content)
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line == f"gnarl: {program}: {text}"


def huge_array() -> bytes:
    """A header that announces 3 * 10**12 bytes."""
    octets = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": (3 * 10**12,)}
    np.lib.format.write_array_header_1_0(octets, header)
    return octets.getvalue()


HOSTILE_PROGRAMS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "deep manifest": ("manifest.json", lambda _: b"[" * 100_000),
    "array beyond memory": ("instructions.npy", lambda _: huge_array()),
    "half an instruction after the last": (
        "instructions.npy",
        lambda old: array_bytes(np.append(array_of(old), array_of(old)[:2])),
    ),
    "leaves where operations were": (
        "dag_op.npy",
        lambda old: array_bytes(array_of(old)[::-1].copy()),
    ),
    "constant is NaN": ("constants.npy", lambda old: array_bytes(array_of(old) * np.nan)),
}


@pytest.mark.parametrize("name", HOSTILE_PROGRAMS)
def test_hostile_programs(tmp_path: Path, program: Path, values: Path, name: str) -> None:
    member, damage = HOSTILE_PROGRAMS[name]
    with zipfile.ZipFile(program) as archive:
        content = archive.read(member)
    with_member(program, member, damage(content))
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line.startswith("gnarl: ")


def test_a_program_without_statistics(tmp_path: Path, program: Path, values: Path) -> None:
    (launch,) = manifest_of(program)["launches"]
    with_manifest(program, launches=[{**launch, "statistics": {}}])
    line = refusal(tmp_path, "run", CONFIG, program, "--values", values, "--backend", "model")
    assert line.startswith(f"gnarl: {program}: statistics")


def test_other_zip_files_are_workloads(tmp_path: Path) -> None:
    path = tmp_path / "circuit.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("circuit.psdd", "")
    assert refusal(tmp_path, "run", CONFIG, path).startswith(
        f"gnarl: {path}: no workload has the extension '.zip': must be one of "
    )


def test_a_program_is_known_by_what_is_in_it(tmp_path: Path, program: Path) -> None:
    path = tmp_path / "program.psdd"
    path.write_bytes(program.read_bytes())
    assert refusal(tmp_path, "run", CONFIG, path) == (
        "gnarl: product: a program has no input values: --values FILE gives them"
    )

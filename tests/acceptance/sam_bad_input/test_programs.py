"""Programs that are damaged, hostile or for another configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commands import gnarl
from tests.support.program_files import array_bytes, array_of, with_manifest, with_member
from tests.support.sam.files import CONFIG, COPY, PRODUCT, B, write_mtx
from tests.support.sam.refusals import refused


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "copy.npz"
    assert gnarl("compile", CONFIG, COPY, "-o", path).exit_code == 0
    return path


def test_a_program_for_another_configuration(tmp_path: Path, program: Path) -> None:
    for config, text in (
        ("sam_fp32", "queue_depth is 32, must be 4"),
        ("dpu_d1_b8", "target is sam, must be dpu"),
    ):
        setting = ("--set", "queue_depth=4") if config == CONFIG else ()
        line = refused(tmp_path, program, *setting, config=config)
        assert line == f"{program}: program for another configuration: {text}"
    line = refused(tmp_path, program, config="sam_matmul")
    assert line == (
        f"{program}: program for another configuration: array_words is 262144, must be 4096; "
        f"accumulator_words is 131072, must be 1024; expression is {COPY}, must be {PRODUCT}"
    )


def test_a_program_without_tensors(tmp_path: Path, program: Path) -> None:
    assert refused(tmp_path, program) == (
        "X(i,j)=B(i,j): tensor B is not given: --tensor NAME=PATH gives one"
    )


def refused_program(folder: Path, program: Path) -> str:
    """How it is refused with its tensor, without the file's name."""
    b = write_mtx(folder / "b.mtx", B)
    line = refused(folder, program, "--tensor", f"B={b}")
    assert line.startswith(f"{program}: ")
    return line.removeprefix(f"{program}: ")


def test_programs_cut_anywhere(tmp_path: Path, program: Path) -> None:
    whole = program.read_bytes()
    for length in [0, 1, *range(100, len(whole), 1009), len(whole) - 1]:
        program.write_bytes(whole[:length])
        text = refused_program(tmp_path, program)
        assert text.startswith("not a program file, or damaged: ")


MANIFEST = {
    "digest": ("0", "program for another configuration: digest is 0, must be "),
    "config": ({}, "program for another configuration: format is missing, must be float32; "),
}


@pytest.mark.parametrize("field", MANIFEST)
def test_bad_fields_of_a_manifest(tmp_path: Path, program: Path, field: str) -> None:
    value, text = MANIFEST[field]
    with_manifest(program, **{field: value})
    assert refused_program(tmp_path, program).startswith(text)


def plan_of(program: Path) -> dict[str, Any]:
    with np.load(program) as archive:
        plan: dict[str, Any] = json.loads(archive["plan"].tobytes())
    return plan


def with_plan(program: Path, plan: Any) -> None:
    octets = np.frombuffer(json.dumps(plan).encode(), np.uint8)
    with_member(program, "plan.npy", array_bytes(octets))


PLANS = {
    "no plan": ({}, "section 'plan': cannot be understood: KeyError: 'statement'"),
    "no graph": (
        {"graph": {"blocks": [], "edges": []}},
        "section 'plan': graph: nothing is written: must have a valwrite",
    ),
    "bad statement": (
        {"statement": "X(i,j)="},
        "section 'plan': expression, column 8: the expression ends too early",
    ),
    "of other tensors": (
        {"statement": "Y(i,j)=D(i,j) -f=Y:ss -f=D:ss"},
        "section 'plan': its statement does not match the expression of config",
    ),
    "with other formats": (
        {"statement": "X(i,j)=B(i,j)"},
        "section 'plan': its statement does not match the expression of config",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_bad_plans(tmp_path: Path, program: Path, name: str) -> None:
    changes, text = PLANS[name]
    with_plan(program, {**plan_of(program), **changes} if changes else {})
    assert refused_program(tmp_path, program) == text


def block_of(plan: Any, name: str) -> dict[str, Any]:
    block: dict[str, Any] = next(one for one in plan["graph"]["blocks"] if one["name"] == name)
    return block


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    """A program whose graph is not in its configuration, which only the plan says."""
    path = tmp_path / "fabric.npz"
    assert gnarl("compile", "sam_fabric_small", COPY, "-o", path).exit_code == 0
    return path


BLOCKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a level far out": (
        "fiberlookup_1",
        {"level": 10**9},
        "level 1000000000 of tensor B: must be a compressed level of ss01, as the statement stores "
        "it",
    ),
    "a level before the first": (
        "fiberlookup_1",
        {"level": -1},
        "level -1 of tensor B: must be a compressed level of ss01, as the statement stores it",
    ),
    "a number with levels": ("fiberlookup_1", {"tensor": "3"}, "tensor 3: a number has no levels"),
    "no number": ("arrayvals_0", {"tensor": "1;"}, "tensor 1;: the statement has X, B"),
    "no tensor": ("arrayvals_0", {"tensor": ""}, "tensor : the statement has X, B"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_that_do_not_fit_the_statement(tmp_path: Path, fabric: Path, name: str) -> None:
    block, changes, text = BLOCKS[name]
    plan = plan_of(fabric)
    block_of(plan, block).update(changes)
    with_plan(fabric, plan)
    b = write_mtx(tmp_path / "b.mtx", B)
    line = refused(tmp_path, fabric, "--tensor", f"B={b}", config="sam_fabric_small")
    assert line == f"{fabric}: section 'plan': block {block}: {text}"


def with_text(program: Path, old: str, new: str) -> None:
    with_plan(program, json.loads(json.dumps(plan_of(program)).replace(old, new)))


@pytest.mark.parametrize("name", ["\u00fcn\u00efcode", "a b", "a;b", "1a", "", "a\\n", "a.b[0]"])
def test_blocks_whose_names_are_no_identifiers(tmp_path: Path, fabric: Path, name: str) -> None:
    with_text(fabric, "arrayvals_0", name)
    b = write_mtx(tmp_path / "b.mtx", B)
    line = refused(tmp_path, fabric, "--tensor", f"B={b}", config="sam_fabric_small")
    assert line.startswith(f"{fabric}: section 'plan': ")


def test_blocks_that_are_not_the_fabrics_units(tmp_path: Path, fabric: Path) -> None:
    with_text(fabric, "fiberlookup_0", "lookup")
    b = write_mtx(tmp_path / "b.mtx", B)
    line = refused(tmp_path, fabric, "--tensor", f"B={b}", config="sam_fabric_small")
    assert line == f"{fabric}: section 'plan': its blocks must be named as the fabric's units"


def test_a_plan_with_another_graph(tmp_path: Path, program: Path) -> None:
    plan = plan_of(program)
    blocks = plan["graph"]["blocks"]
    writer = next(block for block in blocks if block["name"] == "write_X_j")
    writer["keep_empty"] = not writer["keep_empty"]
    with_plan(program, plan)
    assert refused_program(tmp_path, program) == "section 'plan': its graph does not match config"


HOSTILE_PLANS = [b"", b"[" * 100_000, b"3", b"\0" * 9, bytes(range(256))]


@pytest.mark.parametrize("octets", HOSTILE_PLANS, ids=["empty", "deep", "number", "zero", "binary"])
def test_hostile_plans(tmp_path: Path, program: Path, octets: bytes) -> None:
    with_member(program, "plan.npy", array_bytes(np.frombuffer(octets, np.uint8)))
    assert refused_program(tmp_path, program).startswith("section 'plan'")


def test_a_fabric_that_is_not_set_to_the_plan(tmp_path: Path) -> None:
    program = tmp_path / "fabric.npz"
    assert gnarl("compile", "sam_fabric_small", COPY, "-o", program).exit_code == 0
    given = (program, "--tensor", f"B={write_mtx(tmp_path / 'b.mtx', B)}")
    whole = gnarl("run", "sam_fabric_small", *given, "--backend", "model")
    assert whole.exit_code == 0, whole.stderr
    with np.load(program) as archive:
        words = archive["configuration"]
    for spoilt in (words[:-1], words * 0, words + np.uint32(99)):
        with_member(program, "configuration.npy", array_bytes(spoilt))
        line = refused(tmp_path, *given, config="sam_fabric_small")
        assert line == f"{program}: section 'configuration': does not match the plan's graph"


def test_a_fabrics_words_where_there_is_none(tmp_path: Path, program: Path) -> None:
    empty = array_of(array_bytes(np.zeros(0, np.uint32)))
    with_member(program, "configuration.npy", array_bytes(np.append(empty, np.uint32(1))))
    assert refused_program(tmp_path, program) == (
        "section 'configuration': must be empty: config has no fabric"
    )

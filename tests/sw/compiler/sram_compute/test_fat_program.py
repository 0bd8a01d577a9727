"""Programs without sizes as sections of files: what is written is read, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import compile
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram, fat_program_of
from gnarl.sw.compiler.sram_compute.lowering import Specialiser
from gnarl.sw.compiler.sram_compute.placement import planned
from gnarl.sw.compiler.sram_compute.sections import fat_file, fat_program
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.tensor_graphs import RandomRegions, nest_of

EXAMPLES = Path(__file__).parents[4] / "examples"
CORE = SramConfig(core_lanes=2)


def compiled(nest: Nest, **options: Any) -> Program:
    workload = LoopWorkload(nest.name, nest, {})
    return compile(workload, CORE, trace=Trace(), **options)


def fat_of(nest: Nest, **options: Any) -> FatProgram:
    found = fat_program(compiled(nest, **options))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name", ["vec_add", "conv2d", "mm", "stencil2d", "gauss_elim", "array_sum", "scan"]
)
def test_what_was_written_is_read(name: str):
    pytest.importorskip("egglog")
    nest = c_source.read_file(EXAMPLES / f"{name}.c")
    found = fat_of(nest)
    again = fat_program_of(found.encoded().copy())
    assert repr(again.nest) == repr(nest)  # with its places
    assert [vars(part) for part in again.parts] == [vars(part) for part in found.parts]
    assert (again.engine, again.reassociate) == ("auto", True)
    assert again.encoded().tobytes() == found.encoded().tobytes()


def test_lowering_again_gives_the_same_commands():
    """What compiled functions allocate is not freed too early."""
    pytest.importorskip("egglog")
    fat = fat_of(c_source.read_file(EXAMPLES / "conv2d.c"), place="memory")
    scalars = {name: np.float32(1.5) for name in ("corner", "edge", "middle")}
    values = {"a": np.ones((16, 16), np.float32), **scalars}
    made = [
        Specialiser(fat, "conv2d", CORE).program(fat.binding(values), values) for _ in range(20)
    ]
    assert len({each.launches[0].sections["commands"].tobytes() for each in made}) == 1


@given(st.integers(0, 1 << 32))
def test_the_graphs_of_any_nest_are_read(seed: int):
    nest = nest_of(RandomRegions.parameters, RandomRegions(Random(seed)).body())
    parts = planned(nest, reassociate=True)
    found = fat_program_of(FatProgram(nest, parts, "auto", True).encoded())
    assert [vars(part) for part in found.parts] == [vars(part) for part in parts]


def test_there_are_no_sizes_scalars_or_configurations():
    nest = c_source.read_file(EXAMPLES / "conv2d.c")
    program = compiled(nest, optimise=False)
    shapes = {spec.name: spec.shape for spec in (*program.inputs, *program.outputs)}
    assert shapes == {
        "a": ("rows", "columns"),
        "b": ("rows", "columns"),
        "corner": (),
        "edge": (),
        "middle": (),
    }
    assert (program.config, program.digest, program.launches[0].config) == ({}, "", {})
    values = {"a": np.zeros((5, 6), np.float32), "corner": np.float32(3)}
    workload = LoopWorkload(nest.name, nest, values)
    other = compile(workload, SramConfig(wordlines=512), trace=Trace(), optimise=False)
    graphs = [each.launches[0].sections["graphs"].tobytes() for each in (program, other)]
    assert graphs[0] == graphs[1]
    assert other.inputs == program.inputs


def test_statements_keep_their_refusals_and_options():
    nest = nest_of(
        "a: int32[n], b: int32[n]",
        "for i in range(n): b[i] = a[i]\nfor i in range(1, n): a[i] = a[i - 1]",
    )
    found = fat_program_of(fat_of(nest, optimise=False, reassociate=False).encoded())
    assert [part.refusal is None for part in found.parts] == [True, False]
    assert (found.reassociate, found.engine) == (False, "auto")
    whole = fat_program_of(fat_of(nest, place="core").encoded())
    assert [(part.steps, part.refusal) for part in whole.parts] == [((), "")] * 2
    nest = nest_of("a: int32[n], b: int32[n]", "for i in range(n): a[b[i]] = i")
    with pytest.raises(WorkloadError, match=r"^f\.py:2:\d+: a is written where"):
        fat_of(nest, place="memory")


def damaged(change: Callable[[Any], None]) -> Program:
    """The program of a small nest whose JSON has changed."""
    nest = nest_of("a: int32[n], b: int32[n]", "for i in range(n): b[i] = a[i] + 1")
    return changed(compiled(nest, optimise=False), change)


def changed(program: Program, change: Callable[[Any], None]) -> Program:
    (launch,) = program.launches
    tree = json.loads(launch.sections["graphs"].tobytes())
    change(tree)
    graphs = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    sections = {**launch.sections, "graphs": graphs}
    return replace(program, launches=(replace(launch, sections=sections),))


def set_text(at: int, old: str, new: str) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        assert old in json.dumps(tree[at])
        tree[at] = json.loads(json.dumps(tree[at]).replace(old, new))

    return change


NEST, PLACES, PLACE, PARTS = 1, 2, 3, -1


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda tree: tree.pop(), "ValueError: ['FatFile', "),
        (lambda tree: tree[PLACES].pop(), "ValueError: places: are too few"),
        (lambda tree: tree[PARTS].clear(), "ValueError: zip() argument 2 is shorter"),
        (set_text(NEST, "a[i]", "z[i]"), "section 'graphs':7:16: z is not an array"),
        (set_text(NEST, "a[i]", "a[["), "section 'graphs':7:18: not Python"),
        (set_text(PLACE, "auto", "moon"), "place moon: must be one of auto, memory, core"),
        (set_text(PARTS, '["Tensor", "a"', '["Tensor", "z"'), "ValueError: node 0: is not as"),
        (set_text(PARTS, '"int32"', '"int16"'), "ValueError: node 0: is not as the nest has it"),
        (set_text(PARTS, '"int32"', '"int5"'), "ValueError: 'int5': must be a ScalarType"),
        (set_text(PARTS, '["n", 1]', '["m", 1]'), "ValueError: m: names what is not known there"),
        (set_text(PARTS, '["Compute", "+", [0, 1]', '["Compute", "+", [0, 2]'), "node 2: is not"),
        (set_text(PARTS, '["Compute", "+", [0, 1]', '["Compute", "+", [0]'), "node 2: is not as"),
        (set_text(PARTS, '"+", [0, 1], "int32"', '"<", [0, 1], "int32"'), "node 2: is not as"),
        (set_text(PARTS, '"+", [0, 1], "int32"', '"neg", [0], "int8"'), "node 2: is not as"),
        (set_text(PARTS, '"Compute", "+"', '"Compute", "plus"'), "node 2: is not as the nest has"),
        (set_text(PARTS, '["Const", 1', '["Const", 4294967296'), "node 1: is not as"),
        (set_text(PARTS, '["n", 1]', '["n", 2147483648]'), "ValueError: 2147483648*n: is large"),
        (set_text(PARTS, '["Output", "b"', '["Output", "a"'), "ValueError: output to a: is not"),
    ],
)
def test_damaged_graphs_are_refused(change: Callable[[Any], None], text: str):
    with pytest.raises(ProgramError) as caught:
        damaged(change).check()
    assert str(caught.value).startswith("section 'graphs'")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "parameters, body, old, new, text",
    [
        pytest.param(
            "a: int32[n, m]",
            "for k in range(n - 1):\n"
            "  for i in range(k + 1, n):\n"
            "    for j in range(m): a[i, j] -= a[k, j]",
            '["Tensor", "a"',
            '["Tensor", "z"',
            "node 0",
            id="in a loop in order",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            "for i in range(1, n): b[i] = 1 + a[i - 1]",
            '["Move", 1',
            '["Move", 0',
            "node 2",
            id="a number has no cells to move",
        ),
    ],
)
def test_damaged_nodes_are_refused(parameters: str, body: str, old: str, new: str, text: str):
    program = compiled(nest_of(parameters, body), optimise=False)
    with pytest.raises(ProgramError, match=f"{text}: is not as the nest has it"):
        changed(program, set_text(PARTS, old, new)).check()


@pytest.mark.parametrize(
    "damage, text",
    [
        (lambda words: words[:, :2], "section 'instructions' is [{}, 2]: must be at most"),
        (lambda words: words | 0x3F, "section 'instructions', 0: 63 is not a valid Opcode"),
    ],
)
def test_damaged_instructions_are_refused(damage: Callable[[Any], Any], text: str):
    fat = fat_of(c_source.read_file(EXAMPLES / "vec_add.c"), place="core")
    values = {name: np.ones(16, np.float32) for name in "ab"}
    program = Specialiser(fat, "vec_add", CORE).program(fat.binding(values), values)
    (launch,) = program.launches
    words = launch.sections["instructions"]
    sections = {**launch.sections, "instructions": damage(words)}
    with pytest.raises(ProgramError) as caught:
        replace(program, launches=(replace(launch, sections=sections),)).check()
    assert str(caught.value).startswith(text.format(len(words)))


def of_cells(lower: str, upper: str) -> str:
    return f'["Interval", [["Affine", {lower}]], [["Affine", {upper}]]]'


WHOLE = of_cells("0, []", '0, [["n", 1]]')


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            '["Tensor", "a", [' + of_cells("1, []", "2, []"),
            '["Tensor", "a", [' + of_cells("-1, []", "0, []"),
            "copies cell -1 to cells 0..3 x 0..5 x 0..0 along dimension 0",
        ),
        (
            f'["Output", "b", 1, [{WHOLE}, {WHOLE}',
            f'["Output", "b", 1, [{WHOLE}, {of_cells("-1, []", "5, []")}',
            "moves cells 0..5 x -1..4 x 0..0 along dimension 0",
        ),
    ],
)
def test_cells_beyond_the_lattice_are_refused(old: str, new: str, text: str):
    nest = nest_of(
        "a: int32[n, n], b: int32[n, n]",
        "for i in range(n):\n  for j in range(n):\n    b[i, j] = a[i, 1]",
    )
    program = changed(compiled(nest, optimise=False, place="memory"), set_text(PARTS, old, new))
    fat = fat_program(program)
    assert fat is not None
    values = {"a": np.zeros((6, 6), np.int32)}
    with pytest.raises(ProgramError) as caught:
        Specialiser(fat, "f", CORE).program(fat.binding(values), values)
    wanted = f"section 'graphs': {text}: must be within the lattice, 16 x 6 x 1"
    assert str(caught.value) == wanted


def test_graphs_stand_alone():
    nest = nest_of("a: int32[n], b: int32[n]", "for i in range(n): b[i] = a[i] + 1")
    program = fat_file(fat_of(nest, optimise=False), "f")
    (launch,) = program.launches
    for name in ("commands", "lines", "instructions"):
        old = launch.sections[name]
        sections = {**launch.sections, name: np.zeros((1, *old.shape[1:]), old.dtype)}
        with pytest.raises(ProgramError) as caught:
            replace(program, launches=(replace(launch, sections=sections),)).check()
        wanted = f"section '{name}': must be empty where there are graphs"
        assert str(caught.value) == wanted
    fewer = replace(launch, inputs=())
    with pytest.raises(ProgramError, match=r"^section 'graphs': is about other tensors$"):
        replace(program, inputs=(), launches=(fewer,)).check()

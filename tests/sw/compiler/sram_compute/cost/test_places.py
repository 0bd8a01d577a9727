"""What each place costs, as the compiler has it, and where statements run therefore."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.sram_compute_parts.in_memory import lowered_in_memory
from bench.sram_compute_parts.workloads import workload
from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, Opcode, When
from gnarl.hw.sram_compute.program import Command, command, disassemble
from gnarl.hw.sram_compute.streams.copy_queue import QUEUED_COPIES
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import compile
from gnarl.sw.compiler.sram_compute.cost import places
from gnarl.sw.compiler.sram_compute.cost.core import part_cycles
from gnarl.sw.compiler.sram_compute.cost.near import near_cycles
from gnarl.sw.compiler.sram_compute.lowering import Specialiser
from gnarl.sw.compiler.sram_compute.near.lower import near_code
from gnarl.sw.compiler.sram_compute.sections import fat_program, first_lines
from gnarl.sw.compiler.sram_compute.tdfg.plan import regions
from gnarl.sw.execute.scalars.core_memory import core_memory
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.conditional_nests import SOURCES, conditional
from tests.support.sram_compute.lowered_nests import lowered
from tests.support.sram_compute.near_commands import adds, near, reads, stream, system

pytest.importorskip("egglog")

B4 = load_configuration("sram_b4")
"""Of which no RTL is built here."""


def core_estimate(program: Program, limit: int = 1 << 40) -> int:
    words = program.launches[0].sections["instructions"].tolist()
    return part_cycles([Instruction.decoded(tuple(each)) for each in words], B4.config, limit)


def memory_estimate(given_nest: LoopWorkload, config: SramConfig = B4.config) -> int:
    return lowered_in_memory(given_nest, config, None).estimate


def near_commands(given_nest: LoopWorkload) -> list[Command]:
    nest = given_nest.nest
    zeros = frozenset({*nest.results} - {*given_nest.inputs})
    code = near_code(nest, given_nest.binding, B4.config, reassociate=True, zeros=zeros)
    return code.commands(dict.fromkeys(nest.arrays, 0))


def is_on_core(program: Program) -> bool:
    return len(program.launches[0].sections["instructions"]) > 0


def is_near(program: Program) -> bool:
    commands = disassemble(program.launches[0].sections["commands"])
    return any(each.opcode == Opcode.NEAR for _, each in commands)


@pytest.mark.parametrize(
    "changes",
    [
        ("memory_channels=4", "bandwidth=20"),
        ("memory_channels=4", "bandwidth=0.2"),
        ("memory_channels=2", "bandwidth=30", "banks=8"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "name, sizes",
    [
        ("vec_add", {"n": 1024}),
        ("stencil2d", {"rows": 64, "columns": 128, "steps": 1}),
        ("stencil1d", {"n": 4096, "steps": 2}),
        ("lifting", {"rows": 64, "columns": 64}),
        ("mm", {"rows": 64, "columns": 64, "inner": 8}),
    ],
)
def test_lines_side_by_side_take_as_long_as_the_compiler_thinks(
    name: str, sizes: dict[str, int], changes: tuple[str, ...]
):
    given_nest = workload(name, sizes, 3)
    named = load_configuration("sram_b4", changes)
    with Device(named, "model") as device:
        program = device.compile(given_nest, place="memory")
        cycles = device.run(program, given_nest.inputs | dict(given_nest.sizes or {})).cycles
    assert cycles is not None
    assert memory_estimate(given_nest, named.config) == pytest.approx(cycles, rel=0.09)


@pytest.mark.parametrize(
    "name, sizes",
    [
        ("vec_add", {"n": 16}),
        ("vec_add", {"n": 1024}),
        ("stencil2d_int32", {"rows": 16, "columns": 64}),
        ("stencil1d", {"n": 300, "steps": 2}),
        ("row_sums", {"rows": 8, "columns": 32}),
        ("array_sum", {"n": 256}),
        ("mm", {"rows": 8, "columns": 8, "inner": 8}),
    ],
)
def test_commands_take_as_long_as_the_compiler_thinks(name: str, sizes: dict[str, int]):
    given_nest = workload(name, sizes, 3)
    with Device(B4, "model") as device:
        program = device.compile(given_nest, place="memory")
        cycles = device.run(program, given_nest.inputs).cycles
    assert cycles is not None
    assert memory_estimate(given_nest) == pytest.approx(cycles, rel=0.06)


@pytest.mark.parametrize(
    "name, sizes",
    [
        ("vec_add", {"n": 16}),
        ("vec_add", {"n": 1024}),
        ("stencil2d", {"rows": 16, "columns": 40, "steps": 2}),
        ("stencil3d", {"planes": 4, "rows": 8, "columns": 8, "steps": 1}),
        ("lifting", {"rows": 16, "columns": 64}),
        ("row_sums", {"rows": 8, "columns": 32}),
        ("array_sum", {"n": 1024}),
        ("mm", {"rows": 8, "columns": 100, "inner": 8}),
        ("gauss_elim", {"n": 24}),
    ],
)
def test_stream_engines_take_as_long_as_the_compiler_thinks(name: str, sizes: dict[str, int]):
    require_near_cycles(workload(name, sizes, 3))


def test_indices_that_are_loaded_are_taken_to_be_random(tmp_path: Path):
    path = tmp_path / "gather.c"
    path.write_text(
        "void f(int n, int a[n], int index[n], int b[n]) {\n"
        "  for (int i = 0; i < n; i++) b[i] = a[index[i]];\n}\n"
    )
    chance = np.random.default_rng(2)
    values = {
        "a": np.arange(2000, dtype=np.int32),
        "index": chance.integers(0, 2000, 2000, np.int32),
    }
    require_near_cycles(LoopWorkload("f", file_workload(str(path), {}).nest, values))


def copy(words: int, lines: int) -> Command:
    """To words from a line of them on."""
    return command(Opcode.COPY, line=1000, words=words, lines=lines)


NEVER = 1 << When.FIRST_Y | 1 << When.LAST_Y
"""Of a loop with more than one y."""

NEAR_COMMANDS = {
    "a step of a strip a cycle": [stream(0, 0, 1, 0, 0), reads(0, 0), near(128, 100, 1)],
    "access after access, then nothing": [
        stream(0, 0, STRIP * B4.config.banks, 0, 0),
        reads(0, 0, when=1 << When.FIRST_X),
        *(adds(slot, when=NEVER) for slot in range(1, 32)),
        near(256, 20, 1, last=31),
    ],
    "one copy and a whole queue": [
        *(copy(100 * each, 10) for each in range(1 + QUEUED_COPIES)),
        adds(0),
        near(64, 300, 1),
    ],
    "more copies than the queue has": [
        *(copy(100 * each, 10) for each in range(2 + QUEUED_COPIES)),
        adds(0),
        near(64, 300, 1),
    ],
    "a plane that is copied while another is read": [
        copy(0, 32),
        stream(0, 0, 1, 0, 256),
        reads(0, 0),
        near(64, 200, 2),
    ],
}


@pytest.mark.parametrize("name", NEAR_COMMANDS)
def test_commands_of_stream_engines_take_as_long_as_the_compiler_thinks(name: str):
    commands = NEAR_COMMANDS[name]
    cycles = system(B4.config, commands).run(0, 1 << 20).cycles
    found = near_cycles([*commands, command(Opcode.END)], B4.config, 1 << 20)
    assert found == pytest.approx(cycles, rel=0.02)


def require_near_cycles(given_nest: LoopWorkload) -> None:
    """As the compiler has them, up to any limit."""
    config, commands = B4.config, near_commands(given_nest)
    with Device(B4, "model") as device:
        program = device.compile(given_nest, place="near")
        cycles = device.run(program, given_nest.inputs).cycles
    assert cycles is not None
    assert near_cycles(commands, config, 1 << 40) == pytest.approx(cycles, rel=0.04, abs=100)
    assert cycles // 4 < near_cycles(commands, config, cycles // 4) < cycles


@pytest.mark.parametrize("n", [4, 16, 64])
@pytest.mark.parametrize("stored", ["100", "a[i]", "a[i] + b[i]"], ids=["number", "copy", "sum"])
def test_memory_takes_as_long_as_the_compiler_thinks(stored: str, n: int):
    """Nothing is loaded for a number: the store waits for the next line of commands, for which the
    fetch asks in the same cycle."""
    nest = read_source(
        "void f(int n, int a[n], int b[n], int c[n]) {\n"
        f"  for (int i = 0; i < n; i++) c[i] = {stored};\n}}\n",
        "nest.c",
    )
    values = {name: np.arange(n, dtype=np.int32) for name in nest.arrays}
    given_nest = LoopWorkload("f", nest, values)
    with Device(B4, "model") as device:
        program = device.compile(given_nest, place="memory")
        cycles = device.run(program, given_nest.inputs).cycles
    assert memory_estimate(given_nest) == pytest.approx(cycles, abs=2)


CORE_CYCLES = {
    ("vec_add", "n", 16): 366 + 212,
    ("vec_add", "n", 1024): 17_057 + 212,
    ("array_sum", "n", 256): 2_475 + 212,
    ("gauss_elim", "n", 8): 11_400 + 212,
}
"""Of the RTL of ``sram_b4``."""


@pytest.mark.parametrize("case", CORE_CYCLES, ids=str)
def test_the_core_takes_as_long_as_the_compiler_thinks(case: tuple[str, str, int]):
    name, size, extent = case
    program = lowered(workload(name, {size: extent}, 0), B4.config, place="core")
    assert core_estimate(program) == CORE_CYCLES[case]


def test_the_estimate_of_the_core_stops_at_its_limit():
    program = lowered(workload("vec_add", {"n": 4096}, 0), B4.config, place="core")
    assert 5000 < core_estimate(program, 5000) < 7000 < core_estimate(program)


@settings(max_examples=4, deadline=None)
@given(
    name=st.sampled_from(["stencil2d_int32", "lifting"]),
    rows=st.integers(3, 9),
    columns=st.integers(5, 20),
)
def test_auto_takes_the_cheaper_place_and_the_results_are_the_same(
    name: str, rows: int, columns: int
):
    given_nest = workload(name, {"rows": rows, "columns": columns}, 1)
    found = {}
    with Device(B4, "model") as device:
        for place in ("memory", "core", "auto"):
            program = device.compile(given_nest, place=place, reassociate=False, optimise=False)
            found[place] = device.run(program, given_nest.inputs)
    for array, wanted in found["core"].outputs.items():
        assert found["memory"].outputs[array].tobytes() == wanted.tobytes()
        assert found["auto"].outputs[array].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("steps", [1, 8, 64])
@pytest.mark.parametrize("n", [16, 1024])
def test_auto_is_never_much_slower_than_the_best_place(n: int, steps: int):
    given_nest = workload("stencil1d", {"n": n, "steps": steps}, 0)
    core = core_estimate(lowered(given_nest, B4.config, place="core"))
    memory = memory_estimate(given_nest)
    near = near_cycles(near_commands(given_nest), B4.config, 1 << 40)
    auto = lowered(given_nest, B4.config)
    taken = core if is_on_core(auto) else near if is_near(auto) else memory
    assert taken <= min(core, near, memory)


def test_long_loops_over_what_fits_run_in_memory_short_ones_on_the_core():
    chosen = [
        is_on_core(lowered(workload("stencil1d", sizes, 0), B4.config))
        for sizes in ({"n": 16, "steps": 1}, {"n": 16384, "steps": 8})
    ]
    assert chosen == [True, False]


def test_lowering_counts_for_each_node_of_a_graph(tmp_path: Path):
    """Equation 2 holds: what is faster in memory, but for its lowering, goes elsewhere."""
    path = tmp_path / "nest.c"
    path.write_text(
        "void f(int n, int a[n], int b[n]) {\n for (int step = 0; step < 32; step++)\n"
        "  for (int i = 0; i < n; i++) b[i] += a[i];\n}"
    )
    found = file_workload(str(path), {})
    given_nest = LoopWorkload(found.name, found.nest, {"a": np.arange(240, dtype=np.int32)})
    base = load_configuration("sram_b2", ["near_lanes=0"]).config
    (part,) = fat_program(compile(given_nest, base, trace=Trace())).parts
    nodes = sum(len(region.graph.nodes) for region in regions(part.plans[0]))
    texts: list[str] = []
    trace = Trace(write=lambda name, found: texts.append(found["txt"]), only=["place"])
    on_core = [
        is_on_core(lowered(given_nest, replace(base, lowering_cycles=constant), trace))
        for constant in (0, 10, 100_000)
    ]
    assert on_core == [False, False, True]
    cycles = [int(text.split(": memory ")[1].split()[0]) for text in texts]
    assert [each - cycles[0] for each in cycles] == [0, 10 * nodes, 100_000 * nodes]


def test_one_program_runs_where_its_sizes_say():
    small, large = (
        workload("stencil1d", sizes, 0)
        for sizes in ({"n": 16, "steps": 1}, {"n": 16384, "steps": 8})
    )
    with Device(B4, "model") as device:
        program = device.compile(small)
        found = [
            is_on_core(device.target.compiler.lowered(program, each.inputs, B4.config, quiet))
            for each in (small, large)
        ]
    assert found == [True, False]


def test_decisions_repeat_and_say_why():
    texts, programs = [], []

    def write(name, found):
        texts.append(found["txt"])

    for _ in range(2):
        given_nest = workload("lifting", {"rows": 16, "columns": 64}, 0)
        trace = Trace(write=write, only=["place"])
        programs.append(lowered(given_nest, B4.config, trace, optimise=False))
    assert texts[0] == texts[1]
    sections = [program.launches[0].sections for program in programs]
    for name, section in sections[0].items():
        assert np.array_equal(section, sections[1][name])
    lines = texts[0].splitlines()
    place = Path(workload("lifting", {}, 0).nest.body[0].place.file).name
    assert [line.split(": ", 1)[1].split(":")[0] for line in lines[:3]] == [
        "statement 0",
        "statements 0 to 1",
        "statement 1",
    ]
    assert all(place in line and " cycles" in line for line in lines[:3])
    assert all(line.startswith("chosen: ") for line in lines[3:])


def test_what_is_over_the_limit_as_a_whole_is_looked_at_statement_by_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """All that is known of both is that they take more than the limit: no reason to prefer the
    whole."""
    path = tmp_path / "nest.c"
    path.write_text(
        "void f(int n, int a[n], int index[n], int b[n], int c[n]) {\n"
        " for (int step = 0; step < 32; step++)\n"
        "  for (int i = 0; i < n; i++) b[i] += a[i];\n"
        " for (int i = 0; i < n; i++) c[i] = b[index[i]];\n}"
    )
    nest = file_workload(str(path), {}).nest
    values = {each: np.arange(4096, dtype=np.int32) for each in ("a", "index")}
    texts: list[str] = []
    trace = Trace(write=lambda name, found: texts.append(found["txt"]), only=["place"])
    monkeypatch.setattr(places, "MOST_CYCLES", 1000)
    lowered(LoopWorkload("f", nest, values), B4.config, trace)
    *seen, first, second = texts[0].splitlines()
    assert "statements 0 to 1: " in seen[1]
    assert seen[1].endswith("near over 1000 cycles, core over 1000 cycles")
    assert first.endswith("statement 0: memory") and second.endswith("statement 1: near")


ALIKE = """
void f(int n, const float x[n], const float y[n], float a[n], float b[n], float c[n], float d[n],
       int e[n], int g[n], int p[n]) {
  for (int i = 0; i < n; i++) a[i] = x[i] * 3.5f + y[i];
  for (int i = 0; i < n; i++) b[i] = a[i] * 9.5f + x[i];
  for (int i = 0; i < n; i++) c[i] = a[i] * 1.0f + x[i];
  for (int i = 0; i < n; i++) d[i] = b[i] * b[i] + 7.0f;
  for (int i = 0; i < n; i++) d[i] += c[i] * 5.25f;
  for (int i = 0; i < n; i++) e[i] = g[i] + 3;
  for (int i = 0; i < n; i++) g[i] = e[i] + 4;
  for (int i = 0; i < n; i++) if (e[i] > 5) g[i] = p[i];
  for (int i = 0; i < n; i++) if (g[i] > 5) e[i] = p[i];
  for (int i = 0; i < n; i++) e[i] = g[p[i]];
  for (int i = 1; i < n; i++) e[i] = e[i - 1] + g[i];
}
"""


@pytest.mark.parametrize("n", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_statements_that_are_alike_cost_the_same(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As when each is looked at for itself, but for where arrays lie."""
    nest = read_source(ALIKE, "alike.c")
    given = {name: np.arange(n, dtype=each.type.dtype) for name, each in nest.arrays.items()}
    looked = []
    forms = places.cost_form
    for form in (forms, lambda *_: None):
        monkeypatch.setattr(places, "cost_form", form)
        texts: list[str] = []
        trace = Trace(write=lambda name, found: texts.append(found["txt"]), only=["place"])  # noqa: B023
        lowered(LoopWorkload("f", nest, given), B4.config, trace)
        looked.append(texts[0].splitlines())
    for one, other in zip(*looked, strict=True):
        numbers = [
            [int(each) for each in re.findall(r" (\d+) cycles", text)] for text in (one, other)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.03)
        assert re.sub(r"\d+ cycles", "", one) == re.sub(r"\d+ cycles", "", other)
    body = nest.body
    alone = [replace(nest, body=(each,)) for each in body]
    same = [forms(each, bind(nest, given), ()) for each in alone]
    assert same[0] == same[1] and same[0] != same[2] and same[3] != same[4]
    assert same[5] != same[6] and same[7] is None and same[9] is None


@pytest.mark.parametrize("count", [16, 17])
def test_long_nests_are_not_looked_at_as_a_whole(count: int, tmp_path: Path):
    path = tmp_path / "long.c"
    body = "  for (int i = 0; i < n; i++) a[i] += 1;\n" * count
    path.write_text(f"void many(int n, int a[n]) {{\n{body}}}\n")
    nest = file_workload(str(path), {}).nest
    found = [*places._segments(nest, [])]
    assert ((0, count) in found) == (count == 16)


@pytest.mark.parametrize(
    "name, n, often",
    [
        ("threshold", 128, 0.0),
        ("threshold", 128, 0.5),
        *(
            pytest.param(name, n, often, marks=pytest.mark.slow)
            for name in SOURCES
            for n in (24, 128, 900)
            for often in (0.0, 0.1, 0.5, 1.0)
        ),
    ],
)
def test_auto_is_near_the_best_place_whatever_data_decide(name: str, n: int, often: float):
    given_nest = conditional(name, n, often)
    cycles = {}
    with Device(B4, "model") as device:
        for place in ("memory", "near", "core", "auto"):
            with suppress(WorkloadError):
                program = device.compile(given_nest, place=place)
                cycles[place] = device.run(program, given_nest.inputs).cycles
    assert cycles["auto"] <= 1.1 * min(cycles.values()), cycles


@pytest.mark.parametrize("often", [0.0, 0.5])
@pytest.mark.parametrize("name", ["branches", "octets"])
def test_the_core_takes_as_long_as_its_data_say(name: str, often: float):
    given_nest = conditional(name, 100, often)
    program = lowered(given_nest, B4.config, place="core")
    arrays = given_nest.binding.arrays
    memory = core_memory(arrays, first_lines(program.launches[0]), ())
    words = program.launches[0].sections["instructions"].tolist()
    instructions = [Instruction.decoded(tuple(each)) for each in words]
    estimate = part_cycles(instructions, B4.config, 1 << 40, memory)
    with Device(B4, "model") as device:
        cycles = device.run(program, given_nest.inputs).cycles
    assert estimate == pytest.approx(cycles, rel=0.01)
    assert memory.decides


def test_programs_are_remembered_by_elements_where_these_decide():
    seldom, often = (conditional("threshold", 128, each) for each in (0.0, 1.0))
    fat = fat_program(compile(seldom, B4.config, trace=Trace()))
    assert fat is not None
    specialiser = Specialiser(fat, "f", B4.config)
    first, second, third = (
        specialiser.program(each.binding, each.inputs) for each in (seldom, often, seldom)
    )
    assert (is_on_core(first), is_on_core(second)) == (True, False)
    assert third is first

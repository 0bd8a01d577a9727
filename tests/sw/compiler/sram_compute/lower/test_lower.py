"""Programs of commands: what they leave in the model's memory is what nests mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import assemble, disassemble
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode, generate
from gnarl.sw.compiler.sram_compute.optimise.saturate import Limits, optimise_plan
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_file
from tests.support.sram_compute.lowered_memory import SMALL, execute, require_golden
from tests.support.sram_compute.tensor_graphs import RandomRegions, nest_of

EXAMPLES = Path(__file__).parents[5] / "examples"


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def integers(*shape: int, most: int = 100, dtype: Any = np.int32) -> np.ndarray:
    low = 0 if np.dtype(dtype).kind == "u" else -most
    return np.random.default_rng(1).integers(low, most, shape, dtype)


@pytest.mark.parametrize(
    "name, values",
    [
        ("vec_add", {"a": random(100), "b": random(100)[::-1].copy()}),
        ("array_sum", {"a": random(100)}),
        ("stencil1d", {"a": random(70), "b": random(70), "steps": 1}),
        ("stencil2d", {"a": random(9, 11), "b": random(9, 11), "steps": 1}),
        ("conv2d", {"a": random(9, 19), "corner": 0.1, "edge": 0.2, "middle": -0.3}),
        ("mm", {"a": random(9, 3), "b": random(3, 19)}),
        ("conv3d", {"a": random(2, 5, 15), "w": random(3, 2, 9)}),
    ],
)
def test_examples(name: str, values: dict[str, Any]):
    require_golden(read_file(EXAMPLES / f"{name}.py"), values)


@pytest.mark.parametrize(
    "parameters, body, values",
    [
        # Arrays of one lattice need not have one size.
        (
            "a: int32[n], b: int32[n + 20]",
            "for i in range(n): b[i + 20] = a[i] * 3",
            {"a": integers(70)},
        ),
        # Types, conversions, comparisons and choices.
        (
            "a: int8[n], b: uint16[n], c: int32[n], d: float32[n], e: int16[n]",
            """
for i in range(n):
    c[i] = int32(a[i]) * 3 - abs(int32(a[i]))
    d[i] = float32(b[i]) * 0.5
    e[i] = int16(a[i]) if a[i] < 0 or b[i] >= 50 and not b[i] == 60 else min(int16(a[i]), 7)
    b[i] = max(b[i], 31)
""",
            {"a": integers(70, dtype=np.int8), "b": integers(70, dtype=np.uint16)},
        ),
        (
            "a: float32[n], b: float32[n]",
            "for i in range(n): b[i] = -a[i] if a[i] > 0.5 else abs(a[i]) / 3.0",
            {"a": random(70)},
        ),
        # Quotients, remainders and shifts by numbers, signed and not.
        (
            "a: int16[n], b: uint8[n], c: int8[n], d: int16[n], e: uint8[n]",
            """
for i in range(n):
    d[i] = a[i] // 7 + a[i] % 7 - (a[i] // -5) * (a[i] % -5)
    e[i] = b[i] // 3 - b[i] % 10 + (b[i] << 3) + (b[i] >> 2)
    c[i] = (c[i] >> 2) + (c[i] << 5) - (c[i] >> 0)
""",
            {
                "a": integers(70, most=32767, dtype=np.int16),
                "b": integers(70, most=255, dtype=np.uint8),
                "c": integers(70, most=127, dtype=np.int8),
            },
        ),
        # Moves in all directions, between tiles and within, in three dimensions.
        (
            "a: int32[n, m, k], b: int32[n, m, k]",
            """
for x in range(2, n):
    for y in range(m - 1):
        for z in range(3, k - 1):
            b[x, y, z] = a[x - 2, y, z] + a[x, y + 1, z - 3] * a[x, y, z + 1]
""",
            {"a": integers(3, 4, 20), "b": integers(3, 4, 20)},
        ),
        # Broadcasts from the first and the last tile; of single elements.
        (
            "a: int32[n, m], b: int32[n, m]",
            "for i in range(n):\n for j in range(m): b[i, j] = a[i, 17] + a[5, j] - a[2, 18]",
            {"a": integers(9, 20)},
        ),
        # Sums and extrema along each dimension.
        (
            "a: int32[n, m], s: int32[n, 1], t: int32[1, m]",
            """
for i in range(n):
    for j in range(m):
        s[i, 0] += a[i, j]
for i in range(n):
    for j in range(m):
        t[0, j] = max(t[0, j], a[i, j] * 2)
""",
            {"a": integers(9, 20)},
        ),
        # Gaussian elimination's pattern: bounds that follow the loop in order.
        (
            "a: int32[n, m]",
            """
for k in range(n - 1):
    for i in range(k + 1, n):
        for j in range(m):
            a[i, j] -= a[k, j]
""",
            {"a": integers(5, 20)},
        ),
        # An array becomes another's copy, and changes later.
        (
            "a: int32[n], b: int32[n]",
            (
                "for i in range(n): b[i] = a[i]\nfor i in range(1, n): "
                "a[i] = b[i - 1]\nfor i in range(2): b[i] = 9"
            ),
            {"a": integers(70)},
        ),
    ],
)
def test_nests(parameters: str, body: str, values: dict[str, Any]):
    require_golden(nest_of(parameters, body), values)


def test_quotients_of_c_are_cut_towards_zero():
    nest = c_source.read_source(
        "#include <stdint.h>\n"
        "void f(int n, int16_t a[n], int q[n], int r[n], int s[n]) {\n"
        "  for (int i = 0; i < n; i++) { q[i] = a[i] / 7; r[i] = a[i] % 10; s[i] = a[i] / -3; }\n"
        "}\n",
        "f.c",
    )
    a = np.concatenate([np.arange(-40, 41), [-32768, 32767]]).astype(np.int16)
    config = replace(SMALL, wordlines=512)
    lowered = require_golden(nest, {"a": a}, config)
    zeros = {name: np.zeros(len(a), np.int32) for name in "qrs"}
    found = execute(lowered, {"a": a, **zeros}, config)
    wide = a.astype(np.int32)
    for name, divisor in (("q", 7), ("s", -3)):
        assert (found[name] == np.fix(wide / divisor)).all()
    assert (found["r"] == np.fmod(wide, 10)).all()


def test_random_regions():
    """With and without optimisation; arrays of few wordlines, so values leave their rows."""
    pytest.importorskip("egglog")
    few = SramConfig(banks=2, arrays=4, wordlines=128, bitlines=64, memory_bytes=1 << 18)
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    chance, found = Random(seed), 0
    values = {name: integers(6, 21, dtype=np.int16) + np.int16(at) for at, name in enumerate("abc")}
    while found < 4:
        nest = nest_of(RandomRegions.parameters, RandomRegions(chance).body())
        steps = plan(nest, streams=False)
        if nest.results and not refusals(steps):
            require_golden(nest, values, few, steps)
            better = optimise_plan(steps, reassociate=False, limits=Limits(seconds=0.3))
            require_golden(nest, values, few, better)
            found += 1


def test_gaussian_elimination():
    """Bounds and broadcasts that follow the loop in order."""
    a = random(5, 5) + 4 * np.eye(5, dtype=np.float32)
    nest = c_source.read_file(EXAMPLES / "gauss_elim.c")
    require_golden(nest, {"a": a, "b": random(5, 1)})


def test_values_that_find_no_rows_are_stored_for_a_while():
    few = SramConfig(banks=2, arrays=4, wordlines=64, bitlines=64, memory_bytes=1 << 17)
    body = """
for i in range(n):
    t = a[i] * b[i]
    u = a[i] - b[i]
    v = a[i] + b[i]
    w = t * u
    c[i] = w * v + t * a[i] - u * b[i]
"""
    nest = nest_of("a: int16[n], b: int16[n], c: int16[n]", body)
    values = {name: integers(70, dtype=np.int16) for name in "ab"}
    lowered = require_golden(nest, values, few)
    stores = [each for _, each in disassemble(lowered.units) if each.opcode == Opcode.STORE]
    assert len(stores) > 1


@pytest.mark.parametrize("sum", ["a[i] + b[i] + b[i]", "a[i] + a[i] + b[i]"])
def test_a_sum_takes_the_rows_of_an_operand_that_is_over(sum: str):
    """Either operand may be over; there are rows for two values."""
    few = replace(SMALL, wordlines=64)
    nest = nest_of("a: int32[n], b: int32[n], c: int32[n]", f"for i in range(n): c[i] = {sum}")
    lowered = require_golden(nest, {"a": integers(70), "b": integers(70) + 1}, few)
    assert lowered.returns == 0


def test_the_value_that_is_needed_last_leaves_its_rows():
    """There are rows for the sum and three more: ``d`` comes to those of ``c``, which returns when
    ``a`` is over; if ``a`` left its rows, ``b`` would have to leave them for it."""
    few = replace(SMALL, wordlines=64)
    body = "for i in range(n): e[i] = a[i] + b[i] + c[i] + d[i] + a[i] + b[i] + c[i] + d[i]"
    nest = nest_of(", ".join(f"{name}: int16[n]" for name in "abcde"), body)
    values = {name: integers(70, dtype=np.int16) + np.int16(at) for at, name in enumerate("abcd")}
    assert require_golden(nest, values, few).returns == 1


def test_an_operand_keeps_its_rows_until_the_other_one_has_some():
    """There are rows for four values: where ``d`` comes, ``a``, which is needed last, stays."""
    few = replace(SMALL, wordlines=64)
    body = "for i in range(n): e[i] = (a[i] + b[i] + c[i]) - (a[i] + d[i]) - b[i] - c[i] - a[i]"
    nest = nest_of(", ".join(f"{name}: int16[n]" for name in "abcde"), body)
    values = {name: integers(70, dtype=np.int16) + np.int16(at) for at, name in enumerate("abcd")}
    assert require_golden(nest, values, few).returns


def test_of_values_that_are_needed_last_one_that_memory_has_leaves_its_rows():
    """``x``, for which nothing is stored, though the sum has been there for longer."""
    few = replace(SMALL, wordlines=64)
    sums = "(a[i] + b[i] - x[i]) * (c[i] - d[i] - f[i])"
    body = f"for i in range(n): e[i] = {sums} - max(a[i] + b[i], x[i])"
    nest = nest_of(", ".join(f"{name}: int16[n]" for name in "abcdefx"), body)
    values = {name: integers(70, dtype=np.int16) + np.int16(at) for at, name in enumerate("abcdfx")}
    found = require_golden(nest, values, few)
    opcodes = [command.opcode for _, command in disassemble(found.units)]
    assert (found.returns, opcodes.count(Opcode.STORE)) == (1, 1)


def test_values_that_are_over_leave_their_places_in_memory():
    """However often a loop's body runs, it stores to the same lines."""
    few = SramConfig(banks=2, arrays=4, wordlines=64, bitlines=64, memory_bytes=1 << 17)
    body = """
for k in range(m):
    for i in range(n):
        t = a[i] * b[i]
        u = a[i] - b[i]
        v = a[i] + b[i]
        w = t * u
        c[i] = w * v + t * a[i] - u * b[i] + c[i]
"""
    nest = nest_of("a: int16[n], b: int16[n], c: int16[n], d: int16[m]", body)
    bases = []
    for trips in (2, 6):
        values = {name: integers(70, dtype=np.int16) for name in "abc"} | {
            "d": integers(trips, dtype=np.int16)
        }
        lowered = require_golden(nest, values, few)
        assert lowered.returns > trips
        layouts = [each.fields for _, each in disassemble(lowered.units) if "base" in each.fields]
        bases.append(len({each["base"] for each in layouts}))
    assert bases[0] == bases[1]


def _opcodes(lowered: MemoryCode) -> list[Opcode]:
    return [command.opcode for _, command in disassemble(lowered.units)]


def test_a_sum_over_inputs_stays_in_rows():
    """Of a convolution, each array comes once, however many inputs there are, and the sum goes to
    memory once: products take the rows of an operand, and what is free lies together."""
    taps = " + ".join(f"w[o, k, {x}] * a[k, i, j + {x}]" for x in range(3))
    nest = nest_of(
        "a: float32[c, n, m + 2], w: float32[h, c, 3], b: float32[h, n, m]",
        f"""
for k in range(c):
    for o in range(h):
        for i in range(n):
            for j in range(m):
                b[o, i, j] += {taps}
""",
    )
    for inputs in (1, 2, 4):
        values = {"a": random(inputs, 4, 15), "w": random(8, inputs, 3), "b": random(8, 4, 13)}
        lowered = require_golden(nest, values)
        opcodes = _opcodes(lowered)
        assert (lowered.returns, opcodes.count(Opcode.STORE)) == (0, 1)
        assert opcodes.count(Opcode.LOAD) <= len(values)


def _moved_whole(lowered: MemoryCode, config: SramConfig) -> int:
    """Moves of values to other rows: of all tiles that there are, and to themselves."""
    moves = [each.fields for _, each in disassemble(lowered.units) if each.opcode == Opcode.MOVE]
    return sum(
        not each["distance"] and each["tiles_counts"] == (config.tiles - 1, 0, 0) for each in moves
    )


TYPES = {"int8": np.int8, "int16": np.int16, "int32": np.int32}


def _mixed(rng: Random) -> tuple[Nest, dict[str, Any]]:
    """A nest of values of several widths, some of which are moved, and its arrays."""
    types = {name: rng.choice([*TYPES]) for name in "abcdefg"}
    written = rng.sample("abcdefg", 3)

    def term() -> str:
        name = rng.choice("abcdefg")
        return f"{name}[i + {rng.randint(-1, 1)}]".replace("+ -", "- ")

    def expression(depth: int) -> str:
        if not depth:
            return term()
        left, right = expression(depth - 1), expression(rng.randrange(depth))
        return f"({left} {rng.choice(('+', '-', '*'))} {right})"

    loops = []
    for name in written:
        value = expression(rng.randint(2, 3)).replace(f"{name}[", "h[")
        loops.append(f"for i in range(1, n - 1): {name}[i] = {types[name]}({value})")
    body = "\n".join(["for k in range(m):", *(f"    {each}" for each in loops)])
    parameters = ", ".join(f"{name}: {type}[n]" for name, type in {**types, "h": "int16"}.items())
    values = {
        name: integers(40, dtype=TYPES[type]) for name, type in {**types, "h": "int16"}.items()
    }
    return nest_of(f"{parameters}, z: int8[m]", body), {**values, "z": integers(2, dtype=np.int8)}


def test_values_of_several_widths_in_few_rows():
    """Results are right wherever values move to; in some of these nests some do."""
    moved = 0
    for seed in range(30):
        nest, values = _mixed(Random(seed))
        config = replace(SMALL, wordlines=(128, 256)[seed % 2], memory_bytes=1 << 18)
        moved += _moved_whole(require_golden(nest, values, config), config) > 0
    assert moved


def test_commands_are_remembered_by_sizes_and_scalars():
    nest = read_file(EXAMPLES / "conv2d.py")
    generator = CodeGenerator(nest, plan(nest), SMALL)
    scalars = {"corner": 0.1, "edge": 0.2, "middle": -0.3}
    one = generator.generate(bind(nest, {"a": random(9, 19), **scalars}))
    assert generator.generate(bind(nest, {"a": random(9, 19) + 1, **scalars})) is one
    for values in (
        {"a": random(9, 20), **scalars},
        {"a": random(9, 19), **scalars, "edge": -0.2},
        {"a": random(9, 19), **scalars, "edge": 0.0},
        {"a": random(9, 19), **scalars, "edge": -0.0},
    ):
        found = generator.generate(bind(nest, values))
        fresh = generate(nest, plan(nest), bind(nest, values), SMALL)
        assert found.units.tobytes() == fresh.units.tobytes() != one.units.tobytes()


def test_encoded_commands_are_those_that_are_assembled():
    nest = read_file(EXAMPLES / "mm.py")
    units = generate(
        nest, plan(nest), bind(nest, {"a": random(9, 3), "b": random(3, 19)}), SMALL
    ).units
    commands = [each for _, each in disassemble(units)]
    assert {each.opcode for each in commands} > {Opcode.BROADCAST, Opcode.COMPUTE, Opcode.LAYOUT}
    assert assemble(commands).tobytes() == units.tobytes()


def test_programs_of_any_length_and_lattices_of_all_tiles():
    """More steps and commands than there is room for at first."""
    paper = SramConfig(banks=64, arrays=256, memory_bytes=1 << 26)
    nest = read_file(EXAMPLES / "mm.py")
    arrays = {name: np.broadcast_to(np.float32(1), (2048, 2048)) for name in "abc"}
    sizes = {"rows": 2048, "inner": 2048, "columns": 2048}
    lowered = generate(nest, plan(nest), Binding(sizes, {}, arrays), paper)
    assert lowered.tiling.tiles == paper.tiles
    opcodes = [each.opcode for _, each in disassemble(lowered.units[:4000])]
    assert opcodes.count(Opcode.LAYOUT) == 3
    assert lowered.commands > 2048 * 10


def test_a_lattice_may_fill_all_tiles_of_the_largest_machine():
    config = SramConfig(banks=64, arrays=256, bitlines=64, memory_bytes=1 << 22)
    nest = nest_of("a: int8[n], b: int8[n]", "for i in range(n): b[i] = a[i]")
    a = np.zeros(config.tiles * config.bitlines, np.int8)
    lowered = generate(nest, plan(nest), bind(nest, {"a": a}), config)
    assert lowered.tiling.tiles == config.tiles
    layouts = [each for _, each in disassemble(lowered.units) if each.opcode == Opcode.LAYOUT]
    assert {each.fields["tile_strides"] for each in layouts} == {(0, 0)}


def test_lattices_that_are_too_large_are_refused():
    nest = read_file(EXAMPLES / "vec_add.py")
    message = (
        "^banks x arrays = 2 x 4: must be at least 16, for a lattice of 1008 in 16 tiles "
        "of 64 bitlines$"
    )
    with pytest.raises(CapacityError, match=message):
        generate(nest, plan(nest), bind(nest, {"a": random(1000), "b": random(1000)}), SMALL)


def test_what_banks_do_not_compute_is_refused():
    nest = nest_of("a: float32[n], b: float32[n]", "for i in range(n): b[i] = sqrt(a[i])")
    with pytest.raises(WorkloadError, match=r"^sqrt of float32: banks have no operation for it$"):
        generate(nest, plan(nest), bind(nest, {"a": random(4)}), SMALL)


def test_formats_that_banks_lack_are_named():
    other = SramConfig(banks=2, arrays=4, bitlines=64, formats=("bfloat16",))
    nest = read_file(EXAMPLES / "vec_add.py")
    message = r"^\+ of float32: formats = \['bfloat16'\]: must have float32$"
    with pytest.raises(WorkloadError, match=message):
        generate(nest, plan(nest), bind(nest, {"a": random(4), "b": random(4)}), other)


def test_too_few_wordlines_are_refused():
    few = SramConfig(banks=2, arrays=4, wordlines=64, bitlines=64, memory_bytes=1 << 17)
    nest = read_file(EXAMPLES / "vec_add.py")
    message = (
        "^wordlines = 64: must be at least 128, for a step that needs 42 rows beside its operands$"
    )
    with pytest.raises(CapacityError, match=message):
        generate(nest, plan(nest), bind(nest, {"a": random(4), "b": random(4)}), few)

"""Tiles that a user names, that a rule finds, and that a search does."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import compile
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.compiler.sram_compute.tile_choice import BEST, search_tiles, tile_choice
from gnarl.sw.compiler.sram_compute.tiles import Tiling, best_tile, valid_tiles
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.python.source import read_file
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.lowered_nests import lowered

pytest.importorskip("egglog")

EXAMPLES = Path(__file__).parents[4] / "examples"

SHIFTED = """void shifted(int rows, int columns, const int a[rows][columns], int b[rows][columns]) {
    for (int i = 1; i < rows; i++)
        for (int j = 1; j < columns; j++)
            b[i][j] = a[i - 1][j] + a[i][j - 1];
}
"""

CONFIG = load_configuration("sram_b2", ["arrays=8"])


def shifted(rows: int, columns: int) -> LoopWorkload:
    chance = np.random.default_rng(rows + columns)
    values = {"a": chance.integers(-99, 99, (rows, columns)).astype(np.int32)}
    return LoopWorkload("shifted", read_source(SHIFTED, "shifted.c"), values)


@given(
    rows=st.integers(1, 16),
    columns=st.integers(1, 40),
    tile=st.sampled_from([None, BEST, "1x64", "2x32", "4x16", "8x8", "16x4"]),
)
@settings(max_examples=15, deadline=None)
def test_results_are_the_same_in_any_tile(rows: int, columns: int, tile: str | None):
    workload = shifted(rows, columns)
    with Device(CONFIG, "model") as device:
        program = device.compile(workload, place="memory", tile=tile, optimise=False)
        try:
            result = device.run(program, workload.inputs)
        except CapacityError as error:
            assert "tiles of 64 bitlines: there are 16" in str(error)
            return
        assert device.verify(result).bit_exact


@pytest.mark.parametrize("rows, columns", [(16, 16), (8, 64), (16, 48), (3, 200)])
def test_a_search_finds_no_more_cycles_than_the_rule(rows: int, columns: int):
    workload = shifted(rows, columns)
    steps = plan(workload.nest, streams=False)
    generator = CodeGenerator(workload.nest, steps, CONFIG.config)
    tilings = generator.tilings(workload.binding)
    assert len({each.tile for each in tilings}) == len(tilings) > 1
    assert all(each.tiles <= CONFIG.config.tiles for each in tilings)
    every = [generator.generate(workload.binding, each.tile).estimate for each in tilings]
    found = search_tiles(generator, workload.binding)
    assert found.estimate <= min(*every, generator.generate(workload.binding).estimate)


def test_the_named_tile_is_taken():
    workload = shifted(8, 32)
    tile = tile_choice("4x16", workload.nest, CONFIG.config)
    assert tile == (16, 4, 1)
    generator = CodeGenerator(workload.nest, plan(workload.nest, streams=False), CONFIG.config)
    assert generator.generate(workload.binding, tile).tiling == Tiling((32, 8, 1), (16, 4, 1))


@pytest.mark.parametrize(
    "text, problem",
    [
        ("16y4", "'16y4': must be best, or an extent for each dimension, as 16x16"),
        ("", "'': must be best, or an extent for each dimension, as 16x16"),
        ("0x64", "'0x64': must be best, or an extent for each dimension, as 16x16"),
        ("64", "'64': must be best, or have 2 extents: the nest has arrays of 2 dimensions"),
        (
            "1x1x64",
            "'1x1x64': must be best, or have 2 extents: the nest has arrays of 2 dimensions",
        ),
        ("3x16", "'3x16': must be best, or extents that are powers of two"),
        (
            "16x16",
            "'16x16': must be best, or have 64 elements, the bitlines of an array, not 256",
        ),
    ],
)
def test_what_is_no_tile_is_refused(text: str, problem: str):
    with pytest.raises(WorkloadError) as caught:
        compile(shifted(4, 4), CONFIG.config, trace=Trace(), tile=text)
    assert str(caught.value) == f"--tile {problem}"


def test_the_core_has_no_tiles():
    with pytest.raises(WorkloadError) as caught:
        compile(shifted(4, 4), CONFIG.config, trace=Trace(), place="core", tile="8x8")
    assert str(caught.value) == "--tile 8x8: only memory has tiles: must be left out"


def test_tiles_without_whole_lines_in_a_bank_are_refused_and_go_to_the_core():
    config = load_configuration("sram_b2").config
    with pytest.raises(CapacityError) as caught:
        lowered(shifted(4, 4), config, place="memory", tile="16x4")
    reason = "a tile of 16 x 4 with arrays = 2 has no rows of whole lines, 16 elements, in a bank"
    assert str(caught.value) == f"shifted.c:2:5: {reason}"
    texts: list[str] = []
    trace = Trace(write=lambda name, found: texts.append(found["txt"]), only=["place"])
    program = lowered(shifted(4, 4), config, trace, tile="16x4")
    assert len(program.launches[0].sections["instructions"])
    assert f"not in memory: {reason}, near " in texts[0]


@given(
    shape=st.tuples(st.integers(1, 6).map(lambda lines: 16 * lines), st.integers(1, 40)),
    moves=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    banks=st.sampled_from([1, 4]),
    line_cycles=st.sampled_from([1, 16, 80]),
)
def test_the_rule_takes_tiles_that_fit_and_keep_up_with_memory(
    shape, moves, banks: int, line_cycles: int
):
    tiles, most = valid_tiles(shape, 64, 16, 16), 16 * banks
    best = best_tile(tiles, np.array(shape), np.array(moves), banks, 16, line_cycles, 1, 4, 1, 16)
    chosen = tuple(tiles[best].tolist())
    needed = {tuple(each): Tiling(shape, tuple(each)).tiles for each in tiles.tolist()}
    assert prod(chosen) == 64
    assert needed[chosen] <= max(most, min(needed.values()))
    fits = [each for each in needed if needed[each] <= most]
    if fits and line_cycles == 80:
        # A run of 8 elements takes 66 cycles a line, one of 4 takes 130, in one bank.
        assert chosen[0] >= 8 or needed[chosen] >= 32 or all(each[0] < 8 for each in fits)


def test_the_rule_keeps_what_is_moved_most_inside_of_tiles():
    tiles = valid_tiles((512, 512), 64, 16, 16)
    for dimension in range(2):
        moves = np.array([1, 1])
        moves[dimension] = 9
        best = best_tile(tiles, np.array([32, 32]), moves, 4, 16, 1000, 1, 4, 1, 16)
        assert tiles[best][dimension] >= 32


def test_tiles_whose_rows_just_fill_the_arrays_of_a_bank_send_once():
    """The tiles at the ends of rows are no arrays of others then."""
    tiles = valid_tiles((512, 512), 256, 16, 16)
    for arrays, wanted in ((4, (64, 4)), (3, (256, 1))):
        best = best_tile(tiles, np.array([256, 32]), np.array([0, 1]), 2, arrays, 4, 1, 4, 1, 64)
        assert tuple(tiles[best].tolist()) == wanted


def test_the_rule_keeps_to_the_dimensions_of_the_array():
    shape = (64, 64, 1)
    tiles = valid_tiles(shape, 256, 16, 16)
    best = best_tile(tiles, np.array(shape), np.array([3, 0, 0]), 4, 16, 80, 1, 4, 2, 16)
    assert tiles[best][2] == 1


def test_the_rule_takes_square_tiles_where_arrays_send_bits():
    """Of nearly square ones, few elements of each go to another tile."""
    tiles = valid_tiles((512, 512), 256, 256, 16)
    for tree_bits in (1, 2):
        moves, shape = np.array([4, 4]), np.array([512, 512])
        best = best_tile(tiles, shape, moves, 64, 256, 1, 1, 4, tree_bits, 256)
        assert max(tiles[best]) <= 32


@pytest.mark.parametrize(
    "name, shapes",
    [
        ("mm", {"a": (16, 400), "b": (400, 32)}),
        ("gauss_elim", {"a": (300, 300), "b": (300, 1)}),
    ],
)
def test_loops_in_order_of_many_iterations_have_nearly_the_best_tile(
    name: str, shapes: dict[str, tuple[int, ...]]
):
    config = SramConfig(banks=16, arrays=64, memory_bytes=1 << 24, bandwidth=4, network_bits=64)
    nest = read_file(EXAMPLES / f"{name}.py")
    binding = bind(nest, {each: np.zeros(shape, np.float32) for each, shape in shapes.items()})
    generator = CodeGenerator(nest, plan(nest), config)
    estimates = {
        each.tile: generator.generate(binding, each.tile).estimate
        for each in generator.tilings(binding)
    }
    # Where fetches keep up just so, how commands lie in lines of memory makes some percent.
    assert generator.generate(binding).estimate <= 1.05 * min(estimates.values())

"""Copies between what stream engines compute: of random nests, followed command by command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import DataObject, data, integers, sampled_from, tuples

from bench.sram_compute_parts.workloads import workload
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.near.copy_schedule import unwritten_lines, with_copies
from gnarl.sw.compiler.sram_compute.near.lower import NearCode, near_code
from gnarl.sw.compiler.sram_compute.near.streams import BankArray
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload


def code_of(made: LoopWorkload, name: str = "sram_b2") -> NearCode:
    config = load_configuration(name).config
    assert isinstance(config, SramConfig)
    zeros = frozenset({*made.nest.results} - {*made.inputs})
    return near_code(made.nest, made.binding, config, reassociate=True, zeros=zeros)


def copied(code: NearCode, is_store: int) -> list[int]:
    """Lines of words, in order."""
    return [
        line
        for each in code.commands(dict.fromkeys(code.arrays, 0))
        if each.opcode == Opcode.COPY and each.fields["is_store"] == is_store
        for line in range(each.fields["words"], each.fields["words"] + each.fields["lines"])
    ]


def lines_in(code: NearCode, name: str) -> list[int]:
    """Lines of an array that must be loaded."""
    return [line for part in code.loads[name] for line in part]


def lines_of(code: NearCode, names: Sequence[str]) -> list[int]:
    placed = [code.arrays[name] for name in names]
    return [line for each in placed for line in range(each.line, each.line + each.lines)]


@settings(max_examples=6, deadline=None)
@given(data())
def test_random_nests_copy_each_line_once_at_most_and_compute_what_the_source_does(
    draw: DataObject,
):
    """Two statements, of which the second one reads or writes again what the first one has, on
    banks that hold something else."""
    columns = draw.draw(integers(1, 60))
    rows = draw.draw(integers(2, 9 if columns <= 16 else 4))
    low, high = draw.draw(integers(0, 1)), draw.draw(integers(0, 1))
    row = draw.draw(sampled_from(["i", "n - 1 - i"]))
    target = draw.draw(sampled_from(["b", "c"]))
    term = draw.draw(sampled_from(["a[i][j]", "b[i][j] + a[n - 1 - i][j]", "b[0][j]"]))
    if target == "b" and "b" in term:
        term = "a[i][j] - b[i][j]"
    inner = "for (int l = 0; l < 2; l++) " if draw.draw(sampled_from([0, 1])) else ""
    text = (
        "void f(int n, int m, int a[n][m], int b[n][m], int c[n][m]) {\n"
        f"  for (int i = {low}; i < n - {high}; i++)\n    for (int j = 0; j < m; j++)\n"
        f"      {inner}b[{row}][j] += a[i][j] * 3;\n"
        f"  for (int i = 0; i < n; i++)\n    for (int j = {low}; j < m; j++)\n"
        f"      {target}[i][j] = {term};\n}}"
    )
    chance = np.random.default_rng(1)
    names = draw.draw(sampled_from(["a", "ab"])) + ("c" if target == "b" else "")
    values = {
        name: chance.integers(-99, 99, (rows, columns), np.int64).astype(np.int32) for name in names
    }
    with TemporaryDirectory() as folder, Device("sram_b2", "model") as device:
        path = Path(folder) / "nest.c"
        path.write_text(text)
        made = LoopWorkload("f", file_workload(str(path), {}).nest, values)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gnarl.sw.runtime.sram_compute.executor.System", Used)
            result = device.run(device.compile(made, place="near"), values)
        assert device.verify(result).bit_exact
    code = code_of(made)
    loaded, stored = copied(code, 0), copied(code, 1)
    assert len({*loaded}) == len(loaded)
    needed = {code.arrays[name].line + at for name in code.loads for at in lines_in(code, name)}
    assert {*loaded} <= needed
    assert sorted(stored) == sorted(lines_of(code, code.results))


class Used(System):
    """Its arrays hold something."""

    def __init__(self, config: SramConfig) -> None:
        super().__init__(config)
        self.arrays.planes[:] = 0x5555_AAAA_3333_CCCC


def test_lines_that_are_written_whole_are_not_loaded():
    code = code_of(workload("conv2d", {"rows": 10, "columns": 60}, 0), "sram_b4")
    edges = [line for row in range(1, 9) for line in (4 * row, 4 * row + 3)]
    assert lines_in(code, "b") == sorted([0, 1, 2, 3, *edges, 36, 37, 38, 39])
    assert lines_in(code, "a") == [*range(40)]
    assert sorted(copied(code, 0)) == sorted(
        code.arrays[name].line + line for name in "ab" for line in lines_in(code, name)
    )


@given(data())
def test_unwritten_lines_have_words_that_are_not_written(draw: DataObject):
    shape = draw.draw(tuples(integers(1, 4), integers(1, 70)))
    firsts = [draw.draw(integers(0, size - 1)) for size in shape]
    box = [range(at, draw.draw(integers(at, size))) for at, size in zip(firsts, shape, strict=True)]
    placed = BankArray(shape, 0)
    found = unwritten_lines(placed, box)
    needed = {
        (row * placed.pitch + column) // 16
        for row in range(shape[0])
        for column in range(shape[1])
        if row not in box[0] or column not in box[1]
    }
    alone = {line for line in range(placed.lines) if {line - 1, line + 1} <= needed}
    assert {line for part in found for line in part} == needed | alone
    assert all(part for part in found)


def test_a_part_is_stored_while_the_next_one_runs():
    code = code_of(workload("mm", {"rows": 14, "columns": 128, "inner": 4}, 0), "sram_b4")
    commands = code.commands(dict.fromkeys(code.arrays, 0))
    nears = [place for place, each in enumerate(commands) if each.opcode == Opcode.NEAR]
    assert [commands[place].fields["first_z"] for place in nears] == [0, 1]
    between = commands[nears[0] + 1 : nears[1]]
    assert [(each.opcode, each.fields["lines"]) for each in between] == [(Opcode.COPY, 7 * 8)]


def test_copies_have_enough_lines_where_they_can_wait():
    """Eight NEAR that make four lines each. Before the first one come the lines that it needs, and
    16 more for the second one, as those before the fifth come for the sixth; there are 12 left."""
    arrays = {"a": BankArray((8, 64), 0), "b": BankArray((8, 64), 32)}
    commands: list[Command] = []
    for row in range(8):
        commands += [
            command(Opcode.STREAM, stream=at, base=64 * (8 * at + row), strides=(1, 0, 0))
            for at in range(2)
        ]
        commands += [
            command(Opcode.OPERATION, slot=0, operation=ExecuteOpcode.ADD, reads=1, stream=0),
            command(Opcode.OPERATION, slot=1, operation=ExecuteOpcode.STORE, stream=1),
            command(Opcode.NEAR, last=1, counts=(64, 1, 1)),
        ]
    found = with_copies(commands, arrays, {"a": [range(32)], "b": []}, ["b"], {"a": 100, "b": 200})
    assert [number for number, _ in found] == [*range(8), 7]
    copies, nears = [], 0
    for each in (each for _, commands in found for each in commands):
        nears += each.opcode == Opcode.NEAR
        if each.opcode == Opcode.COPY:
            fields = each.fields
            copies.append((nears, fields["is_store"], fields["line"], fields["lines"]))
    assert copies == [(0, 0, 100, 4), (0, 0, 104, 16), (4, 0, 120, 12), (4, 1, 200, 16)] + [
        (8, 1, 216, 16)
    ]

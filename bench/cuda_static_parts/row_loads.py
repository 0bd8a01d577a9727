"""Loads of table rows in a fused kernel's machine code: how many are in flight together, and what
comes before the first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.cuda_static_parts.control_flow import ControlFlow
from bench.cuda_static_parts.sass import Instruction, Location, disassemble
from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel, compile_kernel
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.source_parts import FusedKernel

_LOADS_ROW = re.compile(r"\bload_pack(_if)?[<(]")
"""A call of the one function that loads elements of tables from global memory."""
_RUNS_CODE = re.compile(r"\bCode(\d+)::run\(")


@dataclass(frozen=True)
class CodeLoads:
    """The loads of rows in one code, a branch of the kernel.

    rounds
        for each innermost loop that loads rows its bursts: loads that are issued one after the
        other before the first value of any of them is used. One burst: all are in flight together.
    predicated
        loads of rows that are executed under a predicate, of ``loads``.
    before_first
        instructions from the kernel's begin to the first load of a row, on the shortest way there.
    waits
        on that way, how often the warp waits for global memory before it can issue that load.
    """

    rounds: tuple[tuple[int, ...], ...]
    predicated: int
    loads: int
    before_first: int
    waits: int

    @property
    def splits(self) -> bool:
        """Whether some round's loads are not in flight together."""
        return any(len(bursts) > 1 for bursts in self.rounds)

    @property
    def in_flight(self) -> float:
        """Loads of a burst, on average."""
        bursts = [loads for each in self.rounds for loads in each]
        return sum(bursts) / len(bursts)


def compile_with_lines(program: EmbeddingProgram) -> CompiledKernel:
    """A program's kernel, for ``row_loads``."""
    source, arch = program.kernel.source, program.schedules.arch
    name = program.kernel.name
    return compile_kernel(source, arch, include=program.include, lines=True, kernel=name)


def row_loads(compiled: CompiledKernel, kernel: FusedKernel) -> dict[int, CodeLoads]:
    """All codes that load rows from global memory, by number.

    compiled
        the kernel, with the lines of its source.

    Raises ``DisassemblyError`` where it cannot be disassembled.
    """
    return loads_of_codes(disassemble(compiled.cubin, kernel.name), kernel)


def loads_of_codes(code: Sequence[Instruction], kernel: FusedKernel) -> dict[int, CodeLoads]:
    """The loads as from ``row_loads``, given the kernel's instructions.

    Now and then compilers take the places of one code's instructions for another's that are alike:
    their loads count as the former's, in rounds of their own.
    """
    flow = ControlFlow(code)
    of_code = {
        number: {at for at in instructions if loads_row(code[at])}
        for number, instructions in instructions_of_codes(code, kernel).items()
    }
    loops = sorted(flow.loops(), key=len)
    return {number: _code_loads(flow, loops, loads) for number, loads in of_code.items() if loads}


def instructions_of_codes(code: Sequence[Instruction], kernel: FusedKernel) -> dict[int, set[int]]:
    """Numbers of the instructions of each code, a branch of the kernel, by the code's number."""
    numbered = enumerate(kernel.source.splitlines(), 1)
    lines = {(kernel.name, number): line for number, line in numbered}
    of_code: dict[int, set[int]] = {}
    for at, each in enumerate(code):
        texts = (lines.get((place.file.name, place.line), "") for place in each.places)
        for called in filter(None, map(_RUNS_CODE.search, texts)):
            of_code.setdefault(int(called[1]), set()).add(at)
    return dict(sorted(of_code.items()))


def loads_row(instruction: Instruction) -> bool:
    """Whether it loads a row's elements from global memory."""
    return instruction.name == "LDG" and any(
        _LOADS_ROW.search(_text(place)) for place in instruction.places
    )


def _code_loads(flow: ControlFlow, loops: Iterable[list[int]], loads: set[int]) -> CodeLoads:
    rounds = []
    seen: set[int] = set()
    for loop in loops:  # inner ones first
        if (inside := loads & {*loop}) and not inside & seen:
            rounds.append(load_bursts(flow.code, loop, inside))
        seen |= inside
    if rest := loads - seen:
        rounds.append(load_bursts(flow.code, range(min(rest), max(rest) + 1), rest))
    path = flow.shortest_path(loads)
    return CodeLoads(
        tuple(rounds),
        predicated=sum(flow.code[at].predicate != "" for at in loads),
        loads=len(loads),
        before_first=len(path) - 1,
        waits=_waits([flow.code[at] for at in path]),
    )


def load_bursts(
    code: Sequence[Instruction], where: Iterable[int], loads: set[int]
) -> tuple[int, ...]:
    """Numbers of loads that are issued before a value of any of them is used."""
    bursts: list[int] = []
    pending: set[str] = set()
    for at in where:
        each = code[at]
        if pending & each.reads:
            pending = set()
        if at in loads:
            if pending:
                bursts[-1] += 1
            else:
                bursts.append(1)
            pending |= each.writes
        elif not each.predicate:
            pending -= each.writes
    return tuple(bursts)


def task_loop(flow: ControlFlow, rows: Set[int]) -> tuple[int, Set[int]] | None:
    """Begin and instructions of the outermost loop that has any of ``rows``."""
    loops = {head: {*loop} for head, loop in flow.loops_by_head().items() if rows & {*loop}}
    return max(loops.items(), key=lambda item: len(item[1]), default=None)


def waits_of_later_tasks(flow: ControlFlow, rows: Set[int], of_code: Set[int]) -> int:
    """How often a warp waits for global memory between one task's rows and the next one's first.

    The way is the shortest from any of ``rows``, through the begin of the outermost loop that loads
    rows, to one of ``of_code``. What was asked for before it has come; rows are not waited for. 0
    where there is no such loop.
    """
    found = task_loop(flow, rows)
    if found is None:
        return 0
    head, loop = found
    ends = [flow.shortest_path({head}, start=row) for row in sorted(rows & loop)]
    end = min(filter(None, ends), key=len)
    path = [*end[1:-1], *flow.shortest_path(of_code, start=head)]
    last = path[-1]
    return _waits([flow.code[at] for at in path if at not in rows or at == last])


def _waits(path: Sequence[Instruction]) -> int:
    """How often a warp that executes these instructions in order waits for global memory before it
    can issue the last."""
    waited = 0
    ready: dict[str, int] = {}  # registers of loads, and after how many waits they have come
    copied = 0  # the same of asynchronous copies to shared memory
    for each in path:
        waited = max([waited, *(ready.get(register, 0) for register in each.reads)])
        if each.name == "LDS":
            waited = max(waited, copied)
        came = waited
        if each.name in ("LDG", "ATOMG"):
            came += 1
        elif each.name == "LDGSTS":
            copied = waited + 1
        ready.update(dict.fromkeys(each.writes, came))
    return waited


@cache
def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def _text(place: Location) -> str:
    """The source's line; empty of one that was never a file, such as generated code."""
    lines = _lines(place.file)
    return lines[place.line - 1] if place.line <= len(lines) else ""

"""Programs on a machine that holds what it was given and what it has written, and nothing else: the
host loads what is missing, whatever ran before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.placement import own_places
from gnarl.sw.golden import einsum
from gnarl.sw.golden.words import to_words
from gnarl.sw.program.host_step import with_made
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.host_machine import HostMachine
from gnarl.sw.runtime.sam.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.models import compiled, words
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.programs import make_program
from tests.support.sam.remembering_port import RememberingPort

PROGRAMS = 40

_UNITS = {
    "root": 1,
    "fiberlookup": 8,
    "bitvectorlookup": 3,
    "bitvectorexpand": 3,
    "locate": 4,
    "repsiggen": 8,
    "repeat": 8,
    "intersect": 4,
    "union": 4,
    "arrayvals": 5,
    "alu": 5,
    "reduce_add": 3,
    "reduce_max": 2,
    "spaccumulator_1": 2,
    "spaccumulator_1_full0": 2,
    "crddrop": 2,
    "valdrop": 1,
    "fiberwrite": 3,
    "valwrite": 1,
} | {f"function_{name}": 1 for name in ("relu", "exp", "reciprocal", "sigmoid", "tanh", "sqrt")}


def fabric(array_words: int, memory: str = "shared") -> SamConfig:
    """A pool for most statements alone, whose arrays share a memory."""
    small = load_configuration("sam_fabric_ml", ()).config
    return replace(small, fabric=_UNITS, index_bits=32, array_words=array_words, memory=memory)


@dataclass(frozen=True)
class Compiled:
    """A case with its program, each statement a launch; ``before``: what launches were given."""

    case: ProgramCase
    program: Program
    before: dict[str, Array] = field(default_factory=dict)

    @cached_property
    def tensors(self) -> dict[str, Array]:
        return {name: Tensor.from_any(each) for name, each in self.case.tensors.items()}


def programs(seeds: range, config: SamConfig) -> list[Compiled]:
    """Those that fit the fabric: of any statements, and of many statements that take each other."""
    found = []
    for seed in seeds:
        case = make_program(seed, moving=seed % 3 == 0) if seed % 4 else long_program(seed)
        try:
            program = compiled(case.program, case.tensors, [], config=config)
        except (CapacityError, WorkloadError):
            continue
        found.append(Compiled(case, program))
    return found


def long_program(seed: int) -> ProgramCase:
    """Ten to thirty element-wise statements, each of two tensors: new ones, or the oldest that were
    taken least, so that many live at a time."""
    rng = random.Random(seed)
    shape = tuple(rng.choice([(4, 4), (2, 7), (1, 9), (3, 5)]))
    noise = np.random.default_rng(seed)
    tensors = {
        name: noise.integers(-4, 9, shape) * (noise.random(shape) < 0.6) * 1.0 for name in "AB"
    }
    formats = [rng.choice(["ds", "ss", "dd"]) for _ in range(2)]
    known, taken = ["A", "B"], dict.fromkeys("AB", 0)
    lines, options = [], [f"-f={n}:{each}" for n, each in zip("AB", formats, strict=True)]
    takes_oldest = rng.random() < 0.6
    for number in range(rng.randrange(10, 30)):
        is_early = takes_oldest and number < 9
        pool = known[:2] if is_early else sorted(known, key=taken.__getitem__)
        one, other = pool[0], rng.choice(known)
        for each in (one, other):
            taken[each] += 1
        name = f"t{number}"
        lines.append(f"{name}(i,j)={one}(i,j){rng.choice('+*-')}{other}(i,j)*0.5")
        options.append(f"-f={name}:{rng.choice(['ds', 'ss'])}")
        known.append(name)
        taken[name] = 0
    results = ",".join(name for name in known[2:] if not taken[name])
    text = f"{'; '.join(lines)} {' '.join(options)} -r={results}"
    return ProgramCase.of(parse_program(text), tensors)


def changed(tensors: Mapping[str, Array], rng: random.Random) -> dict[str, Array]:
    """Some of the tensors with other values, at the same places or at fewer."""
    found = dict(tensors)
    for name, array in tensors.items():
        tensor = Tensor.from_result(array)
        kept = np.arange(tensor.nnz)
        if rng.random() < 0.3 and tensor.nnz:
            kept = kept[: rng.randrange(tensor.nnz + 1)]
        if rng.random() < 0.4:
            values = tensor.values[kept] * rng.choice([1.0, -1.0, 0.5])
            found[name] = Tensor(tensor.shape, tensor.coordinates[kept], values)
    return found


def run(machine: HostMachine[Any], one: Compiled, rng: random.Random) -> None:
    """Runs all launches, some on other operands than were written; what each writes is what its
    kernel means."""
    executor, program = TARGET.executor, one.program
    known = with_made(program.steps, changed(one.tensors, rng), executor.made)
    for launch in program.launches:
        given = {spec.name: known[spec.name] for spec in launch.inputs}
        if rng.random() < 0.3:
            given |= {name: one.before[name] for name in given if name in one.before}
        elif rng.random() < 0.3:
            given = changed(given, rng)
        one.before.update(given)
        if rng.random() < 0.1:
            machine._left.clear()  # a host may know less than it could
        job = executor.job(program, launch, given)
        machine.load(job)
        machine.start()
        machine.wait()
        found = machine.read().outputs
        own = job.operands
        meant = einsum.evaluate(own.program, own.tensors, "float32", lanes=own.sum_lanes)
        for name, each in found.items():
            entries = Tensor.from_result(each)
            got = entries.coordinates, to_words(entries.values, "float32")
            shape = entries.shape
            np.testing.assert_array_equal(words(*got, shape), words(*meant[name], shape))
        known |= found
        known = with_made(program.steps, known, executor.made)


def check(seeds: range, array_words: int, runs: int, memory: str) -> int:
    """Runs programs in any order, again and again with some other inputs; how many there are."""
    config, rng = fabric(array_words, memory), random.Random(seeds.start)
    machine: HostMachine[Any] = HostMachine(
        TARGET.executor, config, RememberingPort(config, seeds.start)
    )
    known = programs(seeds, config)
    for _ in range(runs):
        one = rng.choice(known)
        for _ in range(rng.randrange(1, 4)):
            with noted(f"{memory}, {array_words}: {program_text(one.case.program)}"):
                try:
                    run(machine, one, rng)
                except (CapacityError, WorkloadError) as error:
                    assert "size 0" in str(error) or "array_words" in str(error)
    return len(known)


@pytest.mark.parametrize(
    ("array_words", "memory"),
    [(1024, "shared"), (32, "shared"), (16, "shared"), (1024, "lines"), (16, "lines")],
)
def test_programs_in_any_order(array_words: int, memory: str) -> None:
    assert check(range(PROGRAMS), array_words, 12, memory) >= 0.3 * PROGRAMS


def test_memories_are_drawn_that_are_too_small() -> None:
    """For all tensors at once, and for those that live at once, too."""
    ways = set()
    for array_words in (1024, 16):
        config = fabric(array_words)
        own = own_places(config)
        for one in programs(range(0, PROGRAMS, 4), config):
            placed = [each.sections["places"] for each in one.program.launches]
            if any(np.array_equal(each, own) for each in placed):
                ways.add("own")
                continue
            live = {base for each in placed for base, rows in each.tolist() if rows}
            tensors = {
                *one.program.inputs,
                *(t for each in one.program.launches for t in each.outputs),
            }
            ways.add("all" if len(live) >= len(tensors) * 2 else "again")
    assert ways == {"all", "again", "own"}

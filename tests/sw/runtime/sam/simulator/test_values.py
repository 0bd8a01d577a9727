"""The simulator against the model of whole streams, and against golden arithmetic."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.formats import FixedFormat, parse_format
from gnarl.hw.lib.functions.function import Function
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.block_types import ALU_OPERATIONS, FUNCTIONS
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.golden import functions as golden_functions
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.program.jit import elements, in_place
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.simulator import functions, layout, numbers
from gnarl.sw.runtime.sam.simulator.build import note_format
from gnarl.sw.runtime.sam.simulator.deadlock import DeadlockError
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sam.cases import word
from tests.support.sam.expressions import make
from tests.support.sam.simulated import like_model

SEEDS = range(60)
CASES = 3000


@pytest.mark.parametrize("seed", SEEDS)
def test_random_statements_on_random_machines(seed: int):
    """The same words are written as by the model, however the queues are and the memories."""
    rng = random.Random(seed)
    case = make(rng.randint(1, 4), rng.randint(1, 5), seed)
    changes = [
        "array_words=2048",
        "accumulator_words=1024",
        f"queue_depth={rng.choice([2, 3, 5, 32])}",
        f"skip={rng.choice(['true', 'false'])}",
        f"alu_stages={rng.choice([1, 1, 2, 5])}",
        f"stream_latency={rng.choice([1, 2])}",
        f"local_latency={rng.choice([1, 2])}",
        f"memory={rng.choice(['local', 'shared'])}",
        f"format={rng.choice(['float32', 'float16', 'bfloat16', 'float8_e4m3'])}",
    ]
    with Device(load_configuration("sam_fp32", changes), "model") as device:
        try:
            program = device.compile(case.text)
        except GnarlError as error:
            pytest.skip(str(error))
    inputs = [
        (block.name, name)
        for block in graph_of(program.launches[0].sections).blocks
        for name in block.inputs
    ]
    depths = {at: rng.choice([2, 3, 4, 9]) for at in inputs if rng.random() < 0.5}
    try:
        like_model(program, case.tensors, depths)
    except (DeadlockError, CycleLimitError):
        raise
    except GnarlError as error:
        pytest.skip(str(error))


@in_place
def _apply(records: np.ndarray, operation: int, left: np.ndarray, right: np.ndarray) -> None:
    s = elements(records)
    for place in range(len(left)):
        left[place] = numbers.compute(s, operation, left[place], right[place])


@in_place
def _function(records: np.ndarray, operation: int, at: int, words: np.ndarray) -> None:
    s = elements(records)
    for place in range(len(words)):
        words[place] = functions.function(s, operation, at, words[place])


def _machine(format: str) -> list[int]:
    """What a machine has of its format."""
    records = [0] * layout.ONCE
    note_format(records, format)
    return records


def _words(format: str, seed: int) -> np.ndarray:
    rng = random.Random(seed)
    return np.array([word(rng, format) for _ in range(CASES)], np.uint32)


FORMATS = (
    "float32",
    "float16",
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3",
    "fixed16.4",
    "fixed32.31",
)


@pytest.mark.parametrize("format", FORMATS)
def test_arithmetic_is_the_golden_one(format: str):
    unit = arithmetic(format)
    left, right = _words(format, 1), _words(format, 2)
    for number, name in enumerate(ALU_OPERATIONS):
        found = left.astype(np.int64)
        _apply(np.array(_machine(format)), number, found, right.astype(np.int64))
        wanted = unit.apply(Operation[name.upper()], unit.numbers(left), unit.numbers(right))
        np.testing.assert_array_equal(found, unit.words(wanted), name)


@pytest.mark.parametrize("format", FORMATS)
def test_functions_are_the_golden_ones(format: str):
    words, kind = _words(format, 3), parse_format(format)
    for number, name in enumerate(FUNCTIONS):
        records = _machine(format)
        if not isinstance(kind, FixedFormat):
            records += functions.numbers_of(name, kind)
        elif name != "relu":
            continue
        found = words.astype(np.int64)
        _function(np.array(records), number, layout.ONCE, found)
        wanted = golden_functions.apply(Function[name.upper()], words, format)
        np.testing.assert_array_equal(found, wanted, name)

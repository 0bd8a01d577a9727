"""Programs of commands on a device, and how they end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.sections import program_of
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.device import Device
from tests.support.sram_compute.programs import FIRST_LINE

MORE_LINES = 160
"""Lines of memory that programs here may read and write, from ``FIRST_LINE`` on."""


MOST_CYCLES = 30_000
"""Of a run: damage may make it long."""


class End(NamedTuple):
    """``memory``: the lines from ``FIRST_LINE`` on, as octets; empty where the run stopped, with
    ``error``."""

    memory: bytes
    cycles: int | None
    error: str


def program(config: SramConfig, units: np.ndarray, instructions: Any = None) -> Program:
    """Whose input and output are all lines that there are."""
    spec = TensorSpec("lines", (MORE_LINES, LINE_WORDS), "uint32")
    result = TensorSpec("results", (MORE_LINES, LINE_WORDS), "uint32")
    given, found = [(spec, FIRST_LINE)], [(result, FIRST_LINE)]
    return program_of(config, "random", given, found, units, instructions)


def run(device: Device[Any], given: Program, seed: int) -> Result[Any]:
    """A run on random lines."""
    return device.run(given, {"lines": random_lines(seed)}, max_cycles=MOST_CYCLES)


def random_lines(seed: int) -> np.ndarray:
    """uint32 [``MORE_LINES``, words of a line]."""
    return np.random.default_rng(seed).integers(0, 1 << 32, (MORE_LINES, LINE_WORDS), np.uint32)


def require_same(found: Result[Any], wanted: Result[Any]) -> None:
    """Memory, cycles and the counters that ``wanted`` has."""
    assert found.outputs["results"].tobytes() == wanted.outputs["results"].tobytes()
    assert found.cycles == wanted.cycles
    assert {name: found.counters[name] for name in wanted.counters} == wanted.counters


def ending(device: Device[Any], given: Program, seed: int, max_cycles: int = MOST_CYCLES) -> End:
    """The ending of a run on random lines. Errors are named as the model does it."""
    try:
        found = device.run(given, {"lines": random_lines(seed)}, max_cycles=max_cycles)
    except ProgramError as error:
        return End(b"", None, _cause(str(error)))
    return End(found.outputs["results"].tobytes(), found.cycles, "")


def _cause(text: str) -> str:
    """The cause that the machine itself names, not the model that it was compared with."""
    own = text.partition("; model ")[0]
    if "did not end within" in own:
        return "CYCLES"
    names = re.findall(r"[A-Z][A-Z_]{3,}", own)
    return names[0] if names else own


def endings(device: Device[Any], programs: Sequence[Program]) -> list[End]:
    return [ending(device, each, seed) for seed, each in enumerate(programs)]

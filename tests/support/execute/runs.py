"""Programs of the execute unit on its model, on a small memory."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.output import Output

LANES = 4


def ran(
    text: str, memory: np.ndarray | None = None, queued: Output | None = None, **constants: int
) -> execute.ExecuteRun:
    words = np.zeros(64, np.uint32) if memory is None else memory
    assembly = assemble(text, "test", constants)
    return execute.run(assembly.words(), words, LANES, queued, limit=1000)


def left_in(
    text: str, *results: str, queued: Output | None = None, memory: np.ndarray | None = None
) -> list[int]:
    """Scalar registers after a program, signed."""
    words = np.zeros(64, np.uint32) if memory is None else memory
    stores = [f"store {name}, [{48 + place}]" for place, name in enumerate(results)]
    ran("\n".join([text, *stores, "halt"]), words, queued)
    return words[48 : 48 + len(results)].view(np.int32).tolist()


def times_executed(text: str, **constants: int) -> list[int]:
    return ran(text, **constants).executed.tolist()

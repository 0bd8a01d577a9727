"""Execute sides of EmbeddingBag by hand, for the access programs of ``access_programs``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_assembly import Assembly, assemble
from gnarl.hw.tmu.access_program import AccessProgram
from tests.support.tmu.access_programs import ALL_END, ELEMENT, SEGMENT_END, VECTOR_END, Bags

_ZEROED = """
        add s1, zero, WORDS
        loop s1, start
        store zero, [s2 + OUT], s2 += 1
start:  add s2, zero, 0
"""

_EXECUTE_SIDES = {
    0: """
        jump_token
element:
        mul s1, deq, ROW            ; segment
        add s1, s1, deq             ; place in its vector
        load s2, [s1 + OUT]
        fadd s2, s2, deq
        store s2, [s1 + OUT]
        jump_token
all_end:
        halt
    """,
    1: """
        jump_token
element:
        mul s1, deq, ROW
        add s1, s1, deq
        lanes m1, deq
        load.v v1, [s1 + OUT], m1
        fadd.v v1, v1, deq
        store.v v1, [s1 + OUT], m1
        jump_token
all_end:
        halt
    """,
    3: """
        add s3, zero, WHOLE         ; vectors of a row, without its last
        add s4, zero, LAST          ; words of the last
        first_lanes m1, s4
        jump_token
vector_end:
        add s1, s2, 0               ; s2: the segment's row
        loop s3, last
        load.v v1, [s1 + OUT]
        fadd.v v1, v1, deq
        store.v v1, [s1 + OUT], s1 += LANES
last:   load.v v1, [s1 + OUT], m1
        fadd.v v1, v1, deq
        store.v v1, [s1 + OUT], m1
        jump_token
segment_end:
        add s2, s2, ROW
        jump_token
all_end:
        halt
    """,
}

_LABELS = {
    ELEMENT: "element",
    VECTOR_END: "vector_end",
    SEGMENT_END: "segment_end",
    ALL_END: "all_end",
}


def execute_side(bags: Bags, out: int, level: int, lanes: int) -> Assembly:
    """Sums each segment into a row from ``out`` on, which it first fills with zeros."""
    dimension = bags.table.shape[1]
    whole, last = divmod(dimension - 1, lanes)
    constants = {
        "OUT": out,
        "WORDS": (len(bags.offsets) - 1) * dimension,
        "ROW": dimension,
        "WHOLE": whole,
        "LAST": last + 1,
        "LANES": lanes,
    }
    return assemble(_ZEROED + _EXECUTE_SIDES[level], f"level {level}", constants)


def with_tokens(program: AccessProgram, labels: Mapping[str, int]) -> AccessProgram:
    """The access program, with the addresses of ``labels`` as its tokens."""
    tokens = {token: labels[name] for token, name in _LABELS.items() if name in labels}
    layers = tuple(
        replace(
            layer,
            events={
                event: tuple(
                    replace(step, token=tokens.get(step.token, step.token)) for step in steps
                )
                for event, steps in layer.events.items()
            },
        )
        for layer in program.layers
    )
    return AccessProgram(layers)


def sums(bags: Bags) -> npt.NDArray[np.uint32]:
    """The table's rows of each segment, added in float32, as words, in the order of the indices."""
    rows = bags.table.view(np.float32)
    result = np.zeros((len(bags.offsets) - 1, bags.table.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for segment, (first, end) in enumerate(
            zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        ):
            for place in bags.indices[first:end]:
                result[segment] += rows[place]
    return np.where(np.isnan(result), np.uint32(0x7FC0_0000), result.view(np.uint32))

"""The machines that are tested as a whole: few and small, but different in everything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import resolve
from gnarl.sw.compiler.sam.suite import SUITE

_VARIABLE = "SAM_MACHINE"


@dataclass(frozen=True)
class Sample:
    """A machine, the shapes of its expression's operands, and what that computes."""

    config: SamConfig
    shapes: dict[str, tuple[int, ...]]
    result: str
    golden: Callable[..., np.ndarray]


def machines() -> dict[str, Sample]:
    """Machines by name, with the graphs of their expressions."""
    return {
        "product": Sample(
            resolve(
                SamConfig(
                    expression=SUITE["matmul_ikj"],
                    array_words=128,
                    accumulator_words=32,
                    queue_depth=4,
                )
            ),
            {"B": (6, 7), "C": (7, 9)},
            "X",
            np.matmul,
        ),
        "sum": Sample(
            resolve(
                SamConfig(
                    expression="X(i,j)=B(i,j)+C(i,j)*D(i,j) -f=X:ss -f=B:ss -f=C:ds -f=D:ss",
                    format="fixed16.0",
                    index_bits=10,
                    array_words=64,
                    queue_depth=2,
                    alu_stages=2,
                    memory="shared",
                    memory_latency=5,
                    memory_bandwidth=2,
                    memory_in_flight=3,
                )
            ),
            {"B": (5, 6), "C": (5, 6), "D": (5, 6)},
            "X",
            lambda b, c, d: b + c * d,
        ),
        "pipelined": Sample(
            resolve(
                SamConfig(
                    expression=SUITE["mat_vecmul_ij"],
                    index_bits=9,
                    array_words=64,
                    queue_depth=4,
                    alu_stages=4,
                    local_latency=2,
                    stream_latency=2,
                )
            ),
            {"B": (7, 9), "c": (9,)},
            "x",
            np.matmul,
        ),
        "lines": Sample(
            resolve(
                SamConfig(
                    expression="X(i,j)=B(i,j)+C(i,j)*D(i,j) -f=X:ss -f=B:ss -f=C:ds -f=D:ss "
                    "-s=block(j,2)",
                    index_bits=8,
                    array_words=40,
                    arrays={"lookup_B_i": 6, "write_X_i_seg": 1},
                    queue_depth=3,
                    memory="lines",
                    memory_latency=6,
                    memory_in_flight=4,
                    memory_channels=2,
                    line_bytes=16,
                    line_cycles=3,
                    port_lines=2,
                )
            ),
            {"B": (5, 6), "C": (5, 6), "D": (5, 6)},
            "X",
            lambda b, c, d: b + c * d,
        ),
    }


def environment(name: str) -> dict[str, str]:
    """Variables that tell the tests inside the simulator which machine they test."""
    return {_VARIABLE: name}


def machine_under_test() -> Sample:
    """The machine under test, inside the simulator."""
    return machines()[os.environ[_VARIABLE]]

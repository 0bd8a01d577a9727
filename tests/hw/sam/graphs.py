"""Small graphs by hand, and machines of them in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.hw.sam.memory_map import memory_map
from gnarl.hw.sam.top import build
from gnarl.sw.compiler.sam.placement import own_places
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.machine.host import HostDriver
from gnarl.sw.runtime.sam.places import places_of
from tests.support.machines.amaranth_port import AmaranthPort, port_of


def graph(blocks: dict[str, str | tuple[str, dict[str, Any]]], edges: Sequence[str]) -> Graph:
    """``blocks``: type, or type and parameters, by name; ``edges``: ``"a.out_ref -> b.ref"``."""
    made = []
    for name, kind in blocks.items():
        type, parameters = (kind, {}) if isinstance(kind, str) else kind
        made.append(Block(name, type, parameters))
    found = []
    for edge in edges:
        source, target = edge.split(" -> ")
        found.append(Edge(*source.split("."), *target.split(".")))
    return Graph(tuple(made), tuple(found))


DENSE = ("fiberlookup", {"format": "dense"})

DOUBLE = graph(
    {"root": "root", "i": DENSE, "vals": "arrayvals", "add": "alu", "write": "valwrite"},
    [
        "root.out_ref -> i.ref",
        "i.out_ref -> vals.ref",
        "vals.out_val -> add.val0",
        "vals.out_val -> add.val1",
        "add.out_val -> write.val",
    ],
)
"""Twice each value of a dense vector."""

INTERSECTION = graph(
    {
        "root": "root",
        "b": ("fiberlookup", {"skip": True}),
        "c": ("fiberlookup", {"skip": True}),
        "both": "intersect",
        "bvals": "arrayvals",
        "cvals": "arrayvals",
        "mul": ("alu", {"op": "mul"}),
        "write": "fiberwrite",
        "vals": "valwrite",
    },
    [
        "root.out_ref -> b.ref",
        "root.out_ref -> c.ref",
        "b.out_crd -> both.crd0",
        "b.out_ref -> both.ref0",
        "c.out_crd -> both.crd1",
        "c.out_ref -> both.ref1",
        "both.out_crd -> write.crd",
        "both.out_ref0 -> bvals.ref",
        "both.out_ref1 -> cvals.ref",
        "bvals.out_val -> mul.val0",
        "cvals.out_val -> mul.val1",
        "mul.out_val -> vals.val",
    ],
)
"""Product of two compressed vectors, element by element."""

STUCK = graph(
    {
        "root": "root",
        "i": DENSE,
        "vals": "arrayvals",
        "sum": "reduce",
        "signal": "repsiggen",
        "sums": "repeat",
        "add": "alu",
        "write": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "i.out_crd -> signal.crd",
        "i.out_ref -> vals.ref",
        "vals.out_val -> sum.val",
        "sum.out_val -> sums.ref",
        "signal.out_repsig -> sums.repsig",
        "vals.out_val -> add.val0",
        "sums.out_ref -> add.val1",
        "add.out_val -> write.val",
    ],
)
"""Adds the sum of a vector to each of its values: these wait for the sum, and once they fill their
queue, the sum waits for them."""


CENTRED = graph(
    {
        "root": "root",
        "i": ("fiberlookup", {"format": "dense", "index": "i"}),
        "j": ("fiberlookup", {"format": "dense", "index": "j"}),
        "vals": "arrayvals",
        "max": ("reduce", {"op": "max"}),
        "signal": "repsiggen",
        "maxima": "repeat",
        "sub": ("alu", {"op": "sub"}),
        "write": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "i.out_ref -> j.ref",
        "j.out_crd -> signal.crd",
        "j.out_ref -> vals.ref",
        "vals.out_val -> max.val",
        "max.out_val -> maxima.ref",
        "signal.out_repsig -> maxima.repsig",
        "vals.out_val -> sub.val0",
        "maxima.out_ref -> sub.val1",
        "sub.out_val -> write.val",
    ],
)
"""Each row of a dense matrix without its maximum, for which a whole row has to wait."""


SUMMED_BY_CRD = graph(
    {
        "root": "root",
        "i": "fiberlookup",
        "j": "fiberlookup",
        "deal": "crdparallelizer",
        "vals0": "arrayvals",
        "vals1": "arrayvals",
        "sum0": "reduce",
        "sum1": "reduce",
        "add": "alu",
        "write": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "i.out_ref -> j.ref",
        "j.out_crd -> deal.crd",
        "j.out_ref -> deal.i",
        "deal.o0 -> vals0.ref",
        "deal.o1 -> vals1.ref",
        "vals0.out_val -> sum0.val",
        "vals1.out_val -> sum1.val",
        "sum0.out_val -> add.val0",
        "sum1.out_val -> add.val1",
        "add.out_val -> write.val",
    ],
)
"""Sums of the rows of a compressed matrix, as those of even and those of odd columns."""


def small(graph: Graph | None, **fields: Any) -> SamConfig:
    defaults = {
        "format": "fixed8.0",
        "index_bits": 8,
        "queue_depth": 4,
        "array_words": 32,
        "accumulator_words": 32,
    }
    return SamConfig(**(defaults | {"graph": graph} | fields))


def machine(config: SamConfig, stalls: float = 0.0) -> tuple[HostDriver, AmaranthPort]:
    port = port_of(config, build, stalls)
    driver = HostDriver(port, memory_map(config), config.digest)
    return (driver if config.memory == "local" else _Placed(driver, config)), port


class _Placed(HostDriver):
    """A driver that finds arrays by name where they share a memory: each has its own place."""

    def __init__(self, driver: HostDriver, config: SamConfig) -> None:
        vars(self).update(vars(driver))
        self._places = places_of(config, own_places(config))
        super().write_window("places", self._places.words.words)

    def write_window(self, name: str, words: npt.ArrayLike, row: int = 0) -> None:
        if name not in self._places.of:
            return super().write_window(name, words, row)
        array = np.asarray(words, np.uint32)
        rows = {name: Rows(np.arange(row, row + len(array)), array)}
        for window, moved in self._places.to_memory(rows).items():
            super().write_window(window, moved.words, int(moved.numbers[0]))
        return None

    def read_window(self, name: str, row: int, rows: int) -> np.ndarray:
        if name not in self._places.of:
            return super().read_window(name, row, rows)
        wanted = np.arange(row, row + rows)
        memory = {
            window: Rows(
                numbers, super(_Placed, self).read_window(window, numbers[0], len(numbers))
            )
            for window, numbers in self._places.rows({name: wanted}).items()
        }
        return self._places.from_memory(memory, [name])[name].among(wanted).words


def column(values: Sequence[int]) -> np.ndarray:
    """Rows of one word."""
    return np.array(values, np.uint32).reshape(-1, 1)


def load_vectors(driver: HostDriver, b: dict[int, int], c: dict[int, int]) -> None:
    """Operands of ``INTERSECTION``, from coordinates to values."""
    for name, vector in (("b", b), ("c", c)):
        driver.write_window(f"{name}_seg", np.array([[0, len(vector)]], np.uint32))
        if vector:
            driver.write_window(f"{name}_crd", column(list(vector)))
            driver.write_window(f"{name}vals_vals", column(list(vector.values())))


def product(driver: HostDriver) -> dict[int, int]:
    """Result of ``INTERSECTION``, from coordinates to values."""
    entries = driver.counters()["write_entries"]
    if entries == 0:
        return {}
    coordinates = driver.read_window("write_crd", 0, entries)[:, 0].tolist()
    return dict(
        zip(coordinates, driver.read_window("vals_vals", 0, entries)[:, 0].tolist(), strict=True)
    )

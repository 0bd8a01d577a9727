"""Seconds to fill and read a simulator's memories through its back door."""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from bench.lib.measurements import measure_all
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.hw.lib.machine.host import HostPort, HostSignature
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.host import HostDriver
from gnarl.sw.runtime.machine.simulator import Simulator

BENCH = "host.back_door"

MEBIBYTES = 256
LIMIT_S = 5.0
"""To write them."""

WORDS = (1, 4, 64)
"""Words of a row."""

_QUICK_MEBIBYTES = 4
_WORDS_A_MEBIBYTE = 1 << 18
_PORT_WORDS = 1 << 20
_DIGEST = 64 * "0"

METRICS = {
    "write_s": Metric("s", "lower"),
    "read_s": Metric("s", "lower"),
    "port_rate": Metric("MiB/s", "none"),
    "same": Metric("", "higher"),
}
"""``same``: the words read are those written, by the back door all, by the port the last rows."""
_HEADER = {
    "write_s": "write, s",
    "read_s": "read, s",
    "port_rate": "port, MiB/s",
    "same": "same words",
}


class _Cause(enum.IntEnum):
    NONE = 0


class HostMemory(wiring.Component):
    """A memory of the host's alone, in window ``memory``.

    Members: ``host``.
    """

    def __init__(self, rows: int, words: int) -> None:
        window = Window("memory", rows, words).in_shared_memory("memory")
        self.memory_map = MemoryMap([window], [], _Cause)
        super().__init__({"host": Out(HostSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.port = port = HostPort(self.memory_map, int(_DIGEST[:8], 16))
        m.submodules.memory = memory = SharedMemory(self.memory_map.window("memory"))
        wiring.connect(m, wiring.flipped(self.host), port.host)
        wiring.connect(m, port.windows.memory, memory.host)
        return m


@dataclass(frozen=True)
class Job:
    """A memory of so many MiB, in rows of ``words``."""

    mebibytes: int
    words: int
    seed: int

    @property
    def labels(self) -> dict[str, int]:
        return {"mebibytes": self.mebibytes, "words": self.words}

    def setting(self) -> Setting:
        return Setting("", (), "", self.seed)

    def __str__(self) -> str:
        return f"{self.mebibytes} MiB, {self.words} words a row"


def run(request: Request) -> tuple[list[Record], bool]:
    """Fills and reads a memory of each shape, one after the other."""
    mebibytes = _QUICK_MEBIBYTES if request.quick else MEBIBYTES
    jobs = [Job(mebibytes, words, request.seed) for words in WORDS]
    right = itemgetter("same")
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, right=right, fresh=True
    )


def measure(job: Job) -> dict[str, float | bool]:
    """Values of ``METRICS``."""
    count = job.mebibytes * _WORDS_A_MEBIBYTE
    design = HostMemory(count // job.words, job.words)
    words = np.random.default_rng(job.seed).integers(0, 1 << 32, count, np.uint32)
    table = words.reshape(-1, job.words)
    with Simulator(to_verilog(design, "memory"), "memory") as simulator:
        driver = HostDriver(simulator, design.memory_map, _DIGEST)
        begin = time.perf_counter()
        driver.write_window("memory", table)
        write_s = time.perf_counter() - begin
        begin = time.perf_counter()
        read_back = driver.read_window("memory", 0, len(table))
        read_s = time.perf_counter() - begin

        # All strides are powers of two, so the window's words lie at adjoining addresses.
        at = design.memory_map.window("memory").base + count - _PORT_WORDS
        last = simulator.read_words(at, _PORT_WORDS)
        begin = time.perf_counter()
        simulator.write_words(at, last)
        port_s = time.perf_counter() - begin
    return {
        "write_s": write_s,
        "read_s": read_s,
        "port_rate": _PORT_WORDS / _WORDS_A_MEBIBYTE / port_s,
        "same": np.array_equal(read_back, table) and np.array_equal(last, words[-_PORT_WORDS:]),
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each shape."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Memories": Cells(["MiB", "words a row", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The slowest write, against its limit."""
    table = rows(records)
    sizes = {labels[0] for labels in table}
    slowest = max(row["write_s"] for row in table.values())
    same = sum(row["same"] for row in table.values())
    return (
        f"{max(sizes)} MiB written in at most {slowest:.2f} s, limit {LIMIT_S:g} s "
        f"{mark(slowest <= LIMIT_S)}\nwords read are those written: {same} of {len(table)} memories"
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds to write and to read, by words a row."""
    table = rows(records)
    figure, (axes,) = subplots(1, (6, 4.2))
    bars(
        axes,
        {
            label: [row[metric] for row in table.values()]
            for label, metric in (("write", "write_s"), ("read", "read_s"))
        },
    )
    line_at(axes, LIMIT_S)
    axes.set_xticks(range(len(table)), [f"{words}" for _, words in table])
    axes.set(xlabel="words a row", ylabel="s")
    axes.legend(frameon=False)
    save(figure, path)

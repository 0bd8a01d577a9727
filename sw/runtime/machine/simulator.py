"""Verilated simulation of an accelerator in this process, driven through its host port.

``Simulator`` is a ``gnarl.sw.runtime.machine.host.Port`` with a ``BackDoor``. Its loops over words
and cycles are C++; Python does one call for a whole transfer or run. Building takes seconds to
minutes the first time, see ``gnarl.sw.runtime.machine.verilate``.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.sw.runtime.machine.host import HostError, Words
from gnarl.sw.runtime.machine.ram_access import RamContents, aligned
from gnarl.sw.runtime.machine.verilate import SHIM_FOLDER, Trace, build

_RESET = SHIM_FOLDER / "registered_reset.v"

_KEPT = ("rams.vlt", "arrays.vlt")
"""What Verilator doesn't optimise away."""

_CYCLES_A_CALL = 1 << 16
"""Longest stretch in C++, where an interrupt from the keyboard has to wait."""


class SimulationError(HostError):
    """A simulation that cannot go on: the design ended it, or its host port doesn't answer."""


class Simulator:
    """Simulates module ``top`` of ``verilog``, which has the host port of
    ``gnarl.hw.lib.machine.host``.

    The design is reset here. ``wave`` names a file to write, complete after ``close``: waves in FST
    format, or where it ends in ``.saif`` how often each signal changes; the design is built anew
    for either. Without it a register resets the design (``shim/registered_reset.v``). Raises
    ``BuildError`` as ``verilate.build`` does, ``OSError`` where the file cannot be written.

    Every method raises ``SimulationError`` once the design stops the simulation (``$finish``,
    ``$stop``, a failed assertion), where the port doesn't answer, and after ``close``.
    """

    def __init__(self, verilog: str, top: str, *, wave: Path | None = None) -> None:
        if wave is not None:
            wave.open("wb").close()
        shim = (SHIM_FOLDER / "host_port.cpp").read_text()
        self._top = self._path = top
        kept = "".join((SHIM_FOLDER / name).read_text() for name in _KEPT)
        trace: Trace = "" if wave is None else "saif" if wave.suffix == ".saif" else "fst"
        outermost = top
        if not trace:
            outermost = _RESET.stem
            verilog += _RESET.read_text().replace("TOP", top)
            self._path = f"{outermost}.{top}"
        library = build(verilog, outermost, shim, configuration=kept, trace=trace)
        self._library = _load(library)
        handle = self._library.simulator_open(str(wave).encode() if wave else None)
        self._live_handle = handle
        self._close = weakref.finalize(self, self._library.simulator_close, handle)
        self._rams: dict[str, RamContents] = {}

    def reset(self) -> None:
        """Two cycles: registers are reset, memories keep their contents."""
        self._library.simulator_reset(self._handle())
        self._require_running()

    def step(self, cycles: int) -> None:
        """Lets ``cycles`` clock cycles pass."""
        for start in range(0, cycles, _CYCLES_A_CALL):
            self._library.simulator_step(self._handle(), min(_CYCLES_A_CALL, cycles - start))
            self._require_running()

    def write_words(self, address: int, words: Words) -> None:
        """See ``Port``. One word a cycle."""
        words = np.ascontiguousarray(words, np.uint32)
        sent = self._library.simulator_write(self._handle(), address, words.ctypes.data, len(words))
        self._require_running()
        if sent != len(words):
            raise SimulationError(f"{self._top}: the host port stopped taking requests")

    def read_words(self, address: int, count: int) -> Words:
        """See ``Port``. One word a cycle, and three more cycles a call."""
        words = np.empty(count, np.uint32)
        received = self._library.simulator_read(self._handle(), address, words.ctypes.data, count)
        self._require_running()
        if received != count:
            raise SimulationError(f"{self._top}: the host port stopped answering")
        return words

    def poke(self, window: Window, row: int, words: Words) -> None:
        """See ``BackDoor``."""
        for entries, part in self._aligned(window, row, words):
            entries[:] = part

    def peek(self, window: Window, row: int, rows: int) -> Words:
        """See ``BackDoor``."""
        words = np.empty((rows, window.words), np.uint32)
        for entries, part in self._aligned(window, row, words):
            part[:] = entries
        return words

    def wait_idle(self, max_cycles: int) -> bool:
        """See ``Port``: false if the accelerator is still busy after ``max_cycles``."""
        end = self.cycles + max_cycles
        while True:
            left = max(0, end - self.cycles)
            idle = self._library.simulator_wait_idle(self._handle(), min(_CYCLES_A_CALL, left))
            self._require_running()
            if idle < 0:
                raise SimulationError(f"{self._top}: the host port stopped answering")
            if idle or self.cycles >= end:
                return bool(idle)

    @property
    def cycles(self) -> int:
        """Clock cycles simulated so far, those of resets included."""
        return self._library.simulator_cycles(self._handle())

    def close(self) -> None:
        """Ends the simulation, and completes the wave file. A second call is a no-op."""
        self._close()

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _handle(self) -> int:
        if not self._close.alive:
            raise SimulationError(f"{self._top}: the simulation was closed")
        return self._live_handle

    def _aligned(
        self, window: Window, row: int, words: Words
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._handle()
        assert window.rams is not None
        return aligned(window, window.rams, row, words, self._ram)

    def _ram(self, path: str) -> RamContents:
        """The RAM at an instance path below the top module."""
        if path not in self._rams:
            rows, bits, size = (ctypes.c_uint64() for _ in range(3))
            address = self._library.simulator_ram(
                self._handle(), f"{self._path}.{path}".encode(), rows, bits, size
            )
            if not address:
                raise SimulationError(f"{self._top}: no RAM at {path}")
            octets = ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))
            shape = rows.value, size.value
            self._rams[path] = RamContents(np.ctypeslib.as_array(octets, shape), bits.value)
        return self._rams[path]

    def _require_running(self) -> None:
        if not self._library.simulator_running(self._live_handle):
            raise SimulationError(
                f"{self._top}: the design stopped the simulation in cycle {self.cycles}"
            )


def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    handle, words = ctypes.c_void_p, ctypes.c_void_p
    address, count, status = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
    number = ctypes.POINTER(count)
    for name, result, arguments in (
        ("open", handle, [ctypes.c_char_p]),
        ("close", None, [handle]),
        ("reset", None, [handle]),
        ("running", status, [handle]),
        ("cycles", count, [handle]),
        ("step", None, [handle, count]),
        ("write", count, [handle, address, words, count]),
        ("read", count, [handle, address, words, count]),
        ("ram", ctypes.c_void_p, [handle, ctypes.c_char_p, number, number, number]),
        ("wait_idle", status, [handle, count]),
    ):
        function = getattr(library, f"simulator_{name}")
        function.restype, function.argtypes = result, arguments
    return library

"""Verilated simulation of a unit whose ports are plain numbers, driven from NumPy arrays."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gnarl.sw.runtime.machine.verilate import build

_CLOCK_PORTS = ("clk", "rst")


class Port(NamedTuple):
    """A port of a Verilog module; ``width`` in bits."""

    direction: str
    name: str
    width: int


def module_ports(verilog: str, top: str) -> list[Port]:
    """The ports of module ``top`` of Verilog as Amaranth writes it; ``ValueError`` if none."""
    module = re.search(rf"^module {re.escape(top)}\(.*?^endmodule", verilog, re.M | re.S)
    if module is None:
        raise ValueError(f"no module {top!r} in the Verilog text")
    found = re.findall(
        r"^\s*(input|output) (?:wire |reg |signed )*(?:\[(\d+):0\] )?(\w+);", module[0], re.M
    )
    return [Port(direction, name, int(high or 0) + 1) for direction, high, name in found]


class VectorSimulator:
    """Simulates module ``top``, whose ports, ``clk`` and ``rst`` apart, have at most 64 bits each.

    The design is reset once, here; its state lives on from one ``run`` to the next. ``wave`` names
    an FST file to write. Raises ``BuildError`` as ``verilate.build`` does, ``ValueError`` for a
    port that is too wide.
    """

    def __init__(self, verilog: str, top: str, *, wave: Path | None = None) -> None:
        ports = module_ports(verilog, top)
        clocked = any(port.name == "clk" for port in ports)
        ports = [port for port in ports if port.name not in _CLOCK_PORTS]
        for port in ports:
            if port.width > 64:
                raise ValueError(f"{top}.{port.name} has {port.width} bits: at most 64 will do")
        self._inputs = [port for port in ports if port.direction == "input"]
        self._outputs = [port for port in ports if port.direction == "output"]
        defines = [
            f"#define INPUTS(PORT) {' '.join(f'PORT({port.name})' for port in self._inputs)}",
            f"#define OUTPUTS(PORT) {' '.join(f'PORT({port.name})' for port in self._outputs)}",
            *(["#define CLOCKED"] if clocked else []),
        ]
        shim = "\n".join([*defines, Path(__file__).with_suffix(".cpp").read_text()])
        path = build(verilog, top, shim, trace="" if wave is None else "fst")
        self._library = _load(path)
        self._handle = self._library.simulator_open(str(wave).encode() if wave else None)

    def run(
        self, inputs: Mapping[str, npt.ArrayLike], *, cycles: int | None = None
    ) -> dict[str, npt.NDArray[np.uint64]]:
        """Runs one cycle for each value; each output's bits, uint64 [cycles], by port name.

        ``inputs`` gives bits (negative integers: two's complement) for every input port, as arrays
        of one length, or single numbers that are held. ``cycles`` defaults to that length. Outputs
        are those before the clock's edge that ends the cycle: a port with a latency of n cycles
        answers n entries later. Raises ``ValueError`` where names, lengths or values don't fit.
        """
        names = [port.name for port in self._inputs]
        if sorted(inputs) != sorted(names):
            raise ValueError(f"inputs are {', '.join(names)}; given: {', '.join(inputs)}")
        arrays = {name: np.asarray(inputs[name]) for name in names}
        lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
        if cycles is None:
            if not lengths:
                raise ValueError("every input is a single number: say how many cycles")
            cycles = next(iter(lengths.values()))
        for name, length in lengths.items():
            if length != cycles:
                raise ValueError(f"input {name} has {length} values for {cycles} cycles")
        columns = [_bits(port, arrays[port.name], cycles) for port in self._inputs]
        results = [np.empty(cycles, np.uint64) for _ in self._outputs]
        self._library.simulator_run(self._handle, cycles, _pointers(columns), _pointers(results))
        return {port.name: result for port, result in zip(self._outputs, results, strict=True)}

    def cycle(self, inputs: Sequence[int]) -> list[int]:
        """Runs a cycle, quicker than ``run`` does: bits of the ports of ``input_names``, in their
        order, unchecked; gives those of ``output_names``."""
        given, found, pointers = self._cells
        given[:] = inputs
        self._library.simulator_run(self._handle, 1, *pointers)
        return found.tolist()

    @property
    def input_names(self) -> list[str]:
        return [port.name for port in self._inputs]

    @property
    def output_names(self) -> list[str]:
        return [port.name for port in self._outputs]

    @cached_property
    def _cells(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], list[Any]]:
        """A word for each input and each output, and what points to them."""
        cells = [np.zeros(len(ports), np.uint64) for ports in (self._inputs, self._outputs)]
        return cells[0], cells[1], [_pointers([*words[:, None]]) for words in cells]

    def close(self) -> None:
        """Ends the simulation, and completes the wave file."""
        if self._handle:
            self._library.simulator_close(self._handle)
            self._handle = None

    def __enter__(self) -> VectorSimulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    library.simulator_open.restype = ctypes.c_void_p
    library.simulator_open.argtypes = [ctypes.c_char_p]
    library.simulator_close.argtypes = [ctypes.c_void_p]
    pointers = ctypes.POINTER(ctypes.c_void_p)
    library.simulator_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, pointers, pointers]
    return library


def _bits(port: Port, values: np.ndarray, cycles: int) -> npt.NDArray[np.uint64]:
    """One column of uint64; ``ValueError`` for values that the port cannot hold."""
    if values.dtype.kind not in "iub":
        raise ValueError(f"input {port.name} must be whole numbers, not {values.dtype}")
    low = -(1 << (port.width - 1)) if values.dtype.kind == "i" else 0
    outside = (values < low) | (values > (1 << port.width) - 1)
    if np.any(outside):
        value = values[outside].flat[0] if values.ndim else values
        raise ValueError(f"input {port.name} has {port.width} bits: {value} doesn't fit")
    mask = np.uint64((1 << port.width) - 1)
    return np.ascontiguousarray(np.broadcast_to(values.astype(np.uint64) & mask, (cycles,)))


def _pointers(columns: list[npt.NDArray[np.uint64]]) -> Any:
    return (ctypes.c_void_p * max(1, len(columns)))(*(column.ctypes.data for column in columns))

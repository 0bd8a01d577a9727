"""Testbenches of Amaranth's simulator on Verilator, which is worth its build for large components:
a cycle takes a tenth of a millisecond instead of several."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, ShapeCastable, Signal, Value, ValueCastable
from amaranth.hdl._ast import Operator, Slice
from amaranth.lib import wiring

from gnarl.hw.lib.instanced import ports_of
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import build
from tests.support.machines.kept_simulators import Testbench
from tests.support.machines.vectors import module_ports

TOP = "bench"
"""The module's name."""


class VerilatedBench:
    """Runs testbenches against ``component``, each from its power-up on.

    They may ``set`` inputs, ``get`` ports, parts of ports included, and wait for ``tick``.
    """

    def __init__(self, component: wiring.Component) -> None:
        self.component: Any = component
        self.verilog = to_verilog(component, TOP)
        ports = [(name, Value.cast(value)) for name, value, _ in ports_of(component)]
        # Verilator writes two underscores in a row so.
        listed = " ".join(f"PORT({name.replace('__', '___05F')})" for name, _ in ports)
        defines = [f"#define PORTS(PORT) {listed}"]
        if any(port.name == "clk" for port in module_ports(self.verilog, TOP)):
            defines.append("#define CLOCKED")
        shim = "\n".join([*defines, Path(__file__).with_suffix(".cpp").read_text()])
        self._library = _load(build(self.verilog, TOP, shim))
        self._ports = {id(signal): place for place, (_, signal) in enumerate(ports)}

    def run(self, testbench: Testbench) -> None:
        """Runs to the end of ``testbench``."""
        handle = self._library.bench_open()
        try:
            context = _Context(self._library, handle, self._ports)
            running = testbench(context).__await__()
            while next(running, _END) is not _END:
                self._library.bench_tick(handle)
        finally:
            self._library.bench_close(handle)


_END = object()


class _Tick:
    def __await__(self) -> Generator[None]:
        yield


class _Context:
    """What a testbench is given."""

    def __init__(self, library: Any, handle: int, ports: Mapping[int, int]) -> None:
        self._settle = partial(library.bench_settle, handle)
        addresses, sizes = (ctypes.c_void_p * len(ports))(), (ctypes.c_uint64 * len(ports))()
        library.bench_ports(handle, addresses, sizes)
        octets = [
            memoryview((ctypes.c_ubyte * size).from_address(address or 0)).cast("B")
            for address, size in zip(addresses, sizes, strict=True)
        ]
        self._octets = {signal: octets[place] for signal, place in ports.items()}
        self._is_settled = False

    def set(self, expression: Any, value: Any) -> None:
        if isinstance(expression, ValueCastable):
            shape = expression.shape()
            if isinstance(shape, ShapeCastable):
                value = shape.const(value)
        octets, first, width = self._part(Value.cast(expression))
        mask = (1 << width) - 1 << first
        bits = int.from_bytes(octets, "little") & ~mask
        bits |= Const.cast(value).value << first & mask
        octets[:] = bits.to_bytes(len(octets), "little")
        self._is_settled = False

    def get(self, expression: Any) -> Any:
        if not self._is_settled:
            self._settle()
            self._is_settled = True
        value = Value.cast(expression)
        octets, first, width = self._part(value)
        bits = int.from_bytes(octets, "little") >> first & (1 << width) - 1
        if value.shape().signed and bits >> width - 1:
            bits -= 1 << width
        if isinstance(expression, ValueCastable):
            shape = expression.shape()
            if isinstance(shape, ShapeCastable):
                return shape.from_bits(bits)
        return bits

    def tick(self) -> _Tick:
        """The clock's next edge."""
        self._is_settled = False
        return _Tick()

    def _part(self, value: Value) -> tuple[memoryview, int, int]:
        """Octets of a port, and which bits of it are ``value``."""
        first, width = 0, len(value)
        while not isinstance(value, Signal):
            if isinstance(value, Slice):
                first += value.start
                value = value.value
            elif isinstance(value, Operator) and value.operator in ("u", "s"):
                (value,) = value.operands
            else:
                raise TypeError(f"{value!r} is no part of a port")
        return self._octets[id(value)], first, width


def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    library.bench_open.restype = ctypes.c_void_p
    for name in ("close", "settle", "tick"):
        getattr(library, f"bench_{name}").argtypes = [ctypes.c_void_p]
    library.bench_ports.argtypes = [ctypes.c_void_p] * 3
    return library

"""Launches of machine code on the CPU."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.cuda_static_parts.machine.cubin import Module
from bench.cuda_static_parts.machine.decode import decode
from bench.cuda_static_parts.machine.records import FOLDER
from bench.cuda_static_parts.sass import Instruction, disassemble
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.cuda.emulation.kernels import GlobalArray
from gnarl.sw.runtime.machine.tools import cxx, first_complaint, run_tool

_FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fwrapv", "-fPIC")
_LIBRARY = "machine.so"

_STACK_POINTER, _LOCAL_BYTES = 0x28, 1024
_BLOCK_THREADS, _GRID = 0x0, 0xC
_BANKS = 5


class MachineCodeError(GnarlError):
    """Machine code does what is not known here, or what it may not."""


@dataclass(frozen=True)
class Bursts:
    """Marked loads that were on their way together, from the first to the first use of any of them;
    those that load for no thread are not counted.

    bursts, loads
        how often; such loads, in all.
    useful_bytes, whole_bytes
        what they load; what they would, if all lanes took part.
    """

    bursts: int = 0
    loads: int = 0
    useful_bytes: int = 0
    whole_bytes: int = 0


@dataclass(frozen=True)
class Counts:
    """What a launch executed, by instruction.

    executed
        int64 [instructions]: by warps, whether a predicate held or not.
    active, effective
        int64 [instructions]: by threads of those warps; by those for which the predicate held.
    """

    executed: np.ndarray
    active: np.ndarray
    effective: np.ndarray
    bursts: Bursts


class _Region(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("writable", ctypes.c_uint64),
    ]


_POINTERS = (
    *("code", "pool", "banks", "bank_bytes", "regions", "statistics", "marks", "bursts"),
    "message",
)
_NUMBERS = (
    *("instructions", "region_count", "grid", "block", "rows", "uniform", "shared_bytes"),
    *("multiprocessors", "message_bytes"),
)


class _Launch(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_uint32) for name in _NUMBERS),
    ]


class MachineCode:
    """A kernel of a module, with the interface of ``EmulatedKernels``.

    multiprocessors
        over which blocks are spread.
    code
        the kernel's instructions, where they have been disassembled before.
    marked
        numbers of the loads that ``Bursts`` are of.

    ``counts`` has what the last launch executed.
    """

    def __init__(
        self,
        cubin: bytes,
        kernel: str,
        *,
        multiprocessors: int,
        code: Sequence[Instruction] | None = None,
        marked: Set[int] = frozenset(),
    ) -> None:
        self.name = kernel
        self.code = disassemble(cubin, kernel) if code is None else code
        none = np.zeros(0, np.int64)
        self.counts = Counts(none, none, none, Bursts())
        self._module = Module(cubin)
        self._decoded = decode(self.code)
        self._marks = _marks(self.code, marked) if marked else None
        self._multiprocessors = multiprocessors
        self._run = _library().gnarl_run_machine_code
        self._run.restype = ctypes.c_bool
        self._variables = {
            name: np.frombuffer(self._module.section(name), np.uint8).copy()
            for name in (".nv.global", ".nv.global.init")
        }

    def launch(
        self,
        kernel: str,
        grid: int,
        block: int,
        arguments: Sequence[GlobalArray | np.generic | np.ndarray],
        memory: Sequence[GlobalArray] = (),
        shared_bytes: int = 0,
    ) -> Counts:
        """Runs all blocks at the same time. ``arguments``, ``memory`` as ``EmulatedKernels`` has
        them. Raises ``MachineCodeError``."""
        assert kernel == self.name, kernel
        arrays = [each for each in arguments if isinstance(each, GlobalArray)]
        regions = self._regions([*arrays, *memory])
        banks = self._banks(grid, block, arguments)
        sizes = (ctypes.c_uint32 * _BANKS)(*map(len, banks))
        starts = (ctypes.c_void_p * _BANKS)(*(bank.ctypes.data for bank in banks))
        pool = self._pool(banks)
        statistics = np.zeros((len(self.code), 3), np.int64)
        bursts = np.zeros(4, np.int64)
        message = ctypes.create_string_buffer(256)
        request = _Launch(
            self._decoded.instructions.ctypes.data,
            pool.ctypes.data,
            ctypes.addressof(starts),
            ctypes.addressof(sizes),
            ctypes.addressof(regions),
            statistics.ctypes.data,
            0 if self._marks is None else self._marks.ctypes.data,
            bursts.ctypes.data,
            ctypes.addressof(message),
            len(self.code),
            len(regions),
            grid,
            block,
            self._decoded.rows,
            self._decoded.uniform,
            shared_bytes,
            self._multiprocessors,
            len(message),
        )
        if not self._run(ctypes.byref(request)):
            raise MachineCodeError(f"{self.name}: {self._explained(message.value.decode())}")
        executed, active, effective = statistics.T
        self.counts = Counts(executed, active, effective, Bursts(*bursts.tolist()))
        return self.counts

    def _explained(self, text: str) -> str:
        at, _, what = text.partition(" ")
        number = int(at)
        if number in self._decoded.unknown:
            return f"instruction {number}: {self._decoded.unknown[number]}"
        each = self.code[number]
        return f"instruction {number}: {each.opcode} {each.operands}: {what}"

    def _regions(self, arrays: Sequence[GlobalArray]) -> ctypes.Array[_Region]:
        found = {
            each.address: (each.address, each.array.nbytes, each.writable)
            for each in arrays
            if each.array.nbytes
        }
        for values in self._variables.values():
            if len(values):
                found[values.ctypes.data] = (values.ctypes.data, len(values), True)
        return (_Region * len(found))(*(_Region(*found[start]) for start in sorted(found)))

    def _banks(
        self, grid: int, block: int, arguments: Sequence[GlobalArray | np.generic | np.ndarray]
    ) -> list[np.ndarray]:
        names = [f".nv.constant{number}" for number in range(_BANKS)]
        names[0] += f".{self.name}"
        sections = [self._module.section(name) for name in names]
        banks = [np.frombuffer(section, np.uint8).copy() for section in sections]
        for place, number in (
            (_BLOCK_THREADS, block),
            (_GRID, grid),
            (_STACK_POINTER, _LOCAL_BYTES),
        ):
            _put(banks[0], place, np.uint32(number))
        begin, offsets = self._module.parameters(self.name)
        for at, argument in enumerate(arguments):
            value = np.uint64(argument.address) if isinstance(argument, GlobalArray) else argument
            _put(banks[0], begin + offsets[at], value)
        for name, bank in zip(names, banks, strict=True):
            for relocation in self._module.relocations(name):
                if (variables := self._variables.get(relocation.section)) is not None:
                    address = variables.ctypes.data + relocation.offset_in
                    _put(bank, relocation.offset, np.uint64(address))
        return banks

    def _pool(self, banks: Sequence[np.ndarray]) -> np.ndarray:
        values = []
        for each in self._decoded.pool:
            if isinstance(each, int):
                values.append(each)
            else:
                bank, offset = each
                content = banks[bank][offset : offset + 4].tobytes()
                values.append(int.from_bytes(content, "little"))
        return np.repeat(np.array(values, np.uint32)[:, None], 32, axis=1)


def _put(bank: np.ndarray, place: int, value: np.generic | np.ndarray) -> None:
    content = np.frombuffer(value.tobytes(), np.uint8)
    bank[place : place + len(content)] = content


def _marks(code: Sequence[Instruction], marked: Set[int]) -> np.ndarray:
    """For each instruction the registers that it reads and, of a marked one, writes, as bits."""
    marks = np.zeros((len(code), 2, 4), np.uint64)
    for at, each in enumerate(code):
        for row, registers in enumerate((each.reads, each.writes if at in marked else ())):
            marks[at, row] = _bits(registers)
    return marks


def _bits(registers: Iterable[str]) -> list[int]:
    numbers = [int(name[1:]) for name in registers if name.startswith("R")]
    bits = sum(1 << number for number in numbers)
    return [bits >> 64 * part & (1 << 64) - 1 for part in range(4)]


@functools.cache
def _library() -> ctypes.CDLL:
    sources = sorted(FOLDER.glob("*.cpp"))
    version = _compile(["--version"], FOLDER)

    def make(folder: Path) -> None:
        _compile([*_FLAGS, "-shared", *map(str, sources), "-o", _LIBRARY], folder)

    texts = [path.read_text(encoding="utf-8") for path in [*sources, *sorted(FOLDER.glob("*.h"))]]
    return ctypes.CDLL(
        str(cached("machine", digest_of(*texts, *_FLAGS, version), make, (_LIBRARY,))[0])
    )


def _compile(arguments: Sequence[str], folder: Path) -> str:
    command = [*cxx(), *arguments]
    done = run_tool(command, folder, "machine code is run by it", MachineCodeError)
    if done.returncode:
        raise MachineCodeError(f"machine code: {command[0]} failed: {first_complaint(done)}")
    return done.stdout

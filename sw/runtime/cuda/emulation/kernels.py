"""CUDA kernels on the CPU, in an emulation that checks what a GPU does not report.

The host's C++ compiler builds the kernels' own source with ``simt/simt.h`` for the language and the
files beside it for the machine: blocks run one after another, the threads of a block as fibers that
wait for each other at barriers, all in one thread of the operating system and in an order that
depends on nothing but the kernel. Every load and store is seen before it happens, since the
compiler's thread sanitizer inserts a call for each.

Refused, with the thread and the source line: accesses outside the launch's arrays, writes to those
that are not writable, misaligned accesses, reads of shared memory that the block has not written,
races in shared memory (as CUDA has it, only barriers and ``__syncwarp`` order memory), barriers
and warp operations that can never complete, shuffles from lanes that don't take part, ``__trap``,
what faults on a CPU, and polling: threads take turns only where they wait at a barrier.
"""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.program.cache import cached, digest_of, file_texts
from gnarl.sw.program.paths import SIMT, files_in
from gnarl.sw.runtime.machine.tools import cxx, first_complaint, run_tool

_RUNTIME_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden")
# -O1 keeps accesses as the source has them: higher levels merge neighbours into wider ones.
_KERNEL_FLAGS = (
    *("-std=c++17", "-O1", "-g1", "-fPIC", "-w", "-x", "c++", "-fno-exceptions"),
    *("-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv"),
    *("-fsanitize=thread", "-fsanitize=alignment", "-fno-sanitize-recover=alignment"),
)
# Volatile accesses call functions of their own; entries and exits of functions call none.
_SANITIZER_PARAMETERS = ("tsan-instrument-func-entry-exit=0", "tsan-distinguish-volatile=1")
_PARAMETER_OPTIONS = {"gcc": ("--param", ""), "clang": ("-mllvm", "-")}
_LIBRARY = "kernels.so"

# Machines are a library's static data, and handlers of signals the process's.
_ALONE = threading.Lock()

MAX_BLOCK = 1024
"""Threads of a block."""
MAX_SHARED_BYTES = 256 << 10
MAX_ARGUMENTS = 16


class EmulationError(GnarlError):
    """A kernel that does not compile, cannot be launched, or does what a GPU need not notice."""


@dataclass(frozen=True)
class GlobalArray:
    """Global memory that a kernel may touch; ``array`` is C-contiguous."""

    name: str
    array: np.ndarray
    writable: bool = False

    @property
    def address(self) -> int:
        return self.array.ctypes.data


@dataclass(frozen=True)
class LaunchStatistics:
    """What the threads of a launch did. The compiler may merge accesses or split wide ones.

    blocks, threads
        that ran.
    global_loads, global_stores, shared_loads, shared_stores
        plain accesses that the compiled kernel makes.
    global_load_bytes, global_store_bytes
        their bytes.
    atomics
        on either memory.
    barriers
        of whole blocks.
    warp_operations
        of whole masks, ``__syncwarp`` included.
    """

    blocks: int
    threads: int
    global_loads: int
    global_stores: int
    global_load_bytes: int
    global_store_bytes: int
    shared_loads: int
    shared_stores: int
    atomics: int
    barriers: int
    warp_operations: int


class _Region(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("writable", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
    ]


class _Statistics(ctypes.Structure):
    _fields_ = [(field.name, ctypes.c_uint64) for field in fields(LaunchStatistics)]


class EmulatedKernels:
    """The kernels of a CUDA C++ source: functions ``extern "C" __global__ void name(...)``.

    Their parameters are pointers and integers of 32 or 64 bits. Shared memory is what the launch
    asks for, declared as ``extern __shared__ unsigned char gnarl_shared_memory[]``. ``include``
    lists folders of headers; ``defines`` are macros; ``name`` stands for the source in messages.
    Built once and cached. Raises ``EmulationError`` with the compiler's first complaint.
    """

    def __init__(
        self,
        source: str,
        include: Sequence[Path] = (),
        defines: Mapping[str, str] = {},
        *,
        name: str = "kernel",
    ) -> None:
        self.name = name
        self._path = _build(source, tuple(include), defines, name)
        self._library = ctypes.CDLL(str(self._path))
        self._launch = self._library.gnarl_emulation_launch
        self._launch.restype = ctypes.c_bool

    def launch(
        self,
        kernel: str,
        grid: int,
        block: int,
        arguments: Sequence[GlobalArray | np.integer | np.ndarray],
        memory: Sequence[GlobalArray] = (),
        shared_bytes: int = 0,
    ) -> LaunchStatistics:
        """Runs ``kernel`` with ``grid`` blocks of ``block`` threads, and waits for it.

        ``arguments`` are its parameters in order, an array standing for the address of its data; a
        NumPy array for a structure, whose address kernels are given in the emulation;
        ``memory`` lists what it reaches by addresses that lie in other arrays. Raises
        ``EmulationError`` for the first thing that goes wrong: the arrays then hold what was
        written before, and further launches are not affected.
        """
        place = f"{self.name}: {kernel}"
        _check_shape(place, grid, block, shared_bytes, len(arguments))
        function = getattr(self._library, kernel, None)
        if function is None:
            raise EmulationError(f"{self.name}: has no kernel named {kernel}")
        values = [
            GlobalArray(f"argument {at}", each) if isinstance(each, np.ndarray) else each
            for at, each in enumerate(arguments)
        ]
        arrays = [value for value in values if isinstance(value, GlobalArray)]
        regions = _regions(place, [*arrays, *memory])
        slots = (ctypes.c_uint64 * MAX_ARGUMENTS)(
            *(_slot(place, index, value) for index, value in enumerate(values))
        )
        statistics = _Statistics()
        message = ctypes.create_string_buffer(1024)
        with _ALONE:
            ended = self._launch(
                ctypes.cast(function, ctypes.c_void_p),
                ctypes.c_uint32(grid),
                ctypes.c_uint32(block),
                slots,
                regions,
                ctypes.c_size_t(len(regions)),
                ctypes.c_uint32(shared_bytes),
                ctypes.byref(statistics),
                message,
                ctypes.c_size_t(len(message)),
            )
        if not ended:
            text = message.value.decode(errors="replace")
            raise EmulationError(f"{place}: {self._with_lines(text)}")
        return LaunchStatistics(
            **{field.name: getattr(statistics, field.name) for field in fields(LaunchStatistics)}
        )

    def _with_lines(self, text: str) -> str:
        return re.sub("@([0-9a-f]+)@", lambda match: _line_of(self._path, match[1]), text)


@functools.cache
def _line_of(library: Path, address: str) -> str:
    """``file:line`` of an address in the library's code, past functions of the language."""
    try:
        done = subprocess.run(
            ["addr2line", "-i", "-e", str(library), address], capture_output=True, text=True
        )
    except FileNotFoundError:
        return "line unknown: addr2line is not installed"
    places = [line.split(" ")[0] for line in text_lines(done.stdout)]
    kernels = [place for place in places if Path(place).parent.resolve() != SIMT]
    return Path(next(iter(kernels or places), "line unknown")).name


def _check_shape(place: str, grid: int, block: int, shared_bytes: int, arguments: int) -> None:
    for name, value, least, most in (
        ("grid", grid, 1, 2**31 - 1),
        ("block", block, 1, MAX_BLOCK),
        ("shared_bytes", shared_bytes, 0, MAX_SHARED_BYTES),
        ("number of arguments", arguments, 0, MAX_ARGUMENTS),
    ):
        if not least <= value <= most:
            raise EmulationError(f"{place}: {name} = {value}: must be from {least} to {most}")


def _slot(place: str, index: int, argument: GlobalArray | np.integer) -> int:
    """The 64 bits of a register or stack slot that the argument is passed in."""
    if isinstance(argument, GlobalArray):
        return argument.address
    if isinstance(argument, np.integer) and argument.dtype.itemsize in (4, 8):
        return int(argument) & (1 << 64) - 1
    raise EmulationError(
        f"{place}: argument {index} is a {type(argument).__name__}: "
        "must be a GlobalArray or a NumPy integer of 32 or 64 bits"
    )


def _regions(place: str, arrays: Sequence[GlobalArray]) -> ctypes.Array[_Region]:
    """The arrays by address. One that is given twice counts once, writable if either is."""
    regions: dict[tuple[int, int], GlobalArray] = {}
    for region in arrays:
        if not region.array.flags.c_contiguous:
            raise EmulationError(f"{place}: {region.name} must be C-contiguous")
        key = (region.address, region.array.nbytes)
        if region.array.nbytes and not (key in regions and regions[key].writable):
            regions[key] = region
    ordered = sorted(regions)
    for (start, size), (other, other_size) in zip(ordered, ordered[1:], strict=False):
        if start + size > other:
            first, second = regions[start, size], regions[other, other_size]
            raise EmulationError(f"{place}: {first.name} and {second.name} overlap")
    return (_Region * len(ordered))(
        *(
            _Region(start, size, regions[start, size].writable, regions[start, size].name.encode())
            for start, size in ordered
        )
    )


@functools.cache
def _compiler_version() -> str:
    return _compile("version", ["--version"], SIMT)


def _compile(name: str, arguments: Sequence[str], folder: Path) -> str:
    """What the compiler prints. Raises ``EmulationError`` with its first complaint."""
    need = "the emulation of CUDA kernels needs it"
    command = [*cxx(), *arguments]
    done = run_tool(command, folder, need, EmulationError)
    if done.returncode:
        raise EmulationError(f"{name}: {command[0]} failed: {first_complaint(done)}")
    return done.stdout


def _runtime() -> list[Path]:
    """Object files of the machine, which all kernels share."""
    sources = files_in(SIMT, "*.cpp")

    def make(folder: Path) -> None:
        _compile("emulation", [*_RUNTIME_FLAGS, "-c", *map(str, sources)], folder)

    digest = digest_of(*file_texts(SIMT), *_RUNTIME_FLAGS, _compiler_version())
    return cached("objects", digest, make, keep=tuple(f"{source.stem}.o" for source in sources))


def _build(source: str, include: tuple[Path, ...], defines: Mapping[str, str], name: str) -> Path:
    version = _compiler_version()
    file = re.sub(r"\W", "_", name) + ".cu"
    option, prefix = _PARAMETER_OPTIONS["clang" if "clang" in version else "gcc"]
    flags = [
        *_KERNEL_FLAGS,
        *(word for setting in _SANITIZER_PARAMETERS for word in (option, prefix + setting)),
        *(f"-I{folder.absolute()}" for folder in include),
        *(f"-D{macro}={value}" for macro, value in defines.items()),
    ]
    headers = [text for folder in (SIMT, *include) for text in file_texts(folder)]

    def make(folder: Path) -> None:
        runtime = map(str, _runtime())
        (folder / file).write_text(source)
        header = ["-include", str(SIMT / "simt.h")]
        _compile(name, [*flags, *header, "-c", file, "-o", "kernels.o"], folder)
        link = ["-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "kernels.o", *runtime]
        _compile(name, [*link, "-o", _LIBRARY], folder)

    digest = digest_of(source, file, *headers, *flags, *_RUNTIME_FLAGS, version)
    return cached("kernels", digest, make, keep=(_LIBRARY,))[0]

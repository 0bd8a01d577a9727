"""Runs the GPU runtime without a GPU: on a driver that keeps device memory on the host, delays
what is in streams as long as it may, and runs kernels in the emulation."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from multiprocessing.connection import Client, Listener
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pytest

from gnarl.sw.compiler.cuda import backward_kernels
from gnarl.sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL, MAP_PARAMETERS, PARAMETERS
from gnarl.sw.compiler.cuda.task_plan import PARAMETER_BYTES
from gnarl.sw.compiler.cuda.tensor import sampled_product
from gnarl.sw.compiler.cuda.warp_fusion import WARP_KERNEL, WARP_PARAMETERS
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from tests.support.forked import Forked, Server
from tests.support.processor_time import Builds, processor_s

_SOURCE = Path(__file__).with_suffix(".cpp")
_NAME = "libcuda.so.1"
_ILLEGAL_ADDRESS = 700
_IMPORTED = ("gnarl.sw.runtime.cuda.tuning", "bench.cuda_parts.measure", "bench.cuda_parts.bits")

Call = Callable[..., Any]


@contextmanager
def fake_gpus(**environment: str) -> Iterator[Call]:
    """Calls functions of test modules in a process that has the fake driver.

    ``environment`` may set ``FAKE_CUDA_DEVICES``, ``FAKE_CUDA_VERSION``, and
    ``FAKE_CUDA_EAGER_COPIES`` for copies that happen at once.
    """
    pytest.importorskip("cuda.bindings", reason="needs gnarl[cuda]")
    if not shutil.which("c++"):
        pytest.skip("needs a C++ compiler")
    settings = {**os.environ, **_search_path(), **environment}
    with (
        Listener() as listener,
        TemporaryFile("w+") as output,
        _printed(output),
        Forked(
            str(listener.address),
            code=_CODE,
            env=settings,
            before=partial(os.dup2, 1, 2),
            stdout=output,
            server=_template(),
        ) as process,
        listener.accept() as connection,
    ):

        def call(function: Call, *arguments: Any) -> Any:
            connection.send((function, arguments))
            is_error, result, used_s, built_s = connection.recv()
            process.count(used_s, built_s)
            if is_error:
                raise result
            return result

        yield call
    assert process.returncode == 0


@contextmanager
def _printed(output: IO[str]) -> Iterator[None]:
    """Prints what has been written, at the end."""
    try:
        yield
    finally:
        output.seek(0)
        print(output.read(), end="")


@cache
def _template() -> Server:
    return Server(__name__, **_search_path())


def _search_path() -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(_library().parent)}


def answer(address: str) -> None:
    """Calls what is asked for, until the other end is closed."""
    builds = Builds()
    builds.begin(pytest.MonkeyPatch())
    with Client(address) as connection:
        _load_driver()
        while True:
            try:
                function, arguments = connection.recv()
            except EOFError:
                break
            try:
                result = (False, function(*arguments))
            except Exception as error:
                result = (True, error)
            connection.send((*result, processor_s(), builds.seconds))
    sys.stdout.flush()
    os._exit(0)  # without the ends of what has used the driver


_CODE = f"import sys; from {__name__} import answer; answer(sys.argv[1])"


def _library() -> Path:
    """The driver, compiled once."""
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]

    def make(folder: Path) -> None:
        subprocess.run(["c++", *flags, str(_SOURCE), "-o", str(folder / _NAME), "-ldl"], check=True)

    return cached("test", digest_of(_SOURCE.read_text(), *flags), make, keep=(_NAME,))[0]


def live(what: str) -> int:
    """How many there are: device memory, pinned memory, streams, events, modules, contexts."""
    return int(_driver().fake_count(what.encode()))


PARAMETERS_OF = {
    KERNEL: PARAMETERS,
    MAP_KERNEL: MAP_PARAMETERS,
    WARP_KERNEL: WARP_PARAMETERS,
    sampled_product.KERNEL: sampled_product.PARAMETERS,
    **backward_kernels.PARAMETERS,
}
"""Of kernels whose parameters are not four of 64 bits, in the form of ``PARAMETERS``."""

_kernels: list[EmulatedKernels] = []
launches: list[dict[str, Any]] = []
"""Kernel, grid, threads of a block and shared bytes of every launch that ran."""
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_char_p, ctypes.c_char_p),
    *(ctypes.c_uint, ctypes.c_uint, ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint64),
)


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(f"{os.environ['LD_LIBRARY_PATH']}/libcuda.so.1")


def warm_up() -> None:
    """Imports what takes long, and has the emulation compile kernels."""
    # It would have imported the function that is replaced.
    assert "gnarl.sw.runtime.cuda.gpu.embedding" not in sys.modules
    from gnarl.sw.compiler.cuda import nvrtc

    nvrtc.compile_kernel = _compile  # type: ignore[assignment]
    nvrtc.nvrtc_version = lambda: (13, 0)  # type: ignore[assignment]
    for module in _IMPORTED:
        import_module(module)


def _load_driver() -> None:
    _driver().fake_on_launch(_launched)
    for kernel, parameters in PARAMETERS_OF.items():
        types = "".join(_letter(type) for type in parameters.values())
        _driver().fake_parameters(kernel.encode(), types.encode())


def _letter(type: str) -> str:
    """Of 32 bits, of 64, or a plan of tasks, of which the emulation gets the address."""
    return "i" if type == "int" else "p" if "Plan" in type else "l"


def _compile(
    source: str,
    arch: str,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] = {},
    kernel: str = "",
) -> Any:
    from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel

    _kernels.append(EmulatedKernels(source, include, defines))
    cubin = f"cubin:{len(_kernels) - 1}\0".encode()
    return CompiledKernel(cubin, 128, 0, 0, arch, "", False)


@_CALLBACK
def _launched(image: bytes, name: bytes, grid: int, block: int, shared: int, arguments: Any) -> int:
    launches.append({"kernel": name.decode(), "grid": grid, "block": block, "shared": shared})
    try:
        _kernels[int(image.removeprefix(b"cubin:"))].launch(
            name.decode(),
            grid,
            block,
            [
                np.uint32(arguments[at]) if type == "int" else np.uint64(arguments[at])
                for at, type in enumerate(_parameters(name.decode()))
            ],
            memory=[*_memory(), *_plans(name.decode(), arguments)],
            shared_bytes=shared,
        )
    except Exception as error:
        print(error)
        return _ILLEGAL_ADDRESS
    return 0


def _parameters(kernel: str) -> Sequence[str]:
    """Types of a kernel's parameters."""
    return list(PARAMETERS_OF[kernel].values()) if kernel in PARAMETERS_OF else [""] * 4


def _plans(kernel: str, arguments: Any) -> list[GlobalArray]:
    """The plan among the arguments, if there is one."""
    return [
        GlobalArray(
            "plan",
            np.frombuffer((ctypes.c_uint8 * PARAMETER_BYTES).from_address(arguments[at]), np.uint8),
        )
        for at, type in enumerate(_parameters(kernel))
        if _letter(type) == "p"
    ]


def _memory() -> list[GlobalArray]:
    # In one call, for between two of them the garbage collector may free some.
    most = live("device memory")
    pieces = ctypes.c_uint64 * most
    addresses, sizes = pieces(), pieces()
    count = _driver().fake_memory(addresses, sizes, most)
    return [
        GlobalArray(
            f"device memory {at}",
            np.frombuffer((ctypes.c_uint8 * sizes[at]).from_address(addresses[at]), np.uint8),
            True,
        )
        for at in range(count)
    ]

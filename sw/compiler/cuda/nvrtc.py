"""From CUDA C++ to machine code of an architecture, without a GPU: NVRTC, through cuda-core.

What was compiled lies in the cache of ``sw.program.cache``, by the digest of source, headers,
options and compiler.
"""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hw.lib.errors import GnarlError
from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.fusion import KERNEL
from sw.program.cache import cached, digest_of

_STANDARD = "c++17"
_IMPORTING = threading.Lock()
_CUBIN, _LOG = "kernel.cubin", "compiler.log"


class NvrtcError(GnarlError):
    """NVRTC is not installed, is too old or too new for an architecture, or refused the source."""


@dataclass(frozen=True)
class CompiledKernel:
    """Machine code, and what a kernel in it needs.

    cubin
        the module: all kernels of the source.
    registers, spill_bytes, shared_bytes
        of the kernel that was asked for: registers of a thread; bytes of a thread's stack that hold
        what did not fit in registers, as stored; static shared memory of a block.
    log
        what NVRTC and ptxas printed.
    cached
        whether it was compiled before.
    """

    cubin: bytes
    registers: int
    spill_bytes: int
    shared_bytes: int
    arch: str
    log: str
    cached: bool


@dataclass(frozen=True)
class CompileRequest:
    """What ``compile_many`` compiles: arguments of ``compile_kernel``."""

    source: str
    arch: str
    include: Sequence[Path] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    kernel: str = KERNEL


def nvrtc_version() -> tuple[int, int]:
    """Of the installed NVRTC, which is that of its CUDA. Raises ``NvrtcError`` without one."""
    return _call("nvrtcVersion")


@cache
def supported_architectures() -> tuple[str, ...]:
    """Those of ``ARCHITECTURES`` that the installed NVRTC compiles for.

    Raises ``NvrtcError`` without one.
    """
    (numbers,) = _call("nvrtcGetSupportedArchs")
    return tuple(arch for arch in ARCHITECTURES if int(arch.removeprefix("sm_")) in numbers)


def compile_kernel(
    source: str,
    arch: str,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] = {},
    kernel: str = KERNEL,
) -> CompiledKernel:
    """Compiles a source, or takes it from the cache.

    arch
        a name of ``supported_architectures()``.
    include
        folders of headers.
    defines
        macros.
    kernel
        whose registers and memory are reported.

    There is no limit of registers besides the source's launch bounds: ptxas ignores its own where
    there are any. Raises ``NvrtcError`` with the compiler's first complaint. A fused kernel takes
    0.2 to 0.5 s for each of its codes, on one core; from the cache it takes milliseconds.
    """
    if arch not in supported_architectures():
        raise NvrtcError(
            f"NVRTC {_version_text()} does not compile for {arch}: "
            f"must be one of {', '.join(supported_architectures())}"
        )
    headers = [text for folder in include for text in header_texts(folder)]
    options = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    digest = digest_of(
        "nvrtc", _version_text(), arch, _STANDARD, kernel, *options, *headers, source
    )
    compiled = False

    def make(folder: Path) -> None:
        nonlocal compiled
        compiled = True
        cubin, log = _compile(source, arch, include, defines, kernel)
        _figures(log, kernel)
        (folder / _CUBIN).write_bytes(cubin)
        (folder / _LOG).write_text(log, encoding="utf-8")

    cubin, log = cached(digest, make, keep=(_CUBIN, _LOG))
    text = log.read_text(encoding="utf-8")
    return CompiledKernel(
        cubin.read_bytes(), *_figures(text, kernel), arch=arch, log=text, cached=not compiled
    )


def compile_many(
    requests: Sequence[CompileRequest],
    jobs: int | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> list[CompiledKernel]:
    """Compiles on ``jobs`` cores, on all that there are unless given; results in requests' order.

    In threads: NVRTC lets go of Python's lock (two threads take half the time of one). ``progress``
    is told the share that is done. Raises the first ``NvrtcError`` of any of them; those not begun
    by then are left.
    """
    pool = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        futures = [
            pool.submit(
                compile_kernel,
                request.source,
                request.arch,
                include=request.include,
                defines=request.defines,
                kernel=request.kernel,
            )
            for request in requests
        ]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            progress(done / len(futures))
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def _compile(
    source: str, arch: str, include: Sequence[Path], defines: Mapping[str, str], name: str
) -> tuple[bytes, str]:
    from cuda.core import Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(
        name=name,
        arch=arch,
        std=_STANDARD,
        include_path=[str(folder) for folder in include],
        define_macro=list(defines.items()) or None,
        ptxas_options=["-v"],
    )
    try:
        cubin = Program(source, "c++", options).compile("cubin", logs=log).code
    except Exception as error:  # cuda-core has no public class for what NVRTC refuses
        raise NvrtcError(f"NVRTC for {arch}: {_complaint(str(error))}") from error
    return bytes(cubin), _text(log.getvalue())


def _complaint(text: str) -> str:
    """The first line that says what is wrong."""
    lines = [" ".join(line.split()) for line in _text(text).splitlines() if line.strip()]
    return next((line for line in lines if re.search(r"\berror\s*:", line)), lines[0])


def _text(log: str) -> str:
    """Of a log whose parts end in NUL characters."""
    return log.replace("\0", "\n")


def _figures(log: str, kernel: str) -> tuple[int, int, int]:
    """Registers, bytes of spills and of shared memory that ``ptxas -v`` reports of a kernel."""
    entries = re.split(r"Compiling entry function '(\w+)'", log)
    report = dict(zip(entries[1::2], entries[2::2], strict=True)).get(kernel, "")

    def number(pattern: str) -> int | None:
        found = re.search(pattern, report)
        return int(found[1]) if found else None

    registers = number(r"Used (\d+) registers")
    if registers is None:
        raise NvrtcError(f"ptxas reports no registers of {kernel}: is it in the source?")
    return registers, number(r"(\d+) bytes spill stores") or 0, number(r"(\d+) bytes smem") or 0


def header_texts(folder: Path) -> list[str]:
    """Names and texts of the files in a folder and below."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        text
        for path in paths
        for text in (path.relative_to(folder).as_posix(), path.read_text(errors="replace"))
    ]


def _version_text() -> str:
    return ".".join(map(str, nvrtc_version()))


@cache
def _call(function: str) -> Any:
    """What a function of NVRTC's returns besides its status."""
    try:
        with _IMPORTING:  # cuda-core cannot be imported by two threads at a time
            import cuda.core  # noqa: F401
        from cuda.bindings import nvrtc

        status, *results = getattr(nvrtc, function)()
    except (ImportError, RuntimeError):  # the latter where the library itself is not found
        raise NvrtcError("CUDA is compiled by NVRTC: pip install 'gnarl[cuda]'") from None
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise NvrtcError(f"{function} of NVRTC fails: {status.name}")
    return tuple(results)

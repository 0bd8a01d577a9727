"""Compiles CUDA C++ to machine code of an architecture, without a GPU: NVRTC, through
cuda-bindings.

What was compiled lies in the cache of ``gnarl.sw.program.cache``, by the digest of source, headers,
options and compiler.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.fusion import KERNEL
from gnarl.sw.compiler.cuda.nvrtc_library import load_nvrtc
from gnarl.sw.program.cache import cached, digest_of, file_texts

_STANDARD = "c++17"
_REPORTING = ("--ptxas-options=-v", "-no-cache")
"""Beside a driver NVRTC has a cache of its own, and what comes from that, ptxas does not report."""
_CUBIN, _LOG = "kernel.cubin", "compiler.log"
_MISSING = "CUDA is compiled by NVRTC: pip install 'gnarl[cuda]'"


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


def nvrtc_version() -> tuple[int, int]:
    """The version of the installed NVRTC, which is that of its CUDA. Raises ``NvrtcError`` without
    one."""
    major, minor = _call("nvrtcVersion")
    return major, minor


@cache
def supported_architectures() -> tuple[str, ...]:
    """The ``ARCHITECTURES`` that the installed NVRTC compiles for.

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
    lines: bool = False,
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
    lines
        whether the machine code, which stays the same, says what lines of source it is of.

    There is no limit of registers besides the source's launch bounds: ptxas ignores its own where
    there are any. Raises ``NvrtcError`` with the compiler's first complaint. A fused kernel takes
    0.2 to 0.5 s for each of its codes, on one core; from the cache it takes milliseconds.
    """
    if arch not in supported_architectures():
        raise NvrtcError(
            f"NVRTC {_version_text()} does not compile for {arch}: "
            f"must be one of {', '.join(supported_architectures())}"
        )
    headers = [text for folder in include for text in file_texts(folder)]
    macros = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    folders = [f"-I{folder}" for folder in include]
    marks = ["-lineinfo", *folders] if lines else []  # lines name their files
    digest = digest_of(
        "nvrtc", _version_text(), arch, _STANDARD, kernel, *macros, *marks, *headers, source
    )
    options = [f"-arch={arch}", f"-std={_STANDARD}", *_REPORTING, *macros, *marks[:1]]
    options += folders
    compiled = False

    def make(folder: Path) -> None:
        nonlocal compiled
        compiled = True
        cubin, log = _compile(source, arch, options, kernel)
        _figures(log, kernel)
        (folder / _CUBIN).write_bytes(cubin)
        (folder / _LOG).write_text(log, encoding="utf-8")

    cubin, log = cached("cubin", digest, make, keep=(_CUBIN, _LOG))
    text = log.read_text(encoding="utf-8")
    return CompiledKernel(
        cubin.read_bytes(), *_figures(text, kernel), arch=arch, log=text, cached=not compiled
    )


def _compile(source: str, arch: str, options: Sequence[str], name: str) -> tuple[bytes, str]:
    arguments = [os.fsencode(option) for option in options]
    (program,) = _call("nvrtcCreateProgram", source.encode(), name.encode(), 0, [], [])
    try:
        (status,) = _nvrtc().nvrtcCompileProgram(program, len(arguments), arguments)
        # Its parts end in NUL characters.
        log = _fetch("ProgramLog", program).decode(errors="replace").replace("\0", "\n")
        if status:
            raise NvrtcError(f"NVRTC for {arch}: {_complaint(log) or status.name}")
        return _fetch("CUBIN", program), log
    finally:
        _call("nvrtcDestroyProgram", program)


def _fetch(what: str, program: Any) -> bytes:
    """What NVRTC made of a program: ``CUBIN``, ``ProgramLog``."""
    (size,) = _call(f"nvrtcGet{what}Size", program)
    content = bytearray(size)
    _call(f"nvrtcGet{what}", program, content)
    return bytes(content)


def _complaint(log: str) -> str:
    """The first line that says what is wrong; empty where there is none."""
    lines = [" ".join(line.split()) for line in text_lines(log) if line.strip()]
    return next((line for line in lines if re.search(r"\berror\s*:", line)), "".join(lines[:1]))


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


def _version_text() -> str:
    return ".".join(map(str, nvrtc_version()))


@cache
def _nvrtc() -> Any:
    """Module ``cuda.bindings.nvrtc``. Raises ``NvrtcError`` without it or NVRTC's library."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise NvrtcError(_MISSING) from None
    if not load_nvrtc():
        raise NvrtcError(_MISSING)
    return nvrtc


def _call(function: str, *arguments: Any) -> Sequence[Any]:
    """What a function of NVRTC returns besides its status. Raises ``NvrtcError`` for a failure."""
    status, *results = getattr(_nvrtc(), function)(*arguments)
    if status:
        raise NvrtcError(f"NVRTC: {function} failed: {status.name}")
    return results

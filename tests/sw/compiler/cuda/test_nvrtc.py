"""Compiling without a GPU: machine code, its figures, the cache, and refusals."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.sw.compiler.cuda import nvrtc
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL, fuse
from gnarl.sw.compiler.cuda.nvrtc import (
    CompiledKernel,
    NvrtcError,
    compile_kernel,
    nvrtc_version,
    supported_architectures,
)
from gnarl.sw.compiler.cuda.occupancy import register_limit
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

MODEL = EmbeddingModel("m", (Feature("a", 9, 64, "mean"), Feature("b", 9, 8, weighted=True)))
SCHEDULE = Schedule.of("one_hot", vector=4, samples_per_thread=4)

SMALL = 'extern "C" __global__ void small(int* target) { *target = NUMBER; }'

IN_ANOTHER_PROCESS = f"""
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
kernel = compile_kernel({SMALL!r}, "sm_80", defines={{"NUMBER": "7"}}, kernel="small")
print(kernel.cubin.hex(), kernel.cached)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with nothing in it."""
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def source(blocks_per_sm: int, block_threads: int = 256) -> str:
    schedules = ScheduleSet(
        MODEL.digest, "sm_80", block_threads, blocks_per_sm, (SCHEDULE,), (0, 0), "by hand"
    )
    return fuse(MODEL, schedules).source


def small(number: int, arch: str = "sm_80") -> CompiledKernel:
    return compile_kernel(SMALL, arch, defines={"NUMBER": str(number)}, kernel="small")


def registers_in(cubin: bytes, kernel: str) -> int:
    """What the module's own header of the kernel's code says: bits 24 to 31 of its ``sh_info``."""
    (sections,) = struct.unpack_from("<Q", cubin, 40)
    size, number, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQII", cubin, sections + at * size) for at in range(number)]
    for header in headers:
        begin = headers[names][4] + header[0]
        if cubin[begin : cubin.index(b"\0", begin)] == f".text.{kernel}".encode():
            return header[7] >> 24
    raise LookupError(kernel)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_machine_code_of_every_architecture(arch: str) -> None:
    found = compile_kernel(source(2), arch, include=[INCLUDE])
    assert found.cubin[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", found.cubin, 18) == (190,)  # EM_CUDA
    assert (found.arch, found.cached, found.shared_bytes) == (arch, False, 0)
    if arch in ("sm_75", "sm_80"):  # newer ones have no such field
        assert found.registers == registers_in(found.cubin, KERNEL)
    assert 16 <= found.registers <= register_limit(arch, 256, 2)
    assert found.spill_bytes == 0
    assert MAP_KERNEL.encode() in found.cubin


@pytest.mark.parametrize("defines", [{"GNARL_CHECKED": "1"}, {"GNARL_BLOCK_TIMES": "1"}])
def test_builds_with_checks_and_with_times_differ(defines: dict[str, str]) -> None:
    plain = compile_kernel(source(2), "sm_80", include=[INCLUDE])
    other = compile_kernel(source(2), "sm_80", include=[INCLUDE], defines=defines)
    assert not other.cached
    assert other.cubin != plain.cubin


def test_lines_of_the_source_are_in_the_machine_code_where_asked_for() -> None:
    plain, lines = (
        compile_kernel(source(4), "sm_80", include=[INCLUDE], lines=lines)
        for lines in (False, True)
    )
    assert b"embedding.cuh" not in plain.cubin
    assert b"embedding.cuh" in lines.cubin
    assert not lines.cached and plain.registers == lines.registers


def test_nothing_is_used_that_nvrtc_has_since_13_4_only() -> None:
    missing = {"__builtin_offsetof": "missing"}
    assert compile_kernel(source(2), "sm_80", include=[INCLUDE], defines=missing).registers


def test_a_layout_that_differs_is_refused() -> None:
    text = source(2).replace("(gnarl::Task, block) == 4", "(gnarl::Task, block) == 8")
    with pytest.raises(NvrtcError, match="host and device disagree on Task"):
        compile_kernel(text, "sm_80", include=[INCLUDE])


def test_launch_bounds_limit_registers_and_make_them_spill() -> None:
    found = compile_kernel(source(8), "sm_80", include=[INCLUDE])
    assert found.registers == register_limit("sm_80", 256, 8) == 32
    assert found.spill_bytes > 0
    assert f"{found.spill_bytes} bytes spill stores" in found.log


def test_figures_are_of_the_kernel_that_was_asked_for() -> None:
    found = compile_kernel(source(2), "sm_80", include=[INCLUDE], kernel=MAP_KERNEL)
    assert found.registers == registers_in(found.cubin, MAP_KERNEL)
    text = """extern "C" __global__ void big(int* target) {
      __shared__ int shared[300];
      shared[threadIdx.x] = *target;
      __syncthreads();
      *target = shared[299 - threadIdx.x];
    }
    extern "C" __global__ void other(int*) {}"""
    assert compile_kernel(text, "sm_80", kernel="big").shared_bytes == 1200
    assert compile_kernel(text, "sm_80", kernel="other").shared_bytes == 0


def test_nothing_comes_from_nvrtcs_own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one beside a driver, and then reports nothing."""
    from cuda.bindings import nvrtc as bindings

    options: list[bytes] = []
    compile_program = bindings.nvrtcCompileProgram

    def compiling(program: Any, count: int, given: list[bytes]) -> Any:
        options.extend(given)
        return compile_program(program, count, given)

    monkeypatch.setattr(bindings, "nvrtcCompileProgram", compiling)
    assert not small(1).cached
    assert b"-no-cache" in options


def test_the_second_time_it_comes_from_the_cache(cache: Path) -> None:
    first, second = small(1), small(1)
    assert (first.cached, second.cached) == (False, True)
    assert first.cubin == second.cubin
    assert (first.registers, first.log) == (second.registers, second.log)
    (entry,) = [path for path in cache.iterdir() if path.is_dir()]
    kept = sorted(path.name for path in entry.iterdir())
    assert kept == ["compiler.log", "kernel.cubin", "sha256sums"]
    assert not small(2).cached
    assert not small(1, "sm_90").cached


def test_a_changed_header_is_compiled_again(tmp_path: Path) -> None:
    include = tmp_path / "include"
    include.mkdir()
    text = '#include "number.cuh"\n' + SMALL
    compiled = []
    for number in ("1", "2", "1"):
        (include / "number.cuh").write_text(f"#define NUMBER {number}\n")
        compiled.append(compile_kernel(text, "sm_80", include=[include], kernel="small"))
    assert [found.cached for found in compiled] == [False, False, True]
    assert compiled[0].cubin == compiled[2].cubin != compiled[1].cubin


def test_processes_that_compile_at_once_share_one_entry(cache: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", IN_ANOTHER_PROCESS],
            cwd=Path(__file__).parents[4],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len({cubin for cubin, _ in outputs}) == 1
    assert sorted(cached for _, cached in outputs) == ["False", "True", "True"]


def test_threads_may_be_the_first_to_import_nvrtc() -> None:
    script = f"""
from concurrent.futures import ThreadPoolExecutor
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
def one(_):
    return compile_kernel({SMALL!r}, "sm_80", defines={{"NUMBER": "7"}}, kernel="small")
print(len(list(ThreadPoolExecutor(8).map(one, range(8)))))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "8\n", done.stderr


def raises(text: str) -> pytest.RaisesExc[NvrtcError]:
    return pytest.raises(NvrtcError, match=f"^{re.escape(text)}$")


def test_a_source_that_is_refused_leaves_nothing(cache: Path) -> None:
    with raises(f'NVRTC for sm_80: {KERNEL}(3): error: class "gnarl::Task" has no member "blok"'):
        compile_kernel(
            '#include "gnarl/task_map.cuh"\n__device__ int f(gnarl::Task task) {\n'
            "return task.blok;\n}",
            "sm_80",
            include=[INCLUDE],
        )
    with raises(
        f'NVRTC for sm_80: {KERNEL}(1): catastrophic error: cannot open source file "none.cuh"'
    ):
        compile_kernel('#include "none.cuh"', "sm_80")
    with raises(f"ptxas reports no registers of {KERNEL}: is it in the source?"):
        compile_kernel('extern "C" __global__ void f() {}', "sm_80")
    assert not list(cache.glob("*/kernel.cubin"))


def test_ptxas_may_refuse_too() -> None:
    text = 'extern "C" __global__ void f() { __shared__ int x[65536]; x[0] = clock(); }'
    with pytest.raises(NvrtcError, match=r"^NVRTC for sm_80: ptxas error : Entry function 'f' "):
        compile_kernel(text.replace("x[0]", "*(volatile int*)x"), "sm_80", kernel="f")


def test_architectures_are_those_that_nvrtc_compiles_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {"sm_80", "sm_90"} <= set(supported_architectures()) <= set(ARCHITECTURES)
    version = ".".join(map(str, nvrtc_version()))
    known = ", ".join(supported_architectures())
    with raises(f"NVRTC {version} does not compile for sm_70: must be one of {known}"):
        small(1, "sm_70")
    monkeypatch.setattr(nvrtc, "supported_architectures", lambda: ("sm_75", "sm_80"))
    with raises(f"NVRTC {version} does not compile for sm_120: must be one of sm_75, sm_80"):
        small(1, "sm_120")


@pytest.fixture
def unstarted() -> Iterator[None]:
    """As in a process that has not called NVRTC."""
    for function in (nvrtc.supported_architectures, nvrtc._nvrtc):
        function.cache_clear()
    yield
    for function in (nvrtc.supported_architectures, nvrtc._nvrtc):
        function.cache_clear()


@pytest.mark.usefixtures("unstarted")
def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with raises("CUDA is compiled by NVRTC: pip install 'gnarl[cuda]'"):
        small(1)


@pytest.mark.usefixtures("unstarted")
def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "load_nvrtc", lambda: False)
    with raises("CUDA is compiled by NVRTC: pip install 'gnarl[cuda]'"):
        small(1)


@pytest.mark.usefixtures("unstarted")
def test_a_call_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings.nvrtc import nvrtcResult

    status = nvrtcResult.NVRTC_ERROR_INTERNAL_ERROR
    monkeypatch.setattr("cuda.bindings.nvrtc.nvrtcVersion", lambda: (status, 0, 0))
    with raises("NVRTC: nvrtcVersion failed: NVRTC_ERROR_INTERNAL_ERROR"):
        small(1)


def test_compiled_programs_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import nvrtc as bindings

    live: list[int] = []
    create, destroy = bindings.nvrtcCreateProgram, bindings.nvrtcDestroyProgram

    def creating(*arguments: object) -> Any:
        status, program = create(*arguments)
        live.append(int(program))
        return status, program

    def destroying(program: Any) -> Any:
        live.remove(int(program))
        return destroy(program)

    monkeypatch.setattr(bindings, "nvrtcCreateProgram", creating)
    monkeypatch.setattr(bindings, "nvrtcDestroyProgram", destroying)
    small(1)
    with pytest.raises(NvrtcError):
        compile_kernel("nonsense", "sm_80")
    assert live == []

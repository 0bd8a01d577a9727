"""Building simulators: the cache, its locks, and what is said where a tool refuses."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnarl.sw.program.cache_contents import cache_folder
from gnarl.sw.runtime.machine.verilate import BuildError, build

VERILOG = """module half(input [7:0] a, output [7:0] o);
assign o = a >> 1;
endmodule
"""

SHIM = """
#include "Vtop.h"
extern "C" int half(int a) {
    VerilatedContext context;
    Vtop top(&context);
    top.a = a;
    top.eval();
    return top.o;
}
"""

IN_ANOTHER_PROCESS = f"""
import ctypes
from gnarl.sw.runtime.machine.verilate import build
path = build({VERILOG!r}, "half", {SHIM!r})
print(path, ctypes.CDLL(str(path)).half(42))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with nothing in it but what all builds share, which takes seconds to make."""
    build(VERILOG, "half", SHIM)
    folder = tmp_path_factory.mktemp("cache")
    for entry in cache_folder().iterdir():
        if (entry / "verilated.o").exists() or (entry / "verilated_headers.h").exists():
            (folder / entry.name).symlink_to(entry.resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNARL_CACHE", str(folder))
        yield folder


def entries(cache: Path) -> list[Path]:
    return sorted(entry.parent for entry in cache.glob("*/simulator.so"))


def test_processes_that_build_at_once_share_one_entry(cache: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", IN_ANOTHER_PROCESS],
            cwd=Path(__file__).parents[4],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    outputs = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    (entry,) = entries(cache)
    assert outputs == {f"{entry / 'simulator.so'} 21\n"}


def test_a_design_is_built_and_runs_and_only_the_library_is_kept(cache: Path) -> None:
    path = build(VERILOG, "half", SHIM)
    assert path.parent.parent == cache
    assert ctypes.CDLL(str(path)).half(42) == 21
    assert {file.name for file in path.parent.iterdir()} == {path.name, "sha256sums"}
    assert list(cache.glob("*.work")) == []


def test_a_damaged_library_is_built_again(cache: Path) -> None:
    path = build(VERILOG, "half", SHIM)
    octets = path.read_bytes()
    path.unlink()  # this process may have it open
    path.write_bytes(octets[: len(octets) // 2])
    with pytest.warns(UserWarning, match=": damaged cache entry: made again$"):
        assert build(VERILOG, "half", SHIM) == path
    check = f"import ctypes; assert ctypes.CDLL({str(path)!r}).half(42) == 21"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_the_same_again_comes_from_the_cache(cache: Path) -> None:
    path = build(VERILOG, "half", SHIM)
    built = path.stat().st_mtime_ns
    started = time.monotonic()
    assert build(VERILOG, "half", SHIM) == path
    assert time.monotonic() - started < 0.5
    assert path.stat().st_mtime_ns == built


def test_whatever_goes_in_makes_an_entry_of_its_own(cache: Path) -> None:
    before = entries(cache)
    paths = {
        build(VERILOG, "half", SHIM),
        build(VERILOG.replace(">> 1", ">> 2"), "half", SHIM),
        build(VERILOG, "half", SHIM + "// changed\n"),
        build(VERILOG, "half", SHIM, configuration="`verilator_config\n"),
    }
    assert len(paths) == 4
    assert len(set(entries(cache)) - set(before)) == 3


def test_what_a_killed_build_left_is_no_hindrance(cache: Path) -> None:
    path = build(VERILOG, "half", SHIM)
    entry = path.parent
    path.unlink()
    entry.rename(cache / f"{entry.name}.work")
    assert build(VERILOG, "half", SHIM) == path
    assert path.exists()


def test_broken_verilog_gives_verilators_complaint_and_its_log(cache: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(VERILOG.replace(">> 1", ">>"), "half", SHIM)
    text = re.fullmatch(r"half: verilator failed: (.*) \(all of it: (.*)\)", str(caught.value))
    assert text is not None
    assert text[1].startswith("%Error: top.v:2:16: syntax error, unexpected ';'")
    assert text[1] in Path(text[2]).read_text()


def test_a_broken_shim_gives_the_compilers_complaint_and_its_log(cache: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(VERILOG, "half", SHIM.replace("top.a", "top.b"))
    text = re.fullmatch(r"half: compiler failed: (.*) \(all of it: (.*)\)", str(caught.value))
    assert text is not None
    assert re.fullmatch(r"shim\.cpp:6:9: error: .*Vtop.* has no member named .b.*", text[1])
    assert text[1] in Path(text[2]).read_text()


def test_a_failed_build_is_tried_again(cache: Path) -> None:
    broken = VERILOG.replace("endmodule", "endmodul")
    for _ in range(2):
        with pytest.raises(BuildError, match=r"^half: verilator failed: %Error: top\.v:"):
            build(broken, "half", SHIM)


def test_a_machine_without_make_has_an_error_of_its_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="^make is not installed: simulators need it$"):
        build(VERILOG.replace(">> 1", ">> 3"), "half", SHIM)


def test_the_folder_is_the_repositorys_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNARL_CACHE", raising=False)
    assert cache_folder() == Path(__file__).parents[4] / "build" / "sim"

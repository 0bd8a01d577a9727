"""Faults of the machine: full disks, folders without permission, killed and competing processes.

A disk is full where a file may not grow beyond a limit; that is the nearest that a process without
rights can provoke. What a command had before stays, and what it leaves can be used or replaced.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import state
from tests.support.forked import Forked

CONFIG = "dpu_d1_b8"
GRAPH = {
    "directed": True,
    "nodes": [{"id": "a", "op": "input", "value": 1.5}, {"id": "y", "op": "neg"}],
    "edges": [{"source": "a", "target": "y"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a workload, a program of it, and an older result, all readable by anyone."""
    (tmp_path / "w.json").write_text(json.dumps(GRAPH))
    (tmp_path / "values.json").write_text('{"a": 2}')
    done = gnarl(tmp_path, "compile", CONFIG, "w.json", "-o", "p.npz")
    assert done.returncode == 0, done.stderr
    for name in ("x.npz", "x.png", "x.fst"):
        (tmp_path / name).write_text("older")
    return tmp_path


def start(folder: Path, *arguments: str, cache: Path | None = None, **options: Any) -> Forked:
    environment = dict(os.environ)
    if cache is not None:
        environment["GNARL_CACHE"] = str(cache)
    return Forked(*arguments, cwd=folder, env=environment, **options)


def gnarl(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    process = start(folder, *arguments, **options)
    output, error = process.communicate()
    return subprocess.CompletedProcess(arguments, process.wait(), output, error.rstrip("\n"))


def full_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


FULL = "File too large"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", CONFIG, "w.json", "--backend", "model", "-o", "x.npz"),
        ("run", CONFIG, "w.json", "--backend", "model", "--timeline", "x.png"),
        ("compile", CONFIG, "w.json", "-o", "x.npz"),
        ("compile", "sam_fp32", "x(i)=B(i,j)*c(j)", "-o", "x.npz"),
        ("compile", "sam_fp32", "x(i)=B(i,j)*c(j)", "--dot", "x.npz"),
    ],
)
def test_a_full_disk(folder: Path, arguments: tuple[str, ...]) -> None:
    before = state(folder)
    done = gnarl(folder, *arguments, before=full_disk)
    path = folder / arguments[-1]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gnarl: {path}: {FULL}"
    assert state(folder) == before


def mounted_small(folder: Path) -> None:
    """Mounts a disk of 16 KiB for this process alone."""
    library, new_mounts, private = ctypes.CDLL(None, use_errno=True), 0x20000, 0x44000
    if (
        library.unshare(new_mounts)
        or library.mount(b"none", b"/", None, private, None)
        or library.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=16k")
    ):
        os._exit(77)


def test_a_full_disk_under_the_cache(folder: Path) -> None:
    cache = folder / "cache"
    cache.mkdir()
    arguments = ("rtl", CONFIG, "-o", "out")
    done = gnarl(folder, *arguments, cache=cache, before=partial(mounted_small, cache))
    if done.returncode == 77:
        pytest.skip("needs the right to mount a small disk")
    assert done.returncode == 2
    assert re.fullmatch(rf"gnarl: {cache}/verilog-\w+\.work: No space left on device", done.stderr)


def test_a_full_disk_leaves_no_part_of_an_entry(folder: Path) -> None:
    cache = folder / "cache"
    arguments = ("rtl", CONFIG, "-o", "out")
    done = gnarl(folder, *arguments, cache=cache, before=full_disk)
    assert done.returncode == 2
    assert re.fullmatch(rf"gnarl: {cache}/verilog-\w+\.work: {FULL}", done.stderr)
    assert not list(cache.glob("*.work"))


def little_memory() -> None:
    """Less than Amaranth's Yosys reserves."""
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def test_a_machine_without_memory_for_yosys(folder: Path) -> None:
    cache = folder / "cache"
    arguments = ("rtl", CONFIG, "-o", "out")
    done = gnarl(folder, *arguments, cache=cache, before=little_memory)
    assert done.returncode == 2
    text = r"gnarl: out of memory: a program that was started in .*\.work: Cannot allocate memory"
    assert re.search(rf"^{text}$", done.stderr, re.MULTILINE), done.stderr
    assert not list(cache.glob("*.work"))


def obey_permissions() -> None:
    """Takes from an administrator's process, and from programs that it starts, the right to write
    whatever permissions say."""
    library, drop_from_bounding_set, override_permissions = ctypes.CDLL(None), 24, 1
    library.prctl(drop_from_bounding_set, override_permissions, 0, 0, 0)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert library.capget(header, sets) == 0
    for index in range(2):  # effective and permitted
        sets[index] &= ~(1 << override_permissions)
    assert library.capset(header, sets) == 0


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("run", CONFIG, "w.json", "--backend", "model", "-o", "locked/x.npz"), "-o' / '--output"),
        (("run", CONFIG, "w.json", "--backend", "model", "--timeline", "locked/x"), "--timeline"),
        (("compile", CONFIG, "w.json", "-o", "locked/x.npz"), "-o' / '--output"),
    ],
)
def test_a_folder_without_permission(folder: Path, arguments: tuple[str, ...], option: str) -> None:
    (folder / "locked").mkdir(mode=0o555)
    before = state(folder)
    done = gnarl(folder, *arguments, before=obey_permissions)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        f"Invalid value for '{option}': locked: permission denied. "
        f"See python -m gnarl {arguments[0]} --help"
    )
    assert state(folder) == before


@pytest.mark.parametrize("arguments", [("rtl", CONFIG, "-o", "locked")])
def test_a_file_in_a_folder_without_permission(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "locked").mkdir(mode=0o555)
    before = state(folder)
    done = gnarl(folder, *arguments, before=obey_permissions)
    path = folder / "locked" / f"{CONFIG}.v"
    assert (done.returncode, done.stderr) == (2, f"gnarl: {path}: Permission denied")
    assert state(folder) == before


def test_a_cache_without_permission(folder: Path) -> None:
    cache = folder / "cache"
    assert gnarl(folder, "rtl", CONFIG, "-o", "out", cache=cache).returncode == 0
    cache.chmod(0o555)
    assert gnarl(folder, "rtl", CONFIG, cache=cache, before=obey_permissions).returncode == 0
    other = ("rtl", CONFIG, "--set", "registers=8", "-o", "out")
    done = gnarl(folder, *other, cache=cache, before=obey_permissions)
    assert done.returncode == 2
    assert re.fullmatch(rf"gnarl: {cache}/verilog-\w+\.lock: Permission denied", done.stderr)


def test_a_killed_command_leaves_what_can_be_used(folder: Path) -> None:
    cache, arguments = folder / "cache", ("rtl", CONFIG, "-o", "out")
    for delay in (0.1, 0.8):
        with start(folder, *arguments, cache=cache) as process:
            time.sleep(delay)
            process.kill()
    assert gnarl(folder, *arguments, cache=cache).returncode == 0
    entries = [path for path in cache.iterdir() if path.is_dir() and path.name != "numba"]
    assert [path.suffix for path in entries] == [""]
    whole = (folder / "out" / f"{CONFIG}.v").read_text()
    assert whole.rstrip().endswith("endmodule")


def test_two_processes_that_write_one_file(folder: Path) -> None:
    cache, arguments = folder / "cache", ("rtl", CONFIG, "-o", "out")
    processes = [start(folder, *arguments, cache=cache) for _ in range(2)]
    assert [process.communicate()[0].count("\n") for process in processes] == [2, 2]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        f"{CONFIG}.json",
        f"{CONFIG}.v",
    ]

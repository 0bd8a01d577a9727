"""Built files are kept by digest: made once, whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from filelock import FileLock

from sw.program.cache import cached, digest_of
from tests.support.commands import default_interrupts


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path))
    return tmp_path


def write(folder: Path) -> None:
    (folder / "kept").write_text("kept")
    (folder / "other").mkdir()
    (folder / "other" / "scratch").write_text("scratch")


def test_an_entry_is_made_once_and_holds_what_is_kept() -> None:
    (path,) = cached("abc", write, keep=("kept",))
    assert path.read_text() == "kept"
    assert [each.name for each in path.parent.iterdir()] == ["kept"]

    def never(folder: Path) -> None:
        raise AssertionError("made twice")

    assert cached("abc", never, keep=("kept",)) == [path]


def failing(error: type[BaseException]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        write(folder)
        raise error

    return make


def test_what_is_interrupted_leaves_nothing(cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cached("abc", failing(KeyboardInterrupt), keep=("kept",))
    assert {each.name for each in cache.iterdir()} <= {"abc.lock"}
    assert cached("abc", write, keep=("kept",))[0].exists()


def test_what_fails_can_be_looked_at_until_the_next_try(cache: Path) -> None:
    with pytest.raises(ValueError):
        cached("abc", failing(ValueError), keep=("kept",))
    assert (cache / "abc.work" / "other" / "scratch").exists()
    assert cached("abc", write, keep=("kept",))[0].exists()
    assert not (cache / "abc.work").exists()


def waiting(folder: Path) -> None:
    """Takes longer than another process or thread needs to ask for the same entry."""
    with (folder.parent / "made").open("a") as made:
        made.write("made\n")
    sleep(0.5)
    write(folder)


def _process(make: str) -> subprocess.Popen[bytes]:
    script = f"""
import os, signal
from tests.sw.program.test_cache import cached, waiting, write

def killed(folder):
    write(folder)
    os.kill(os.getpid(), signal.SIGKILL)

print("ready", flush=True)
cached("abc", {make}, keep=("kept",))
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script]
    return subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, preexec_fn=default_interrupts
    )


def test_processes_that_want_one_entry_make_it_once(cache: Path) -> None:
    processes = [_process("waiting") for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert (cache / "made").read_text() == "made\n"
    assert (cache / "abc" / "kept").exists()


def test_threads_that_want_one_entry_make_it_once(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: cached("abc", waiting, keep=("kept",)), range(4)))
    assert (cache / "made").read_text() == "made\n"
    assert paths == [[cache / "abc" / "kept"]] * 4


def test_a_killed_process_locks_nobody_out(cache: Path) -> None:
    assert _process("killed").wait(120) == -signal.SIGKILL
    assert (cache / "abc.work" / "other").exists()
    assert cached("abc", write, keep=("kept",))[0].exists()
    assert not (cache / "abc.work").exists()


def test_a_process_that_waits_can_be_interrupted(cache: Path) -> None:
    with FileLock(cache / "abc.lock"):
        process = _process("write")
        # Not while it imports, where code in C may swallow an interrupt.
        assert process.stdout and process.stdout.readline() == b"ready\n"
        sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(120) != 0
    assert not (cache / "abc").exists()


def test_digests_tell_sequences_apart() -> None:
    assert len({digest_of(*parts) for parts in [("ab",), ("a", "b"), ("", "ab"), ()]}) == 4

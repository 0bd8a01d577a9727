"""Built files are kept by digest: made once, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from filelock import FileLock

from gnarl.sw.program.cache import cached, digest_of
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
    (path,) = cached("test", "abc", write, keep=("kept",))
    assert path.read_text() == "kept"
    assert {each.name for each in path.parent.iterdir()} == {"kept", "sha256sums"}

    def never(folder: Path) -> None:
        raise AssertionError("made twice")

    assert cached("test", "abc", never, keep=("kept",)) == [path]


def flip(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[1] ^= 1
    path.write_bytes(octets)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:2]),
    "a bit flipped": flip,
    "empty": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "without sums": lambda path: (path.parent / "sha256sums").unlink(),
    "with other sums": lambda path: flip(path.parent / "sha256sums"),
    "with sums that are no text": lambda path: (path.parent / "sha256sums").write_bytes(b"\xff"),
    "an empty folder": lambda path: [each.unlink() for each in path.parent.iterdir()],
    "not a folder": lambda path: (shutil.rmtree(path.parent), path.parent.write_text("")),
    "a link to nothing": lambda path: (shutil.rmtree(path.parent), path.parent.symlink_to("x")),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_made_again(cache: Path, damage: Callable[[Path], object]) -> None:
    (path,) = cached("test", "abc", write, keep=("kept",))
    damage(path)
    with pytest.warns(UserWarning) as warned:
        assert cached("test", "abc", write, keep=("kept",)) == [path]
    (warning,) = warned
    assert str(warning.message) == f"{cache / 'test-abc'}: damaged cache entry: made again"
    assert path.read_text() == "kept"
    assert cached("test", "abc", failing(AssertionError), keep=("kept",)) == [path]
    assert {each.name for each in cache.iterdir()} == {"test-abc", "test-abc.lock", ".pruned"}


def test_a_damaged_entry_stays_where_it_cannot_be_made_again(cache: Path) -> None:
    (path,) = cached("test", "abc", write, keep=("kept",))
    path.write_text("keep")
    with pytest.warns(UserWarning), pytest.raises(ValueError):
        cached("test", "abc", failing(ValueError), keep=("kept",))
    assert path.read_text() == "keep"


def test_an_entry_is_on_the_disk_before_it_has_its_name(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []

    def fsync(descriptor: int) -> None:
        assert not (cache / "test-abc").exists() or flushed[-1] == "test-abc.work"
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", fsync)
    cached("test", "abc", write, keep=("kept",))
    assert flushed == ["kept", "sha256sums", "test-abc.work", cache.name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_full_disk_names_the_entry_and_keeps_nothing(cache: Path, number: int) -> None:
    def make(folder: Path) -> None:
        write(folder)
        raise OSError(number, os.strerror(number))

    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        cached("test", "abc", make, keep=("kept",))
    assert caught.value.filename == str(cache / "test-abc.work")
    assert {each.name for each in cache.iterdir()} <= {"test-abc.lock"}
    assert cached("test", "abc", write, keep=("kept",))[0].exists()


def failing(error: type[BaseException]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        write(folder)
        raise error

    return make


def test_what_is_interrupted_leaves_nothing(cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cached("test", "abc", failing(KeyboardInterrupt), keep=("kept",))
    assert {each.name for each in cache.iterdir()} <= {"test-abc.lock"}
    assert cached("test", "abc", write, keep=("kept",))[0].exists()


def test_what_fails_can_be_looked_at_until_the_next_try(cache: Path) -> None:
    with pytest.raises(ValueError):
        cached("test", "abc", failing(ValueError), keep=("kept",))
    assert (cache / "test-abc.work" / "other" / "scratch").exists()
    assert cached("test", "abc", write, keep=("kept",))[0].exists()
    assert not (cache / "test-abc.work").exists()


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
cached("test", "abc", {make}, keep=("kept",))
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
    assert (cache / "test-abc" / "kept").exists()


def test_threads_that_want_one_entry_make_it_once(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: cached("test", "abc", waiting, keep=("kept",)), range(4)))
    assert (cache / "made").read_text() == "made\n"
    assert paths == [[cache / "test-abc" / "kept"]] * 4


def test_a_killed_process_locks_nobody_out(cache: Path) -> None:
    assert _process("killed").wait(120) == -signal.SIGKILL
    assert (cache / "test-abc.work" / "other").exists()
    assert cached("test", "abc", write, keep=("kept",))[0].exists()
    assert not (cache / "test-abc.work").exists()


def test_a_process_that_waits_can_be_interrupted(cache: Path) -> None:
    with FileLock(cache / "test-abc.lock"):
        process = _process("write")
        # Not while it imports, where code in C may swallow an interrupt.
        assert process.stdout and process.stdout.readline() == b"ready\n"
        sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(120) != 0
    assert not (cache / "test-abc").exists()


def test_digests_tell_sequences_apart() -> None:
    assert len({digest_of(*parts) for parts in [("ab",), ("a", "b"), ("", "ab"), ()]}) == 4

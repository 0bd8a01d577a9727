"""Files appear whole or not at all, on the disk before they have their name; errors have it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gnarl.sw.program.atomic import atomic_folder, atomic_path, remove_temporaries, write_text


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.txt"
    flushed = []

    def fsync(descriptor: int) -> None:
        assert not path.exists()
        flushed.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(path, "four")
    assert flushed == [4]
    assert path.read_text() == "four"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_errors_of_writing_name_the_file(tmp_path: Path, number: int) -> None:
    path = tmp_path / "x.txt"
    with pytest.raises(OSError) as caught, atomic_path(path) as temporary:
        temporary.write_text("half")
        raise OSError(number, os.strerror(number))
    assert (caught.value.errno, caught.value.filename) == (number, str(path))
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_temporary_file_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "no" / "x.txt"
    with pytest.raises(FileNotFoundError) as caught:
        write_text(path, "")
    assert caught.value.filename == str(path)


def test_errors_of_other_files_name_those(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with pytest.raises(FileNotFoundError) as caught, atomic_path(tmp_path / "x.txt"):
        other.read_text()
    assert caught.value.filename == str(other)
    with pytest.raises(ConnectionError) as broken, atomic_path(tmp_path / "x.txt"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert broken.value.filename is None


def test_a_process_that_ends_within_leaves_no_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "x.txt") as temporary:
        temporary.write_text("half")
        remove_temporaries()
        assert list(tmp_path.iterdir()) == []


def test_a_folder_appears_with_all_that_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "build"
    with atomic_folder(path) as temporary:
        (temporary / "a.txt").write_text("a")
        assert not path.exists()
    assert [each.name for each in path.iterdir()] == ["a.txt"]
    with atomic_folder(path) as temporary:
        (temporary / "b.txt").write_text("b")
        assert (path / "a.txt").exists()
    assert [each.name for each in path.iterdir()] == ["b.txt"]
    assert [each.name for each in path.parent.iterdir()] == ["build"]


def test_a_folder_that_is_not_finished_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "build"
    path.mkdir()
    (path / "a.txt").write_text("a")
    with pytest.raises(ValueError), atomic_folder(path) as temporary:
        (temporary / "b.txt").write_text("b")
        raise ValueError
    assert [each.name for each in tmp_path.rglob("*")] == ["build", "a.txt"]
    with pytest.raises(FileNotFoundError), atomic_folder(path) as temporary:
        remove_temporaries()
        (temporary / "b.txt").write_text("b")
    assert [each.name for each in tmp_path.rglob("*")] == ["build", "a.txt"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught, atomic_folder(tmp_path / "file" / "build"):
        pass
    assert caught.value.filename == str(tmp_path / "file")

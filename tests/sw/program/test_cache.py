"""Built files are kept by digest: made once, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sw.program.cache import cached, digest_of


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
    assert [each.name for each in cache.iterdir()] == ["abc.lock"]
    assert cached("abc", write, keep=("kept",))[0].exists()


def test_what_fails_can_be_looked_at_until_the_next_try(cache: Path) -> None:
    with pytest.raises(ValueError):
        cached("abc", failing(ValueError), keep=("kept",))
    assert (cache / "abc.work" / "other" / "scratch").exists()
    assert cached("abc", write, keep=("kept",))[0].exists()
    assert not (cache / "abc.work").exists()


def test_digests_tell_sequences_apart() -> None:
    assert len({digest_of(*parts) for parts in [("ab",), ("a", "b"), ("", "ab"), ()]}) == 4

"""The cache is listed, and what was not used for longest goes first."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.program import cache_contents
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.program.cache_contents import (
    CacheError,
    contents,
    max_cache_bytes,
    prune,
    prune_if_due,
)

SIZE = 1000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(name: str, size: int = SIZE, age_s: float = 0) -> Path:
    """An entry of that many bytes, and a list of them, last used so long ago."""
    (path,) = cached(
        "test", digest_of(name), lambda folder: fill(folder / "kept", size), keep=("kept",)
    )
    for each in path.parent.iterdir():
        make_older(each, age_s)
    return path


def fill(path: Path, size: int) -> None:
    path.write_bytes(bytes(size))


def make_older(path: Path, age_s: float) -> None:
    used = time.time() - age_s
    os.utime(path, (used, used))


def names(cache: Path, kind: str) -> list[str]:
    return [each.path.name for each in contents(cache) if each.kind == kind]


def test_what_was_not_used_for_longest_goes_first(cache: Path) -> None:
    oldest, old, new = build("a", age_s=300), build("b", age_s=200), build("c", age_s=100)
    assert build("a") == oldest  # which uses it
    removed = prune(cache, 2 * (SIZE + 100))
    assert not old.exists()
    assert oldest.exists() and new.exists()
    assert [each.path for each in removed if each.kind == "test"] == [old.parent]


def test_a_cache_below_its_size_loses_locks_and_failed_builds_alone(cache: Path) -> None:
    kept = build("a")

    def fail(folder: Path) -> None:
        fill(folder / "log", 10)
        raise ValueError

    with pytest.raises(ValueError):
        cached("test", digest_of("b"), fail, keep=("kept",))
    assert names(cache, "lock") and names(cache, "failed build")
    prune(cache, 10 * SIZE)
    assert {each.name for each in cache.iterdir()} == {kept.parent.name, ".pruned"}


def test_another_user_of_the_folder_loses_nothing(cache: Path) -> None:
    build("a", age_s=10)
    digest = digest_of("linked")
    others = [cache / "letters", cache / "notes.lock", cache / "numba" / "mine" / "thesis.nbc"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        fill(path, SIZE)
    (cache / "photos").mkdir()
    (cache / f"test-{digest}").symlink_to(cache / "photos")
    prune(cache, 0)
    assert all(path.exists() for path in (*others, cache / "photos", cache / f"test-{digest}"))
    assert not names(cache, "test")


def test_while_others_build_what_was_used_lately_stays(cache: Path) -> None:
    late, early = build("late", age_s=60), build("early", age_s=4000)
    with FileLock(cache / f"test-{digest_of('built now')}.lock"):
        prune(cache, 0)
        assert late.exists() and not early.exists()
        assert names(cache, "lock") == [f"test-{digest_of('built now')}.lock"]
    prune(cache, 0)
    assert not late.exists()


def test_an_entry_that_is_used_while_it_is_listed_stays(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build("a", age_s=100)
    listed = contents(cache)
    build("a")
    monkeypatch.setattr(cache_contents, "contents", lambda folder: listed)
    assert not prune(cache, 0)
    assert path.exists()


def test_machine_code_goes_file_by_file(cache: Path) -> None:
    folder = cache / "numba" / "cost_1234"
    folder.mkdir(parents=True)
    for age_s, name in enumerate(("f.checked.nbi", "f.checked.1.nbc", "f.checked.2.nbc")):
        fill(folder / name, SIZE)
        make_older(folder / name, 10 * age_s)
    prune(cache, 2 * SIZE)
    assert names(cache, "machine code") == ["f.checked.1.nbc", "f.checked.nbi"]
    prune(cache, 0)
    assert not folder.exists()


def test_the_cache_is_pruned_once_an_hour(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE_MAX_BYTES", "10")
    path, recent = build("a", age_s=5000), build("b", age_s=10)
    prune_if_due()
    assert path.exists()
    make_older(cache / ".pruned", 3700)
    prune_if_due()
    assert not path.exists()
    assert recent.exists()  # a process may have been told of it just now


def test_a_new_entry_prunes_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE_MAX_BYTES", "10")
    path = build("a", age_s=5000)
    make_older(cache / ".pruned", 3700)
    build("b")
    assert not path.exists()


@pytest.mark.parametrize("text", ["2GB", "-1", "1e9", " ", "9" * 19])
def test_a_size_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE_MAX_BYTES", text)
    with pytest.raises(CacheError, match="GNARL_CACHE_MAX_BYTES = .*: must be a number of bytes"):
        max_cache_bytes()


def test_there_may_be_no_cache(cache: Path) -> None:
    assert contents(cache) == prune(cache, 0) == []


def test_users_and_pruners_at_once_always_find_what_they_ask_for(cache: Path) -> None:
    """Whoever is told of an entry can read it, or it is made again."""
    end = time.monotonic() + 1
    pruned = count()

    def use(name: str) -> int:
        uses = 0
        while time.monotonic() < end:
            (path,) = cached("test", digest_of(name), lambda f: fill(f / "kept", 10), ("kept",))
            uses += path.parent.name.startswith("test-")
        return uses

    def clear() -> None:
        while time.monotonic() < end:
            prune(cache, 0)
            next(pruned)

    with ThreadPoolExecutor() as pool:
        cleared = pool.submit(clear)
        uses = list(pool.map(use, ["a", "a", "b"]))
        cleared.result()
    assert all(uses) and next(pruned) > 1
    assert not names(cache, "failed build")


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 9999)), max_size=6), st.data())
@settings(max_examples=30)
def test_no_more_goes_than_must(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int]], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setenv("GNARL_CACHE", str(cache))
        for at, (size, age_s) in enumerate(drawn):
            build(str(at), size, age_s)
        listed = [each for each in contents(cache) if each.kind == "test"]
        limit = data.draw(st.integers(0, sum(each.bytes for each in listed) + 1))
        prune(cache, limit)
        left = [each for each in contents(cache) if each.kind == "test"]
        assert listed[len(listed) - len(left) :] == left
        assert sum(each.bytes for each in left) <= limit
        gone = listed[: len(listed) - len(left)]
        assert not gone or sum(each.bytes for each in left) + gone[-1].bytes > limit

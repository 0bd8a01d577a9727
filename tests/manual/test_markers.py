"""Sections of files between markers."""

from __future__ import annotations

from pathlib import Path

import pytest

from manual.markers import MarkerError, find_section, marked, read_section, with_sections


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "R.md"


def test_only_what_is_between_the_markers_changes(path: Path) -> None:
    path.write_text("above\n<!-- n:begin -->\nold\n<!-- n:end -->\nbelow <!-- m:begin -->\n")
    for text in ("new\nlines\n", "newer"):
        path.write_text(with_sections(path, {"n": text}))
        assert path.read_text() == (
            f"above\n<!-- n:begin -->\n{text.strip()}\n<!-- n:end -->\nbelow <!-- m:begin -->\n"
        )
        assert read_section(path, "n") == f"{text.strip()}\n"


def test_several_sections_at_once(path: Path) -> None:
    path.write_text(f"{marked('a', 'same')}\n\n{marked('b', 'same')}\n")
    found = with_sections(path, {"b": "2", "a": "1"})
    assert found == f"{marked('a', '1')}\n\n{marked('b', '2')}\n"


def test_an_empty_section_is_found() -> None:
    assert find_section("<!-- n:begin -->\n<!-- n:end -->", "n") == ""


@pytest.mark.parametrize(
    "text", ["", "<!-- n:begin -->\n", "<!-- n:end -->\n", "<!-- n:end -->\n<!-- n:begin -->\n"]
)
def test_a_file_without_markers_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    assert find_section(text, "n") is None
    for call in (lambda: with_sections(path, {"n": "new"}), lambda: read_section(path, "n")):
        with pytest.raises(MarkerError) as caught:
            call()
        assert str(caught.value) == (
            f"{path}: must have a line <!-- n:begin --> and, after it, a line <!-- n:end -->"
        )


def test_an_absent_file_is_refused(path: Path) -> None:
    with pytest.raises(MarkerError) as caught:
        with_sections(path, {"n": "new"})
    assert str(caught.value) == f"{path}: cannot be read: No such file or directory"

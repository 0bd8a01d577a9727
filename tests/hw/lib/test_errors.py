"""How error texts quote what files say."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import one_line, quoted, short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (7, "7"),
        ("x" * 40, "x" * 40),
        ("x" * 41, "x" * 40 + "\u2026"),
    ],
)
def test_long_texts_are_cut(value: object, text: str) -> None:
    assert short(value) == text


def test_quotations_are_in_quotes() -> None:
    assert quoted("a\nb") == r"'a\nb'"
    assert quoted("x" * 100) == "'" + "x" * 39 + "\u2026"
    assert quoted(7) == "7"


def test_errors_on_one_line() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(Unprintable()) == "Unprintable"

"""Lines of memory that parts of an array's row lie in."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.lines.line_size import LINE_WORDS


def one_in_each_line(words: Sequence[int], size: int) -> list[int]:
    """As few of the ascending columns ``words`` as have one in every line; rows of ``size`` words
    begin anywhere in a line, unless whole lines or parts of a line are rows."""
    if size % LINE_WORDS == 0 or LINE_WORDS % size == 0:
        return [*{word // LINE_WORDS: word for word in reversed(words)}.values()][::-1]
    all_words = set(words)
    first_words = [word for word in words if word % LINE_WORDS == 0 or word - 1 not in all_words]
    return first_words if words[-1] in first_words else [*first_words, words[-1]]

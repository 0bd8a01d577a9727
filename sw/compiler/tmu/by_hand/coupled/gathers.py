"""Gathers on the execute unit alone: a block's vectors, which lie one behind the other, are a row.

A row is loaded in parts, each of which is stored as often as there are copies of the row. Lines
are fetched so many rows ahead that memory always has as many requests as it can have under way.

s0
    where the row's number is.
s1, s2
    where the row is, and the one that is fetched.
s3
    where the row goes.
s4, s5
    numbers of the rows behind both.
s6
    where results end.
s7, s8
    rows of a query; parts of a row, but for the last.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.tmu.by_hand.coupled.order import spread
from gnarl.sw.compiler.tmu.by_hand.site import Site, Vectors

_MOST, _PART = 32, 16
"""Vectors of a row that is one part; of each part but the last of other rows."""

_MOST_AHEAD = 8
"""Rows."""


def block_gather(site: Site) -> str:
    sizes = site.sizes
    return _program(site, sizes["queries"] * sizes["picked"], 1)


def token_gather(site: Site) -> str:
    """Every query of a block has the picked blocks of all."""
    return _program(site, site.sizes["picked"], site.sizes["block"])


def _program(site: Site, picked: int, copies: int) -> str:
    """The rows go, ``picked`` of them one behind the other, to ``copies`` places one behind the
    other."""
    return "\n".join(_lines(site, picked, copies))


def _lines(site: Site, picked: int, copies: int) -> Iterator[str]:
    words = site.sizes["block"] * site.sizes["dim"]
    blocks, out = site.arrays["blocks"], site.arrays["out"]
    if not out.words:
        yield "halt"
        return
    row = Vectors(words, site.config.lanes)
    ahead = min(_MOST_AHEAD, -(-2 * site.config.loads // len(row.lines)))
    yield from [row.mask] * bool(row.mask)
    for number in range(ahead):
        yield from _place("s2", blocks.base + number, words)
        yield from _fetches(site, row)
    yield from _place("s1", blocks.base, words)
    yield from _place("s2", blocks.base + ahead, words)
    yield f"add s0, {blocks.base + 1}, zero"
    yield f"add s3, {out.base}, zero"
    yield f"add s6, {out.base + out.words}, zero"
    yield f"add s7, {picked}, zero"
    yield "query:"
    yield "loop s7, rows"
    yield "load s4, [s0]"
    yield f"load s5, [s0 + {ahead}], s0 += 1"
    yield f"prefetch [s0 + {ahead + LINE_WORDS}]"
    yield from _copy(site, row, [copy * picked * words for copy in range(copies)])
    yield "rows:"
    if copies > 1:
        yield f"add s3, s3, {(copies - 1) * picked * words}"
    yield "branch_ne s3, s6, query"
    yield "halt"


def _copy(site: Site, row: Vectors, places: list[int]) -> Iterator[str]:
    """The row, and the places of those behind it; fetches a row."""
    part = Vectors(_PART * row.lanes, row.lanes)
    parts = 0 if row.count <= _MOST else (row.count - 1) // _PART
    rest = Vectors(row.words - parts * part.words, row.lanes)
    if parts:
        yield f"add s8, {parts}, zero"
        yield "loop s8, parts"
        loads, stores = _part(site, part, places)
        yield from loads
        yield from stores
        yield from (f"add {register}, {register}, {part.words}" for register in ("s1", "s2", "s3"))
        yield "parts:"
    loads, stores = _part(site, rest, places)
    yield from loads
    yield f"mul s1, s4, {row.words}"
    yield f"mul s2, s5, {row.words}"
    yield from stores
    yield f"add s3, s3, {rest.words}"


def _part(site: Site, part: Vectors, places: list[int]) -> tuple[list[str], list[str]]:
    """Loads, with fetches between them; stores."""
    load = f"load.v v{{i}}, [s1 + {site.arrays['key'].base} + {{at}}]{{m}}"
    loads = [[line] for line in text_lines(part.each(load))]
    stores = [
        line
        for place in places
        for line in text_lines(part.each(f"store.v v{{i}}, [s3 + {place} + {{at}}]{{m}}"))
    ]
    return [*spread(loads, [*_fetches(site, part)])], stores


def _fetches(site: Site, part: Vectors) -> Iterator[str]:
    return (f"prefetch [s2 + {site.arrays['key'].base + word}]" for word in part.lines)


def _place(register: str, index: int, words: int) -> Iterator[str]:
    """Loads the place of the row whose number is at ``index``."""
    yield f"load {register}, [{index}]"
    yield f"mul {register}, {register}, {words}"

"""Messages between the vertices of a graph (FusedMM), decoupled.

The access unit brings a neighbour's row twice, from L2 the second time: for its product with the
vertex's row, which four sums side by side add up, and to be added to the result's row, which stays
in registers. Of the vertex's row, a half stays there, too; the other half is loaded for each edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import Event
from gnarl.sw.compiler.tmu.by_hand.bags import by_offsets
from gnarl.sw.compiler.tmu.by_hand.layers import Fiber, Layers, Token, vector
from gnarl.sw.compiler.tmu.by_hand.site import Site, Vectors, row_of

SUMS = 4
"""Vectors of partial sums."""

MOST = 16
"""Vectors of a row."""

_SUM, _LOADED, _KEPT = 16, 20, 24
"""The first registers of sums, and of the vertex's vectors; the result's are from 0 on."""


def fused_mm(site: Site, layers: Layers) -> str:
    """s0: where the result's row goes; s6: where the vertex's row is."""
    _neighbours(site, layers)
    row = row_of(site, MOST)
    begin = f"""
{row.each("    add.v v{i}, zero, zero")}
{_join(_load(row, i) for i in range(min(row.count, 8)))}
{_join(_load(row, i) for i in range(12, row.count))}
{_join(f"    prefetch [s6 + {word}]" for word in range(row.words, 2 * row.words, LINE_WORDS))}
    jump_token
"""
    return f"""
    add s0, {site.arrays["out"].base}, zero
    add s6, {site.arrays["vertex"].base}, zero
    {row.mask}
{begin}
edge:
    extract.v s1, deq, 0
{_join(_products(row))}
{_total(min(row.count, SUMS))}
    fmul s1, s1, s2
{row.each("    fmul_add.v v{i}, s1, deq, v{i}")}
    jump_token
vertex:
{row.each("    store.v v{i}, [s0 + {at}]{m}")}
    add s0, s0, {row.words}
    add s6, s6, {row.words}
{begin}
end:
    halt
"""


def _join(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _is_kept(i: int) -> bool:
    """Whether vector ``i`` of the vertex stays in its registers; 0 to 3 and 8 to 11 share
    theirs."""
    return i % 8 >= 4


def _register(i: int) -> int:
    return _KEPT + i // 8 * 4 + i % 4 if _is_kept(i) else _LOADED + i % 4


def _load(row: Vectors, i: int) -> str:
    return row.line(f"    load.v v{_register(i)}, [s6 + {{at}}]{{m}}", i)


def _products(row: Vectors) -> Iterator[str]:
    """Loads go where what the register had is no longer needed."""
    for i in range(row.count):
        total = _SUM + i % SUMS
        operands = f"v{total}, v{_register(i)}, deq"
        yield f"    fmul.v {operands}" if i < SUMS else f"    fmul_add.v {operands}, v{total}"
        if not _is_kept(i) and i + 8 < row.count:
            yield _load(row, i + 8)
        elif not _is_kept(i) and i >= 8:
            yield _load(row, i - 8)


def _total(sums: int) -> str:
    """s2: of all lanes, by halves; + 0, which the total begins as."""
    lines = []
    for half in (2, 1):
        for i in range(min(half, sums - half)):
            first, second = _SUM + i, _SUM + i + half
            lines.append(f"    fadd.v v{first}, v{first}, v{second}")
    lines += [f"    reduce_add.v s2, v{_SUM}", "    fadd s2, s2, zero"]
    return _join(lines)


def _neighbours(site: Site, layers: Layers) -> None:
    dim, arrays = site.sizes["dim"], site.arrays
    vertices, edges = by_offsets(site, layers, "vertices")
    index, value = (
        edges.memory(arrays[name], edges.induction, temporal=False)
        for name in ("indices", "values")
    )
    edges.on(Event.ITERATION, vector(value), Token("edge"))
    edges.on(Event.END, Token("vertex"))
    vertices.on(Event.END, Token("end"))
    layers.single(Fiber(0, 2))
    elements = layers.lockstep(dim)
    element = elements.memory(arrays["neighbour"], index, elements.induction, scale=dim)
    elements.on(Event.ITERATION, vector(element))

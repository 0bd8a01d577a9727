"""What every SAM block makes of its streams, in plain Python on lists of tokens.

Written from the description of the SAM tools and of the blocks here, to judge the hardware by. All
of it takes complete streams, up to their done token, and gives such. Tokens are the integers of
``gnarl.hw.sam.token``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce as fold
from itertools import zip_longest

import numpy as np

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.token import DONE, EMPTY, Kind, stop
from gnarl.sw.golden.arithmetic import arithmetic
from tests.support.sam.tokens import kind_of, payload_of

Tokens = list[int]
Pairs = tuple[Tokens, Tokens]


def is_item(token: int) -> bool:
    """Data or empty: what one repeats, counts, or looks up."""
    return kind_of(token) in (Kind.DATA, Kind.EMPTY)


def is_stop(token: int) -> bool:
    return kind_of(token) == Kind.STOP


@dataclass
class Fiber:
    """Items up to a stop, whose level is ``level``."""

    items: Tokens
    level: int


def fibers(tokens: Sequence[int]) -> list[Fiber]:
    """Fibers of a stream of at least one level."""
    assert tokens[-1] == DONE and tokens.count(DONE) == 1
    found, items = [], []
    for token in tokens[:-1]:
        if is_stop(token):
            found.append(Fiber(items, payload_of(token)))
            items = []
        else:
            items.append(token)
    assert not items, "a stream of fibers that does not end in a stop"
    return found


def flat(found: Sequence[Fiber]) -> Tokens:
    """Inverse of ``fibers``."""
    return [token for fiber in found for token in (*fiber.items, stop(fiber.level))] + [DONE]


def down_a_level(tokens: Sequence[int], items: Callable[[int], Tokens]) -> Tokens:
    """Every item becomes the fiber ``items(item)``, and stops are raised by one."""
    found: Tokens = []
    is_open = False
    for token in tokens:
        if is_open and not is_stop(token):
            found.append(stop(0))
        if is_item(token):
            found += items(token)
        else:
            found.append(stop(payload_of(token) + 1) if is_stop(token) else token)
        is_open = is_item(token)
    return found


def _down_two(tokens: Sequence[int], items: Callable[[int], list[tuple[int, int]]]) -> Pairs:
    """Two streams, of the firsts and the seconds of pairs."""
    return (
        down_a_level(tokens, lambda token: [pair[0] for pair in items(token)]),
        down_a_level(tokens, lambda token: [pair[1] for pair in items(token)]),
    )


def lookup_dense(ref: Tokens, size: int) -> Pairs:
    def items(token: int) -> list[tuple[int, int]]:
        return [] if token == EMPTY else [(crd, token * size + crd) for crd in range(size)]

    return _down_two(ref, items)


def lookup_compressed(ref: Tokens, segments: Sequence[Sequence[int]], crds: Tokens) -> Pairs:
    """``segments``: first row of ``crds`` and the one after the last, of each fiber."""

    def items(token: int) -> list[tuple[int, int]]:
        return [] if token == EMPTY else [(crds[row], row) for row in range(*segments[token])]

    return _down_two(ref, items)


def lookup_bitvector(ref: Tokens, rows: Sequence[Sequence[int]], words: int) -> Pairs:
    """``rows``: a word, and the number of ones before it."""

    def items(token: int) -> list[tuple[int, int]]:
        return [] if token == EMPTY else [tuple(row) for row in rows[token * words :][:words]]

    return _down_two(ref, items)


def locate(crd: Tokens, ref: Tokens, size: int) -> Tokens:
    """``ref``: beside each coordinate, the parent of its fiber."""
    return [
        parent if parent == EMPTY or not is_item(parent) else parent * size + coordinate
        for parent, coordinate in zip(ref, crd, strict=True)
    ]


def array_values(ref: Tokens, values: Sequence[int]) -> Tokens:
    return [0 if token == EMPTY else values[token] if is_item(token) else token for token in ref]


def repeat_signals(crd: Tokens) -> Tokens:
    """A data token of payload 0 for each item; stops and done as they are.

    The SAM tools have stops without levels: what follows a reference tells there which one it is.
    """
    return [0 if is_item(token) else token for token in crd]


def _level_after(token: int) -> int:
    """Level of the stop that ends a fiber, by what comes after the fiber's parent."""
    return payload_of(token) + 1 if is_stop(token) else 0


def repeat(ref: Tokens, signals: Tokens) -> Tokens:
    """The stops by the references, as the SAM tools have it; those of the signals are the same."""
    within = iter(fibers(signals))
    found: Tokens = []
    for place, token in enumerate(ref):
        behind = place > 0 and is_item(ref[place - 1])
        if is_item(token):
            fiber = next(within)
            assert fiber.level == _level_after(ref[place + 1])
            found += [token] * len(fiber.items) + [stop(fiber.level)]
        elif not is_stop(token):
            found.append(token)
        elif not behind:
            assert next(within) == Fiber([], _level_after(token))
            found.append(stop(_level_after(token)))
    assert next(within, None) is None
    return found


@dataclass
class Lane:
    """Coordinates and references of one operand of a joiner."""

    crd: Tokens
    ref: Tokens

    def fibers(self) -> Iterator[tuple[dict[int, int], int]]:
        for crd, ref in zip(fibers(self.crd), fibers(self.ref), strict=True):
            assert crd.level == ref.level
            assert crd.items == sorted(set(crd.items))
            yield dict(zip(crd.items, ref.items, strict=True)), crd.level


def _join(
    lanes: tuple[Lane, Lane], chosen: Callable[[set[int], set[int]], set[int]]
) -> tuple[Tokens, Tokens, Tokens]:
    found: tuple[Tokens, Tokens, Tokens] = ([], [], [])
    for (first, level), (second, other) in zip(lanes[0].fibers(), lanes[1].fibers(), strict=True):
        assert level == other
        for crd in sorted(chosen(set(first), set(second))):
            for tokens, token in zip(
                found, (crd, first.get(crd, EMPTY), second.get(crd, EMPTY)), strict=True
            ):
                tokens.append(token)
        for tokens in found:
            tokens.append(stop(level))
    for tokens in found:
        tokens.append(DONE)
    return found


def intersect(first: Lane, second: Lane) -> tuple[Tokens, Tokens, Tokens]:
    return _join((first, second), set.intersection)


def union(first: Lane, second: Lane) -> tuple[Tokens, Tokens, Tokens]:
    return _join((first, second), set.union)


def expand_bitvector(bv: Tokens, ref: Tokens) -> Pairs:
    """Coordinates of the ones, and their references: those beside a word are its first one's."""
    crds, refs = [], []
    for words, firsts in zip(fibers(bv), fibers(ref), strict=True):
        assert words.level == firsts.level
        ones = [
            (place * BITVECTOR_BITS + bit, first + (word & (1 << bit) - 1).bit_count())
            for place, (word, first) in enumerate(zip(words.items, firsts.items, strict=True))
            for bit in range(BITVECTOR_BITS)
            if word >> bit & 1
        ]
        crds.append(Fiber([crd for crd, _ in ones], words.level))
        refs.append(Fiber([one for _, one in ones], words.level))
    return flat(crds), flat(refs)


def alu(operation: Callable[[int, int], int], left: Tokens, right: Tokens) -> Tokens:
    found = []
    for one, other in zip(left, right, strict=True):
        assert is_item(one) == is_item(other) and (is_item(one) or one == other)
        found.append(operation(word_of(one), word_of(other)) if is_item(one) else one)
    return found


def word_of(token: int) -> int:
    """The value of a data or empty token."""
    return payload_of(token)


def words_of(value: int, format: str, words: int) -> list[int]:
    """The words of a block of values, the first in the lowest bits."""
    width = parse_format(format).width
    return [value >> width * place & (1 << width) - 1 for place in range(words)]


def block_of(words: Sequence[int], format: str) -> int:
    """Inverse of ``words_of``."""
    width = parse_format(format).width
    return sum(word << width * place for place, word in enumerate(words))


def operation(format: str, code: int, *places: Sequence[int]) -> Callable[[int, int], int]:
    """An operation of ``gnarl.hw.lib.operation.Operation`` on two values.

    ``places``: for each word of a result the word of the left, and that of the right one; by
    default all have one.
    """
    numbers = arithmetic(format)
    both = places or ((0,), (0,))

    def apply(left: int, right: int) -> int:
        operands = []
        for value, own in zip((left, right), both, strict=True):
            words = words_of(value, format, max(own) + 1)
            operands.append(numbers.numbers(np.array([words[at] for at in own], np.uint32)))
        return block_of(numbers.words(numbers.apply(code, *operands)).tolist(), format)

    return apply


def fold_blocks(format: str, code: int, groups: Sequence[Sequence[int]], val: Tokens) -> Tokens:
    """For each group of words of a block what its halves come to, down to one word."""
    one = operation(format, code)

    def folded(parts: list[int]) -> int:
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        return one(folded(parts[:middle]), folded(parts[middle:]))

    def of(token: int) -> int:
        words = words_of(word_of(token), format, sum(map(len, groups)))
        return block_of([folded([words[at] for at in group]) for group in groups], format)

    return [of(token) if is_item(token) else token for token in val]


def reduce(operation: Callable[[int, int], int], val: Tokens, crd: Tokens | None = None) -> Tokens:
    """A value for each fiber of ``val``, or for each item of ``crd``, one level further out."""

    def summed(fiber: Fiber) -> Tokens:
        return [fold(operation, map(word_of, fiber.items)) if fiber.items else 0]

    if crd is None:
        found = []
        for fiber in fibers(val):
            found += summed(fiber) + ([stop(fiber.level - 1)] if fiber.level else [])
        return [*found, DONE]
    sums = iter(fibers(val))
    found = []
    for place, token in enumerate(crd):
        if is_item(token):
            fiber = next(sums)
            found += summed(fiber)
            ends = crd[place + 1]
            assert fiber.level == (payload_of(ends) + 1 if is_stop(ends) else 0)
        else:
            if is_stop(token) and (place == 0 or not is_item(crd[place - 1])):
                none = next(sums)
                assert not none.items and none.level == payload_of(token) + 1
            found.append(token)
    assert next(sums, None) is None
    return found


@dataclass
class _Sums:
    """What a sparse accumulator holds between two stops of the index that it sums over."""

    add: Callable[[int, int], int]
    values: dict[tuple[int, ...], int] = field(default_factory=dict)

    def put(self, key: tuple[int, ...], value: int) -> None:
        self.values[key] = self.add(self.values[key], value) if key in self.values else value


def accumulate(
    add: Callable[[int, int], int],
    crds: Sequence[Tokens],
    val: Tokens,
    full: Sequence[bool],
    sizes: Sequence[int],
) -> list[Tokens]:
    """Streams out of a sparse accumulator, ``out_crd0`` first, ``out_val`` last.

    ``crds``: innermost first, the index that is summed over last. ``sizes`` of ``full`` indices.
    """
    order = len(crds) - 1
    values, inner = iter(fibers(val)), iter(fibers(crds[0]))
    middle = iter(fibers(crds[1])) if order == 2 else iter(())
    outs: list[Tokens] = [[] for _ in range(order + 1)]
    sums = _Sums(add)

    def take_inner(prefix: tuple[int, ...]) -> None:
        fiber, words = next(inner), next(values)
        assert fiber.level == words.level
        for crd, word in zip(fiber.items, words.items, strict=True):
            sums.put((*prefix, crd), word_of(word))

    def take_middle() -> None:
        fiber = next(middle)
        for crd in fiber.items:
            take_inner((crd,))
        if not fiber.items:
            take_inner(())  # the bare stop of nothing at all

    for place, token in enumerate(crds[order]):
        if is_item(token):
            take_middle() if order == 2 else take_inner(())
        elif is_stop(token):
            if place == 0 or not is_item(crds[order][place - 1]):
                take_middle() if order == 2 else take_inner(())
            _drain(outs, sums.values, payload_of(token), full, sizes)
            sums = _Sums(add)
        else:
            for tokens in outs:
                tokens.append(token)
    assert next(values, None) is next(inner, None) is next(middle, None) is None
    return outs


def _drain(
    outs: list[Tokens],
    sums: dict[tuple[int, ...], int],
    level: int,
    full: Sequence[bool],
    sizes: Sequence[int],
) -> None:
    def coordinates(place: int, prefix: tuple[int, ...]) -> list[int]:
        if full[place]:
            return list(range(sizes[place]))
        return sorted({key[len(prefix)] for key in sums if key[: len(prefix)] == prefix})

    def inner_fiber(prefix: tuple[int, ...], level: int) -> None:
        for crd in coordinates(0, prefix):
            outs[0].append(crd)
            outs[-1].append(sums.get((*prefix, crd), 0))
        outs[0].append(stop(level))
        outs[-1].append(stop(level))

    if len(outs) == 2:
        inner_fiber((), level)
        return
    outer = coordinates(1, ())
    outs[1] += [*outer, stop(level)]
    for crd in outer[:-1]:
        inner_fiber((crd,), 0)
    if outer:
        inner_fiber((outer[-1],), level + 1)
    else:
        outs[0].append(stop(level + 1))
        outs[-1].append(stop(level + 1))


def drop_coordinates(outer: Tokens, inner: Tokens) -> Pairs:
    """Without the outer coordinates whose inner fiber has no items."""
    nested = iter(fibers(inner))
    found = []
    for place, token in enumerate(outer):
        if is_item(token):
            if next(nested).items:
                found.append(token)
        else:
            if is_stop(token) and (place == 0 or not is_item(outer[place - 1])):
                assert not next(nested).items
            found.append(token)
    return found, list(inner)


def hold_coordinates(outer: Tokens, inner: Tokens) -> Pairs:
    return repeat(outer, repeat_signals(inner)), list(inner)


def drop_values(crd: Tokens, val: Tokens, is_zero: Callable[[int], bool]) -> Pairs:
    kept = [
        (one, other)
        for one, other in zip(crd, val, strict=True)
        if not (is_item(other) and is_zero(word_of(other)))
    ]
    return [pair[0] for pair in kept], [pair[1] for pair in kept]


def to_points(outer: Tokens, inner: Tokens) -> Pairs:
    held, inner = hold_coordinates(outer, inner)
    return [token for token in held if not is_stop(token)], [
        token for token in inner if not is_stop(token)
    ]


def from_points(outer: Tokens, inner: Tokens) -> Pairs:
    """One fiber of outer coordinates, and for each run of equal ones a fiber of inner ones."""
    assert len(outer) == len(inner)
    runs: list[tuple[int, Tokens]] = []
    for one, other in zip(outer[:-1], inner[:-1], strict=True):
        if not runs or runs[-1][0] != one:
            runs.append((one, []))
        runs[-1][1].append(other)
    outers = [one for one, _ in runs]
    last = len(runs) - 1
    nested = [Fiber(items, int(place == last)) for place, (_, items) in enumerate(runs)]
    return [*outers, stop(0), DONE], flat(nested or [Fiber([], 1)])


def deal(tokens: Tokens, lanes: int) -> list[Tokens]:
    """Items along with the stops behind them, and stops that have no item before them, in turn.

    A stop of the latter kind would look like that of an item that is still open in its lane; there,
    an empty token comes before it.
    """
    found: list[Tokens] = [[] for _ in range(lanes)]
    place = 0
    for before, token in zip([None, *tokens], tokens[:-1], strict=False):
        behind = before is not None and is_item(before) and is_stop(token)
        lane = found[(place - 1 if behind else place) % lanes]
        if is_stop(token) and not behind and lane and is_item(lane[-1]):
            lane.append(EMPTY)
        lane.append(token)
        place += not behind
    return [[*lane, DONE] for lane in found]


def deal_by_crd(crd: Tokens, tokens: Tokens, lanes: int, shift: int = 0) -> list[Tokens]:
    """Items to the lanes of their coordinates, of which ``shift`` bits are left out, empty ones to
    the first; all else to every lane."""
    found: list[Tokens] = [[] for _ in range(lanes)]
    for one, token in zip(crd, tokens, strict=True):
        assert is_item(one) == is_item(token)
        own = [found[(payload_of(one) >> shift) % lanes]] if is_item(one) else found
        for lane in own:
            lane.append(token)
    return found


def collect(lanes: Sequence[Tokens]) -> Tokens:
    """Fibers of the lanes in turn."""
    turns = [fiber for turn in zip_longest(*map(fibers, lanes)) for fiber in turn]
    count = sum(fiber is not None for fiber in turns)
    return flat(turns[:count])


def collect_values(crd: Tokens, lanes: Sequence[Tokens]) -> Tokens:
    """A value for each coordinate, from the lane that it was dealt to, and all of its stops."""
    dealt = deal(crd, len(lanes))
    values = [
        iter([each for item, each in zip(own, lane, strict=True) if kind_of(item) == Kind.DATA])
        for own, lane in zip(dealt, lanes, strict=True)
    ]
    found: Tokens = []
    place = -1
    for before, token in zip([None, *crd], crd, strict=False):
        behind = before is not None and is_item(before) and is_stop(token)
        place += not behind
        found.append(next(values[place % len(lanes)]) if is_item(token) else token)
    return found


def write_compressed(crd: Tokens, keep_empty: bool) -> tuple[list[list[int]], Tokens]:
    """Start and end of fibers, and coordinates."""
    segments, crds = [], []
    for fiber in fibers(crd):
        start = len(crds)
        crds += fiber.items
        if fiber.items or keep_empty:
            segments.append([start, len(crds)])
    return segments, crds


def write_bitvector(crd: Tokens, words: int, keep_empty: bool) -> list[list[int]]:
    """Words of fibers, and how many ones there are before each."""
    found: list[list[int]] = []
    ones = 0
    for fiber in fibers(crd):
        if fiber.items or keep_empty:
            row = sum(1 << one for one in fiber.items)
            for place in range(words):
                word = row >> BITVECTOR_BITS * place & 0xFFFFFFFF
                found.append([word, ones])
                ones += word.bit_count()
    return found


def write_values(val: Tokens) -> Tokens:
    return [word_of(token) for token in val if is_item(token)]

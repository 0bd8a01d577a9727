"""Whole streams of SAM tokens as arrays, and what functions of blocks have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import numpy as np

from gnarl.hw.lib.errors import CapacityError, GnarlError
from gnarl.hw.sam.config import size_field, size_of
from gnarl.hw.sam.graph import Block
from gnarl.hw.sam.token import DONE, EMPTY, MAX_LEVEL, PAYLOAD_BITS, Kind, stop
from gnarl.hw.sam.value_shape import ONE_WORD, ValueShape
from gnarl.sw.golden.sums import run_totals
from gnarl.sw.program.free_memory import free_bytes
from gnarl.sw.runtime.sam.model.value_blocks import ValueBlocks
from gnarl.sw.workloads.refusals import first_true

STOP = stop(0)
BYTES_A_TOKEN = 96
"""More than a block takes for each token that comes in and that it gives, in the course of its work
and for its streams."""

_FEW_TOKENS = 1 << 18
"""So many are never too many."""


class ModelError(GnarlError):
    """A run that breaks a rule of the hardware; names the block, which ``block`` is, too."""

    def __init__(self, block: Block, text: str) -> None:
        self.block = block
        super().__init__(f"block {block.name} ({block.type}): {text}")


class Stream:
    """A stream: ``tokens``, int64 as ``gnarl.hw.sam.token`` has them, the last and only the last
    done."""

    def __init__(self, tokens: np.ndarray) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ends(self) -> np.ndarray:
        """Places of stops and of the done token."""
        # Kinds are odd for tokens that control, even for those that count as data.
        return np.flatnonzero(self.tokens >> PAYLOAD_BITS & 1)

    @property
    def stops(self) -> np.ndarray:
        """Places of stops: each ends a fiber."""
        return self.ends[:-1]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Data and empty tokens of each fiber, and at last of what lies beyond the last stop."""
        return np.diff(self.ends, prepend=-1) - 1

    @cached_property
    def is_data(self) -> np.ndarray:
        """Whether each token is data or empty."""
        mask = np.ones(len(self.tokens), bool)
        mask[self.ends] = False
        return mask

    @property
    def fiber(self) -> np.ndarray:
        """Number of the fiber that each token belongs to."""
        return np.repeat(np.arange(len(self.ends)), self.lengths + 1)

    @property
    def values(self) -> int:
        """How many tokens are data or empty."""
        return len(self.tokens) - len(self.ends)

    @property
    def words(self) -> np.ndarray:
        """Payloads as words, uint32; those of empty tokens are 0."""
        return self.tokens.astype(np.uint32)


Inputs = Mapping[str, Stream]
"""A block's streams by input."""


class Parents:
    """What a stream says of the fibers one level further in: one for each data or empty token.

    A stop that follows no such token stands for an empty fiber of its own.

    heads
        places of those tokens and stops.
    given
        whether a token is there.
    last
        places of the last token that belongs to each: the stop behind it, or itself.
    stops
        the stop tokens that end the fibers.
    """

    def __init__(self, stream: Stream) -> None:
        tokens = stream.tokens
        is_head = stream.is_data.copy()
        is_head[1:] |= ~stream.is_data[:-1]
        is_head[:1] = True
        is_head[-1] = False
        self.heads = np.flatnonzero(is_head)
        self.given = stream.is_data[self.heads]
        following = tokens[self.heads + self.given]
        ends_too = following >> PAYLOAD_BITS == Kind.STOP
        self.last = self.heads + (self.given & ends_too)
        self.stops = np.where(ends_too, following + 1, STOP)


@dataclass(frozen=True)
class Done:
    """What a block has done: tokens by output, rows by array, counts by name."""

    outputs: Mapping[str, np.ndarray]
    written: Mapping[str, np.ndarray] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """What a machine holds, see ``SamConfig``; without configuration, as much as it may.

    ``placed``: rows of the places of arrays that share a memory, by ``"{block}_{array}"``;
    ``arrays``: sizes of some, as the field has them.
    """

    index_bits: int = 32
    array_words: int = 1 << 32
    accumulator_words: int = 1 << 62
    placed: Mapping[str, int] = field(default_factory=dict)
    arrays: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """A block and what is around it, besides its streams.

    ``arrays``: uint32 [rows, words] by ``"{block}_{array}"``; ``settings`` by block and setting;
    ``shapes``: what the values are that inputs are given; ``blocks``: the run's.
    """

    block: Block
    format: str
    arrays: Mapping[str, np.ndarray]
    settings: Mapping[tuple[str, str], int]
    limits: Limits
    shapes: Mapping[str, ValueShape] = field(default_factory=dict)
    blocks: ValueBlocks = field(default_factory=ValueBlocks)

    def words_of(self, name: str, stream: Stream) -> np.ndarray:
        """The words of an input's tokens, uint32 [n, words of a value]: 0 of empty ones, and
        anything of stops and done."""
        words = self.shape(name).words
        if words == 1:
            return stream.words[:, np.newaxis]
        return self.blocks.at(np.where(stream.is_data, stream.words, 0), words)

    def shape(self, name: str) -> ValueShape:
        """What the values are that an input is given."""
        return self.shapes.get(name, ONE_WORD)

    def payloads(self, words: np.ndarray) -> np.ndarray:
        """Payloads of values, int64 [n], of words uint32 [n, words of a value]."""
        if words.shape[1] == 1:
            return words[:, 0].astype(np.int64)
        return self.blocks.add(words)

    def array(self, name: str) -> np.ndarray:
        window = f"{self.block.name}_{name}"
        if window not in self.arrays:
            self.fail(f"its array {name} is missing: must be loaded before the run")
        return self.arrays[window]

    def setting(self, name: str) -> int:
        if (self.block.name, name) not in self.settings:
            self.fail(f"its setting {name} is missing: must be set before the run")
        return int(self.settings[self.block.name, name])

    def fail(self, text: str) -> NoReturn:
        raise ModelError(self.block, text)

    def rows(self, array: str, rows: np.ndarray, unread: np.ndarray | None = None) -> np.ndarray:
        """Contents of ``rows``, int64 [n, words]; 0 at the places ``unread``.

        Fails unless the other ``rows`` are rows of the array, which are those that were loaded.
        """
        loaded = self.array(array)
        if unread is not None:
            rows = rows.copy()
            rows[unread] = 0
            if len(unread) == len(rows):
                return np.zeros((len(rows), loaded.shape[1]), np.int64)
        if (at := first_true(rows >= len(loaded))) is not None:
            self.fail(
                f"reads row {rows[at]} of {array}: must be below {len(loaded)}, which were loaded"
            )
        contents = loaded[rows].astype(np.int64)
        if unread is not None:
            contents[unread] = 0
        return contents

    def require_index(self, indices: np.ndarray, what: str) -> None:
        """Fails unless all ``indices`` fit the machine's indices."""
        bits = self.limits.index_bits
        if len(indices) and int(indices.max()) >> bits:
            self.fail(f"{what} {indices.max()}: must fit {bits} bits")

    def require_room(self, tokens: int) -> None:
        """Raises ``CapacityError`` where so many tokens may need more than half of what memory is
        free."""
        needed = tokens * BYTES_A_TOKEN
        if tokens > _FEW_TOKENS and needed > (free := free_bytes()) // 2:
            raise CapacityError(
                f"block {self.block.name} ({self.block.type}): {tokens:,} tokens need {needed:,} "
                f"bytes: must be at most half of the {free:,} that are free"
            )

    def require_room_for(self, name: str, rows: int) -> None:
        limits, block = self.limits, self.block
        array = next(each for each in block.arrays if each.name == name)
        most = array.rows(size_of(limits.arrays, limits.array_words, block.name, name))
        what = size_field(limits.arrays, block.name, name)
        if array.value_words > 1:
            what += f" in rows of {array.value_words} words"
        place = limits.placed.get(f"{block.name}_{name}", most)
        if place < most:
            most, what = place, "the rows of its place"
        if rows > most:
            self.fail(f"writes {rows:,} rows to {name}: must be at most {most:,}, {what}")

    def require_levels(self, stops: np.ndarray) -> None:
        if len(stops) and int(stops.max()) > stop(MAX_LEVEL):
            self.fail(f"gives a stop of level {stops.max() - STOP}: must be at most {MAX_LEVEL}")

    def require_same(self, left: Stream, right: Stream, names: tuple[str, str]) -> None:
        """Fails unless data and control tokens lie at the same places, and stops are the same."""
        same = len(left.ends) == len(right.ends) and bool(
            (left.ends == right.ends).all()
            and (left.tokens[left.ends] == right.tokens[right.ends]).all()
        )
        if not same:
            self._fail_at_first(left, right, names)

    def require_fibers(self, parents: Parents, child: Stream, names: tuple[str, str]) -> None:
        """Fails unless ``child`` has a fiber for each of ``parents``."""
        if len(parents.stops) != len(child.stops):
            self.fail(
                f"{names[0]} has {len(parents.stops)} fibers below it, {names[1]} has "
                f"{len(child.stops)}: must be the same"
            )

    def require_stops(self, parents: Parents, child: Stream, names: tuple[str, str]) -> None:
        """Fails unless ``child`` has a fiber for each of ``parents``, with the stop that fits."""
        self.require_fibers(parents, child, names)
        at = first_true(child.tokens[child.stops] != parents.stops)
        if at is not None:
            is_level = child.tokens[child.stops[at]] - STOP
            self.fail(
                f"fiber {at} of {names[1]} ends in S{is_level}: must be "
                f"S{parents.stops[at] - STOP}, as {names[0]} has it"
            )
        at = first_true((child.lengths[:-1] > 0) & ~parents.given)
        if at is not None:
            self.fail(
                f"fiber {at} of {names[1]} has data: must be empty, as {names[0]} has none there"
            )

    def _fail_at_first(self, left: Stream, right: Stream, names: tuple[str, str]) -> NoReturn:
        count = min(len(left), len(right))
        one, other = left.tokens[:count].copy(), right.tokens[:count].copy()
        one[left.is_data[:count]] = 0
        other[right.is_data[:count]] = 0
        at = int(np.argmax(np.append(one != other, True)))
        shown = [
            _shown(int(stream.tokens[at])) if at < count else "more or less"
            for stream in (left, right)
        ]
        self.fail(f"token {at}: {names[0]} has {shown[0]} and {names[1]} has {shown[1]}")


def totals_of(words: np.ndarray, lengths: np.ndarray, op: str, format: str) -> np.ndarray:
    """Totals of runs of values, uint32 [runs, words], each word by itself; see ``run_totals``."""
    columns = [run_totals(column, lengths, op, format) for column in words.T]
    return np.stack(columns, axis=1)


def _shown(token: int) -> str:
    if token >= DONE:
        return "D"
    if token == EMPTY or token < STOP:
        return "data"
    return f"S{token - STOP}"

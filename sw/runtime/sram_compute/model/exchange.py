"""Rows from tile to tile: what moves, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.runtime.sram_compute.model.bank import Bank, Pattern, packed, rolled


@dataclass(frozen=True)
class Exchange:
    """A shift or a broadcast.

    steps
        those of all rows: pairs of source and target tiles, int64 [n, 2] each.
    packed
        whether arrays send bits, all at once.
    """

    a: int
    d: int
    n: int
    distance: int
    bitlines: Pattern
    patterns: Sequence[Pattern]
    steps: Sequence[np.ndarray]
    packed: bool = False


def shift_steps(config: SramConfig, tiles: Pattern, between: int) -> list[np.ndarray]:
    """All banks' tiles of the same array at a time."""
    targets = np.flatnonzero(tiles.places(config.tiles))
    sources = (targets - between) % config.tiles
    pairs = np.stack([sources, targets], axis=1)
    return [pairs[targets % config.arrays == slot] for slot in np.unique(targets % config.arrays)]


def broadcast_steps(config: SramConfig, sources: Pattern, copies: Pattern) -> list[np.ndarray]:
    """A source at a time; where all its copies are in one bank, with it those that are the same
    array of banks behind."""
    distances = np.flatnonzero(copies.places(config.tiles))
    remaining = np.flatnonzero(sources.places(config.tiles))
    steps = []
    while len(remaining):
        targets = (remaining[:, None] + distances) % config.tiles
        is_alone = len(np.unique(targets[0] // config.arrays)) == 1
        slots = remaining % config.arrays
        goes = slots == slots[0] if is_alone else remaining == remaining[0]
        pairs = np.stack(np.broadcast_arrays(remaining[goes, None], targets[goes]), axis=-1)
        steps.append(pairs.reshape(-1, 2))
        remaining = remaining[~goes]
    return steps


def exchange(config: SramConfig, banks: Sequence[Bank], given: Exchange) -> None:
    mask = packed(given.bitlines.places(config.bitlines))
    words = config.bitlines // 64
    planes = [bank.arrays.planes.reshape(config.wordlines, -1, words) for bank in banks]
    rows = np.concatenate([each[given.a : given.a + given.n] for each in planes], axis=1)
    taken = rolled(rows, given.distance)
    sources, targets = np.concatenate(given.steps).T
    kept = np.concatenate([each[given.d : given.d + given.n] for each in planes], axis=1)
    kept[:, targets] = kept[:, targets] & ~mask | taken[:, sources] & mask
    for each, part in zip(planes, np.split(kept, len(banks), axis=1), strict=True):
        each[given.d : given.d + given.n] = part


@dataclass(frozen=True)
class ExchangeCost:
    """Cycles until the last row is sent, from that of the start on; bits that change in tiles of
    the bank that had them, and that banks take from another."""

    cycles: int
    bits_between_tiles: int
    bits_between_banks: int


def cost(config: SramConfig, given: Exchange) -> ExchangeCost:
    if given.packed:
        return _packed_cost(config, given)
    bits = int(np.count_nonzero(given.bitlines.places(config.bitlines)))
    flits = -(-bits // config.network_bits)
    expanded = max(each.cycles for each in (given.bitlines, *given.patterns))
    planned = (config.bitlines - 1).bit_length()
    cycles, tiles, banks = expanded + planned + 2, 0, 0
    for local, crossing in _places(config, given):
        cycles += 1 + given.n * (flits if crossing else 1)
        tiles += local
        banks += crossing
    return ExchangeCost(cycles, bits * given.n * tiles, bits * given.n * banks)


def _packed_cost(config: SramConfig, given: Exchange) -> ExchangeCost:
    bits = int(np.count_nonzero(given.bitlines.places(config.bitlines)))
    sources, targets = np.concatenate(given.steps).T
    crosses = sources // config.arrays != targets // config.arrays
    places = targets[crosses] % config.arrays * config.tree_bits
    chunks = len(np.unique(places // config.network_bits))
    expanded = max(each.cycles for each in (given.bitlines, *given.patterns))
    cycles = expanded + 1 + given.n * -(-bits // config.tree_bits) * max(1, chunks)
    crossing = int(np.count_nonzero(crosses))
    local = len(targets) - crossing
    return ExchangeCost(cycles, bits * given.n * local, bits * given.n * crossing)


def _places(config: SramConfig, given: Exchange) -> Iterator[tuple[int, int]]:
    """For each step, the number of tiles that take rows of their own bank, and of banks that take
    rows of another. A bank takes from one at most."""
    for pairs in given.steps:
        source_banks, target_banks = (pairs // config.arrays).T
        crosses = source_banks != target_banks
        yield int(np.count_nonzero(~crosses)), len(np.unique(target_banks[crosses]))

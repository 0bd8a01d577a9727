"""Tensors as fibertrees: a level for each mode, dense, compressed or a bitvector.

A level holds fibers, one for each position of the level above it (one for the root), and a
position for each coordinate that it stores; the positions of the last level are those of the
values. Source: Chou, Kjolstad, Amarasinghe, "Format Abstraction for Sparse Tensor Algebra
Compilers", OOPSLA 2018; Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR, COMPRESSED, DENSE
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.refusals import first_true
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor

LEVEL_FORMATS = {"d": DENSE, "s": COMPRESSED, "b": BITVECTOR}
"""Level formats by their letters in the notation of the TACO and SAM command lines."""

_LETTERS = {name: letter for letter, name in LEVEL_FORMATS.items()}


@dataclass(frozen=True)
class TensorFormat:
    """How a tensor is stored, outermost level first.

    levels
        a level format each, as ``LEVEL_FORMATS`` names them.
    modes
        the mode (dimension, from 0) that each level stores: a permutation.

    Raises ``WorkloadError``. ``str`` gives the notation of SAM's graphs: ``ss10``, or ``none`` for
    a scalar.
    """

    levels: tuple[str, ...]
    modes: tuple[int, ...]

    def __post_init__(self) -> None:
        for number, level in enumerate(self.levels):
            if level not in _LETTERS:
                raise WorkloadError(
                    f"level {number}: format {level!r}: must be {', '.join(_LETTERS)}"
                )
        if sorted(self.modes) != list(range(len(self.levels))):
            raise WorkloadError(
                f"modes {self.modes} of {len(self.levels)} levels: must be a permutation of "
                f"{tuple(range(len(self.levels)))}"
            )

    @property
    def order(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def letters(self) -> str:
        """A letter for each level."""
        return "".join(_LETTERS[level] for level in self.levels)

    @property
    def notation(self) -> str:
        """A letter for each level, and the mode that it stores: ``ds:1,0``."""
        return f"{self.letters}:{','.join(map(str, self.modes))}"

    def option(self, tensor: str) -> str:
        """What gives a tensor the format on the command line."""
        return f"-f={tensor}:{self.notation}"

    def __str__(self) -> str:
        return self.letters + "".join(map(str, self.modes)) if self.levels else "none"


@dataclass(frozen=True, eq=False)
class DenseLevel:
    """Every coordinate below ``size``: position = parent's position · size + coordinate."""

    size: int


@dataclass(frozen=True, eq=False)
class CompressedLevel:
    """Lists of coordinates.

    segments
        int64 [fibers + 1]: fiber f has the positions from segments[f] to below segments[f+1].
    coordinates
        int64 [positions]: below ``size``, ascending in each fiber.
    """

    size: int
    segments: np.ndarray
    coordinates: np.ndarray


@dataclass(frozen=True, eq=False)
class BitvectorLevel:
    """A bit for each coordinate; a position is the number of ones before it, in all fibers.

    words
        uint32 [fibers · words_per_fiber]: bit b of word w of a fiber stands for the coordinate
        word_bits · w + b.
    word_bits
        bits used in a word, 1 to 32.
    """

    size: int
    words: np.ndarray
    word_bits: int = 32

    @property
    def words_per_fiber(self) -> int:
        """Words of each fiber."""
        return -(-self.size // self.word_bits)


Level = DenseLevel | CompressedLevel | BitvectorLevel

_CLASSES: dict[str, type[Level]] = {
    DENSE: DenseLevel,
    COMPRESSED: CompressedLevel,
    BITVECTOR: BitvectorLevel,
}


@dataclass(frozen=True, eq=False)
class Storage:
    """A stored tensor.

    shape
        size of each mode, in the order of modes and not of levels.
    levels
        outermost first, as ``format`` says.
    values
        float64 [positions of the last level]; one value if there is no level.
    """

    format: TensorFormat
    shape: tuple[int, ...]
    levels: tuple[Level, ...]
    values: np.ndarray


class StorageError(WorkloadError):
    """Something in a storage that is invalid.

    level
        its number, or None for the values.
    array, index
        the array's name and a place in it; "" and None for what concerns the level or array as a
        whole.
    text
        what is wrong, and what would be right.
    """

    def __init__(self, level: int | None, array: str, index: int | None, text: str) -> None:
        self.array, self.index, self.text = array, index, text
        place = "" if level is None else f"level {level}: "
        where = array + ("" if index is None else f"[{index}]")
        super().__init__(place + " ".join(filter(None, [where, text])))


def store(
    tensor: Tensor, format: TensorFormat, word_bits: int = 32, name: str = "tensor"
) -> Storage:
    """The tensor in a format; ``word_bits`` as in ``BitvectorLevel``, ``name`` for errors.

    A fiber below a position of a compressed or bitvector level is never empty, unless there is a
    dense level between them. Dense levels bring positions of value zero.

    Raises ``WorkloadError`` for a format of another order, ``CapacityError`` for more than
    ``DENSE_LIMIT`` positions, fibers or words. O(nnz log nnz + positions).
    """
    if format.order != tensor.order:
        raise WorkloadError(
            f"{name}: format {format} has {format.order} levels: must have {tensor.order}, one for "
            "each dimension"
        )
    if not 1 <= word_bits <= 32:
        raise WorkloadError(f"{name}: bitvector words of {word_bits} bits: must be 1 to 32")
    coordinates, values = tensor.coordinates, tensor.values
    if format.modes != tuple(range(tensor.order)):
        coordinates = coordinates[:, format.modes]
        order = ascending_order(coordinates)
        coordinates, values = coordinates[order], values[order]

    levels: list[Level] = []
    positions = 1
    position = np.zeros(tensor.nnz, np.int64)  # of each entry; never descends
    for number, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        size, coordinate = tensor.shape[mode], coordinates[:, number]
        place = f"{name}: level {number} (dimension {mode}, {kind})"
        if kind == DENSE:
            _require_capacity(positions, size, f"{place} has", "positions")
            levels.append(DenseLevel(size))
            position = position * size + coordinate
            positions *= size
            continue
        first = np.ones(len(position), bool)
        first[1:] = (position[1:] != position[:-1]) | (coordinate[1:] != coordinate[:-1])
        fiber, kept = position[first], coordinate[first]
        if kind == COMPRESSED:
            segments = np.zeros(positions + 1, np.int64)
            np.cumsum(np.bincount(fiber, minlength=positions), out=segments[1:])
            levels.append(CompressedLevel(size, segments, kept))
        else:
            words_per_fiber = -(-size // word_bits)
            _require_capacity(positions, words_per_fiber, f"{place} needs", "words")
            words = _words(fiber * words_per_fiber, kept, positions * words_per_fiber, word_bits)
            levels.append(BitvectorLevel(size, words, word_bits))
        position = np.cumsum(first) - 1
        positions = len(kept)

    stored = np.zeros(positions)
    stored[position] = values
    return Storage(format, tensor.shape, tuple(levels), stored)


def restore(storage: Storage) -> Tensor:
    """The stored tensor.

    Every position of the last compressed or bitvector level is an entry. Where dense levels lie
    below it (or there are only such) the entries are the values that are not zero: whether a zero
    was an entry is not known then. A scalar is an entry.

    Raises ``WorkloadError`` as ``check`` does. O(positions + nnz log nnz · order).
    """
    check(storage)
    values = storage.values
    position = np.arange(len(values))
    if storage.levels and isinstance(storage.levels[-1], DenseLevel):
        position = np.flatnonzero(values)
        values = values[position]
    coordinates = np.empty((len(position), len(storage.levels)), np.int64)
    for level, mode in zip(reversed(storage.levels), reversed(storage.format.modes), strict=True):
        match level:
            case DenseLevel():
                position, coordinates[:, mode] = np.divmod(position, level.size)
            case CompressedLevel():
                coordinates[:, mode] = level.coordinates[position]
                # Empty fibers end where the next begins, so the last that begins there is meant.
                position = np.searchsorted(level.segments, position, side="right") - 1
            case BitvectorLevel():
                fibers, kept = _ones(level)
                coordinates[:, mode] = kept[position]
                position = fibers[position]
    order = ascending_order(coordinates)
    return Tensor(storage.shape, coordinates[order], values[order])


def restore_entries(
    format: TensorFormat, shape: tuple[int, ...], levels: tuple[Level, ...], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates, int64 [positions, order], ascending, and values of every position of the last
    level, zeros too; values are of any type. Raises ``WorkloadError`` as ``check`` does.
    """
    # Entries are identified by their places among the values, from 1: none of them is zero.
    places = np.arange(1, len(values) + 1, dtype=np.float64)
    tensor = restore(Storage(format, shape, levels, places))
    return tensor.coordinates, values[tensor.values.astype(np.int64) - 1]


def check(storage: Storage) -> None:
    """Raises ``StorageError`` naming level, array and index of the first fault.

    Empty fibers are allowed anywhere. O(positions).
    """
    format, shape = storage.format, storage.shape
    if len(shape) != format.order or len(storage.levels) != format.order:
        raise WorkloadError(
            f"format {format} with {len(storage.levels)} levels and {len(shape)} dimensions: must "
            f"have {format.order} of each"
        )
    fibers = 1
    for number, (level, kind, mode) in enumerate(
        zip(storage.levels, format.levels, format.modes, strict=True)
    ):
        if not isinstance(level, _CLASSES[kind]):
            name = type(level).__name__
            raise StorageError(number, "", None, f"{name} in format {format}: must be {kind}")
        if level.size != shape[mode] or level.size < 0:
            right = f"must be that of dimension {mode}, {shape[mode]}, and not negative"
            raise StorageError(number, "", None, f"size {level.size}: {right}")
        match level:
            case DenseLevel():
                fibers *= level.size
            case CompressedLevel():
                check_compressed(level, number, fibers)
                fibers = len(level.coordinates)
            case BitvectorLevel():
                _check_bitvector(level, number, fibers)
                fibers = len(_ones(level)[0])
    _check_array(None, "values", storage.values, np.float64, fibers)


def check_compressed(level: CompressedLevel, number: int, fibers: int) -> None:
    """Checks as ``check`` does, for one level that is to have so many fibers."""
    segments, coordinates = level.segments, level.coordinates
    _check_array(number, "segments", segments, np.int64, fibers + 1)
    _check_array(number, "coordinates", coordinates, np.int64, None)
    if segments[0] != 0:
        raise StorageError(number, "segments", 0, f"is {segments[0]}: must be 0")
    at = first_true(segments[1:] < segments[:-1])
    if at is not None:
        text = f"is {segments[at + 1]}, below {segments[at]} before it: must not descend"
        raise StorageError(number, "segments", at + 1, text)
    if segments[-1] != len(coordinates):
        text = f"is {segments[-1]}: must be {len(coordinates)}, the number of coordinates"
        raise StorageError(number, "segments", fibers, text)
    at = first_true((coordinates < 0) | (coordinates >= level.size))
    if at is not None:
        text = f"is {coordinates[at]}: must be 0 to {level.size - 1}"
        raise StorageError(number, "coordinates", at, text)
    falls = coordinates[1:] <= coordinates[:-1]
    starts = segments[1:-1]
    falls[starts[(starts > 0) & (starts < len(coordinates))] - 1] = False
    at = first_true(falls)
    if at is not None:
        text = f"is {coordinates[at + 1]} after {coordinates[at]} in the same fiber: must ascend"
        raise StorageError(number, "coordinates", at + 1, text)


def _require_capacity(fibers: int, width: int, has: str, what: str) -> None:
    if fibers * width > DENSE_LIMIT:
        raise CapacityError(
            f"{has} {fibers:,} x {width:,} {what}: at most {DENSE_LIMIT:,}; a compressed level "
            "stores only entries"
        )


def _words(start: np.ndarray, coordinate: np.ndarray, count: int, word_bits: int) -> np.ndarray:
    """Words with the bits of ascending coordinates, each with the first word of its fiber."""
    words = np.zeros(count, np.uint32)
    if len(coordinate):
        at = start + coordinate // word_bits
        bit = np.left_shift(np.uint32(1), (coordinate % word_bits).astype(np.uint32))
        first = np.flatnonzero(np.diff(at, prepend=-1))
        words[at[first]] = np.bitwise_or.reduceat(bit, first)
    return words


def _ones(level: BitvectorLevel) -> tuple[np.ndarray, np.ndarray]:
    """Fiber and coordinate of each position, int64 [positions]."""
    occupied = np.flatnonzero(level.words)
    octets = level.words[occupied].astype("<u4").view(np.uint8).reshape(-1, 4)
    word, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    fiber, offset = np.divmod(occupied[word], level.words_per_fiber)
    return fiber, offset * level.word_bits + bit


def _check_array(
    level: int | None, name: str, array: np.ndarray, kind: type[np.generic], length: int | None
) -> None:
    if array.dtype != kind or array.ndim != 1:
        given = f"are {array.dtype} of {array.ndim} dimensions"
        raise StorageError(level, name, None, f"{given}: must be {np.dtype(kind)} of one")
    if length is not None and len(array) != length:
        raise StorageError(level, name, None, f"are {len(array)}: must be {length}")


def _check_bitvector(level: BitvectorLevel, number: int, fibers: int) -> None:
    if not 1 <= level.word_bits <= 32:
        text = f"words of {level.word_bits} bits: must be 1 to 32"
        raise StorageError(number, "", None, text)
    words = level.words
    _check_array(number, "words", words, np.uint32, fibers * level.words_per_fiber)
    if not len(words):
        return
    last = level.size - (level.words_per_fiber - 1) * level.word_bits
    allowed = np.full(level.words_per_fiber, 2**level.word_bits - 1, np.uint32)
    allowed[-1] = 2**last - 1
    at = first_true((words.reshape(-1, level.words_per_fiber) & ~allowed).ravel() != 0)
    if at is not None:
        text = f"is {words[at]:#x}: must have no bit for a coordinate from {level.size} on"
        raise StorageError(number, "words", at, text)

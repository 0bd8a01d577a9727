"""Folders with tensors as fibertrees, as the SAM tools write them.

A tensor T is stored in the files ``tensor_T_mode_vals``, ``tensor_T_mode_shape`` and, for each
dimension m that is stored in a compressed level, ``tensor_T_mode_m_seg`` and ``_crd``: one decimal
number a line. Dense levels have no files. Which level stores which dimension is not written down;
it follows from the lengths of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.hw.lib.text_lines import BLANKS, text_lines
from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.program.atomic import write_text
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.storage import (
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Level,
    Storage,
    StorageError,
    TensorFormat,
    check_compressed,
    restore,
)
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.text_file import READERS, Kind, number_table, read_text

_FileLevel = DenseLevel | CompressedLevel

_MAX_ORDER = 10
"""SAM's formats name a mode by one digit."""

_COMPARED = 24
"""Mode orders that are compared where several fit: all of a tensor of order 4."""

_FARTHEST = 2**63 - 1
"""A coordinate that no size is beyond."""

_KINDS = ("seg", "crd")
_VALUES_FILE = re.compile(r"tensor_(\w+)_mode_vals")
_NAME = re.compile(r"\w+", re.ASCII)


def tensors_in(folder: str | Path) -> list[str]:
    """Names of the tensors that a folder has values of, sorted; none if it is no folder."""
    try:
        files = [file.name for file in Path(folder).iterdir()]
    except OSError:
        return []
    return sorted(match[1] for match in map(_VALUES_FILE.fullmatch, files) if match)


def load_fibertree(folder: str | Path, name: str, modes: Sequence[int] | None = None) -> Tensor:
    """The tensor ``name`` of a folder.

    modes
        the dimension that each level stores, outermost first. By default what fits the files,
        dense levels in ascending order of their dimensions.

    A size in the shape file that is below a coordinate grows to hold it. A last segment that ends
    one behind the coordinates, as some of SAM's scripts write it, is cut.

    Raises ``WorkloadError`` with file and line. O(positions + entries · log entries · order).
    """
    folder = Path(folder)
    with damaged_as(WorkloadError, folder / f"tensor_{name}"):
        if name not in tensors_in(folder):
            known = tensors_in(folder)
            there = f"there are {', '.join(known)}" if known else "the folder has no tensors"
            raise WorkloadError(f"{folder}: no file tensor_{name}_mode_vals: {there}")
        return _load(folder, name, modes)


def save_fibertree(folder: str | Path, name: str, storage: Storage) -> None:
    """Writes a tensor into a folder, which is created if missing.

    Each file appears whole or not at all; files of an older tensor of this name go. Which dense
    level came first is lost where dimensions do not ascend: ``load_fibertree`` needs ``modes``
    then. Raises ``WorkloadError`` for bitvector levels, which are not supported, and ``OSError``.
    """
    if not _NAME.fullmatch(name):
        raise WorkloadError(f"tensor name {name!r}: must be letters, digits and underscores")
    texts: dict[str, str] = {}
    for number, (level, mode) in enumerate(zip(storage.levels, storage.format.modes, strict=True)):
        if isinstance(level, BitvectorLevel):
            raise WorkloadError(
                f"tensor {name}: level {number} is a bitvector: fibertree files hold only dense "
                "and compressed levels"
            )
        if isinstance(level, CompressedLevel):
            texts[f"{mode}_seg"] = _column(level.segments)
            texts[f"{mode}_crd"] = _column(level.coordinates)
    texts["shape"] = _column(np.array(storage.shape, np.int64))
    texts["vals"] = _column(storage.values)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for mode in range(_MAX_ORDER):
        for kind in _KINDS:
            if f"{mode}_{kind}" not in texts:
                _file(folder, name, f"{mode}_{kind}").unlink(missing_ok=True)
    for part, text in texts.items():
        write_text(_file(folder, name, part), text)


def _load(folder: Path, name: str, modes: Sequence[int] | None) -> Tensor:
    values = _numbers(_file(folder, name, "vals"), np.float64)
    shape = _shape(folder, name)
    levels = [_level(folder, name, mode, size) for mode, size in enumerate(shape)]
    shape = tuple(level.size for level in levels)
    if modes is not None and sorted(modes) != list(range(len(shape))):
        raise WorkloadError(
            f"{folder}: tensor {name}: modes {tuple(modes)}: must be a permutation of "
            f"{tuple(range(len(shape)))}"
        )
    if any(isinstance(level, CompressedLevel) for level in levels) and _is_empty(levels, values):
        return Tensor(shape, np.zeros((0, len(shape)), np.int64), values)
    orders = dict(islice(_orders(levels, modes), _COMPARED))
    if not orders:
        wanted = "no order of its modes fits" if modes is None else f"modes {tuple(modes)} misfit"
        raise WorkloadError(
            f"{folder}: tensor {name}: {wanted}: {_sizes(levels)}; the outermost level must have "
            "one fiber, each further one a fiber for each position of the level above"
        )
    fitting = [order for order, positions in orders.items() if positions == len(values)]
    if not fitting:
        wanted = str(next(iter(orders.values())))
        path = _file(folder, name, "vals")
        raise WorkloadError(f"{path}: {len(values)} values: must be {wanted}")
    tensors = [_tensor(shape, levels, order, values) for order in fitting]
    for order, tensor in zip(fitting[1:], tensors[1:], strict=True):
        if not _same(tensor, tensors[0]):
            raise WorkloadError(
                f"{folder}: tensor {name}: its files fit modes in the orders {fitting[0]} and "
                f"{order}, which mean different tensors: the order of modes must be given"
            )
    return tensors[0]


def _file(folder: Path, name: str, part: str) -> Path:
    return folder / f"tensor_{name}_mode_{part}"


def _column(numbers: np.ndarray) -> str:
    return "\n".join(map(repr, numbers.tolist()))


def _numbers(path: Path, kind: Kind) -> np.ndarray:
    """The number in each line."""
    lines = text_lines(read_text(path).rstrip(f"{BLANKS}\n"))
    table = number_table(lines, [kind])
    if table is not None:
        return table[0]
    numbers = [
        READERS[kind](line.strip(BLANKS), f"{path}:{at}") for at, line in enumerate(lines, 1)
    ]
    return np.array(numbers, kind)


def _shape(folder: Path, name: str) -> tuple[int, ...]:
    path = _file(folder, name, "shape")
    stored = [
        (mode, file)
        for mode in range(_MAX_ORDER)
        for kind in _KINDS
        if (file := _file(folder, name, f"{mode}_{kind}")).exists()
    ]
    if not path.exists() and not stored:
        return ()
    shape = _numbers(path, np.int64)
    if len(shape) > _MAX_ORDER:
        raise WorkloadError(f"{path}: {len(shape)} dimensions: must be at most {_MAX_ORDER}")
    refuse_first(shape < 0, lambda at: f"{path}:{at + 1}: size {shape[at]}: must not be negative")
    for mode, file in stored:
        if mode >= len(shape):
            raise WorkloadError(f"{file}: {path.name} has only {len(shape)} dimensions")
    return tuple(shape.tolist())


def _level(folder: Path, name: str, mode: int, size: int) -> _FileLevel:
    """The level that stores a dimension, validated as far as possible without the others."""
    files = {
        "segments": _file(folder, name, f"{mode}_seg"),
        "coordinates": _file(folder, name, f"{mode}_crd"),
    }
    if not any(file.exists() for file in files.values()):
        return DenseLevel(size)
    segments = _numbers(files["segments"], np.int64)
    coordinates = _numbers(files["coordinates"], np.int64)
    if len(segments) == 0:
        raise WorkloadError(f"{files['segments']}: the file is empty: must have at least one line")
    refuse_first(
        coordinates == _FARTHEST,
        lambda at: f"{files['coordinates']}:{at + 1}: the coordinate is {_FARTHEST}: must be less",
    )
    if len(segments) > 1 and segments[-1] == len(coordinates) + 1:
        segments[-1] -= 1
    level = CompressedLevel(max(size, int(coordinates.max(initial=-1)) + 1), segments, coordinates)
    try:
        check_compressed(level, mode, len(segments) - 1)
    except StorageError as error:
        place = f"{files[error.array]}:{(error.index or 0) + 1}"
        raise WorkloadError(f"{place}: the {error.array.removesuffix('s')} {error.text}") from None
    return level


def _is_empty(levels: Sequence[_FileLevel], values: np.ndarray) -> bool:
    """Whether no level holds a coordinate; writers differ in what they then put into seg."""
    return len(values) == 0 and not any(
        len(level.coordinates) for level in levels if isinstance(level, CompressedLevel)
    )


def _orders(
    levels: Sequence[_FileLevel], modes: Sequence[int] | None
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Orders of modes that the lengths of levels allow, natural ones first, or the one given.

    Each with the positions of its last level.
    """

    def extend(order: tuple[int, ...], positions: int) -> Iterator[tuple[tuple[int, ...], int]]:
        rest = [mode for mode in range(len(levels)) if mode not in order]
        if not rest:
            yield order, positions
        dense = False
        for mode in rest if modes is None else modes[len(order) :][:1]:
            level = levels[mode]
            if isinstance(level, DenseLevel):
                if not dense:
                    yield from extend((*order, mode), positions * level.size)
                dense = True
            elif len(level.segments) == positions + 1:
                yield from extend((*order, mode), len(level.coordinates))

    return extend((), 1)


def _sizes(levels: Sequence[_FileLevel]) -> str:
    return ", ".join(
        f"mode {mode} is dense of size {level.size}"
        if isinstance(level, DenseLevel)
        else f"mode {mode} has {len(level.segments) - 1} fibers with {len(level.coordinates)} "
        "coordinates"
        for mode, level in enumerate(levels)
    )


def _tensor(
    shape: tuple[int, ...], levels: Sequence[_FileLevel], order: tuple[int, ...], values: np.ndarray
) -> Tensor:
    stored: tuple[Level, ...] = tuple(levels[mode] for mode in order)
    names = tuple(DENSE if isinstance(level, DenseLevel) else COMPRESSED for level in stored)
    return restore(Storage(TensorFormat(names, order), shape, stored, values))


def _same(one: Tensor, other: Tensor) -> bool:
    return np.array_equal(one.coordinates, other.coordinates) and np.array_equal(
        one.values, other.values
    )

"""Inputs and outputs of programs: tensors by name, shape, type and storage.

Their values are arrays: NumPy's for dense, ragged and labelled tensors, and whatever has
``shape``, ``coordinates`` and ``values`` for sparse ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.hw.lib.formats import FLOAT_FORMATS, float_dtype, parse_format

Labels = np.ndarray
"""Names of scalars: NumPy's ``StringDType`` [n]."""

Size = int | str
"""The size of a dimension: a number, or a symbol that a run binds."""

INTEGER_TYPES = tuple(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u"))
REAL_TYPES = ("float64",)
LEVEL_FORMATS = ("dense", "compressed", "bitvector")


class SparseArray(Protocol):
    """The value of a sparse tensor, see ``gnarl.sw.workloads.tensor.tensor.Tensor``."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def coordinates(self) -> np.ndarray:
        """int64 [nnz, order], ascending, none twice."""

    @property
    def values(self) -> np.ndarray:
        """[nnz], of the tensor's type."""


Array = np.ndarray | SparseArray
"""The value of a tensor."""


@dataclass(frozen=True)
class Dense:
    """Every element, row by row."""

    kind = "dense"


@dataclass(frozen=True)
class Sparse:
    """Entries only: a level format for each dimension, outermost level first.

    levels
        names of ``LEVEL_FORMATS``.
    modes
        the dimension, from 0, that each level stores.
    """

    levels: tuple[str, ...]
    modes: tuple[int, ...]
    kind = "sparse"


@dataclass(frozen=True)
class Ragged:
    """Rows of any length, one after the other; ``offsets`` is the tensor of where each begins."""

    offsets: str
    kind = "ragged"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Named scalars, as one tensor of one dimension."""

    labels: Labels
    kind = "labelled"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labelled) and (
            self.labels is other.labels or np.array_equal(self.labels, other.labels)
        )


Storage = Dense | Sparse | Ragged | Labelled
_KINDS: dict[str, type] = {kind.kind: kind for kind in (Dense, Sparse, Ragged, Labelled)}


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a program.

    shape
        sizes; a symbol stands for one that each run may choose.
    type
        a name of ``gnarl.hw.lib.formats``, ``float64``, or an integer type of NumPy.
    """

    name: str
    shape: tuple[Size, ...]
    type: str
    storage: Storage = Dense()

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.type)

    @property
    def scalars(self) -> bool:
        """Whether elements go by names: labels, or the tensor's own."""
        return isinstance(self.storage, Labelled) or not self.shape

    def to_dict(self) -> dict[str, Any]:
        """JSON's types only. Labels are left out: they are arrays."""
        fields = {name: value for name, value in vars(self.storage).items() if name != "labels"}
        return {
            "name": self.name,
            "shape": list(self.shape),
            "type": self.type,
            "storage": {"kind": self.storage.kind, **fields},
        }

    @classmethod
    def from_dict(cls, fields: Any, labels: Labels | None) -> TensorSpec:
        """Inverse of ``to_dict``. Raises ``ProgramError`` for what is not as it writes it."""
        try:
            storage = dict(fields["storage"])
            kind = storage.pop("kind")
            if kind == Labelled.kind:
                storage["labels"] = labels
            for name in ("levels", "modes"):
                if name in storage:
                    storage[name] = tuple(storage[name])
            spec = cls(
                fields["name"], tuple(fields["shape"]), fields["type"], _KINDS[kind](**storage)
            )
            spec._check()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProgramError(f"tensor {fields!r:.120}: not a tensor specification") from error
        return spec

    def _check(self) -> None:
        """Raises ``TypeError`` or ``ValueError``."""
        dtype_of(self.type)
        for size in self.shape:
            if type(size) not in (int, str) or (isinstance(size, int) and size < 0):
                raise ValueError(size)
        if type(self.name) is not str:
            raise TypeError(self.name)
        match self.storage:
            case Sparse(levels, modes):
                if len(levels) != len(self.shape) or set(levels) - set(LEVEL_FORMATS):
                    raise ValueError(levels)
                if sorted(modes) != list(range(len(levels))):
                    raise ValueError(modes)
            case Ragged(offsets) if type(offsets) is not str:
                raise TypeError(offsets)
            case Labelled(labels) if self.shape != (len(labels),):
                raise ValueError(self.shape)


def dtype_of(type: str) -> np.dtype:
    """NumPy's type of a tensor's elements; float64, which holds them exactly, where it has none.

    Raises ``ValueError`` for an unknown name.
    """
    if type in INTEGER_TYPES or type in REAL_TYPES:
        return np.dtype(type)
    parse_format(type)
    return float_dtype(type) if type in FLOAT_FORMATS else np.dtype(np.float64)


def labels_of(names: Iterable[str]) -> Labels:
    """``names`` as an array."""
    return np.array(list(names), np.dtypes.StringDType())


_END = b"\xff"
"""After each label in a file: a byte that UTF-8 never uses."""


def encode_labels(labels: Labels) -> np.ndarray:
    """Labels for a file: UTF-8, uint8, a byte 0xff after each."""
    return np.frombuffer(_END.join([*map(str.encode, labels.tolist()), b""]), np.uint8)


def decode_labels(octets: np.ndarray) -> Labels:
    """Inverse of ``encode_labels``. Raises ``ValueError`` for what is not as it writes it."""
    if octets.dtype != np.uint8 or octets.ndim != 1:
        raise ValueError(f"is {octets.dtype} {list(octets.shape)}: must be uint8 [n]")
    *labels, rest = octets.tobytes().split(_END)
    if rest:
        raise ValueError("must end in a byte 0xff")
    try:
        return labels_of(map(bytes.decode, labels))
    except UnicodeDecodeError as error:
        raise ValueError("must be UTF-8") from error


def bind(
    specs: Sequence[TensorSpec], arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The size of every symbol, where ``arrays`` have the shapes that ``specs`` ask for.

    Raises ``WorkloadError`` naming the tensor that is missing, unknown, of another shape, or of a
    type or whole numbers that do not fit. ``sizes`` has symbols that are bound already.
    """
    bound = dict(sizes or {})
    names = {spec.name: None for spec in specs}
    for name in arrays:
        if name not in names:
            raise WorkloadError(f"tensor {name}: unknown; the program has {', '.join(names)}")
    for spec in specs:
        if spec.name not in arrays:
            raise WorkloadError(f"tensor {spec.name}: missing")
        array = arrays[spec.name]
        shape = tuple(array.shape)
        if len(shape) != len(spec.shape):
            raise WorkloadError(
                f"tensor {spec.name}: has {len(shape)} dimensions: must have {len(spec.shape)}"
            )
        for dimension, (size, wanted) in enumerate(zip(shape, spec.shape, strict=True)):
            expected = bound.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            if size != expected:
                symbol = f" ({wanted})" if isinstance(wanted, str) else ""
                raise WorkloadError(
                    f"tensor {spec.name}: dimension {dimension} has size {size}: "
                    f"must be {expected}{symbol}"
                )
        _require_type(spec, array)
    return bound


def _require_type(spec: TensorSpec, array: Array) -> None:
    values = array if isinstance(array, np.ndarray) else array.values
    real = values.dtype.kind in "biuf" or np.can_cast(values.dtype, np.float64)
    fits = values.dtype.kind in "iu" if spec.type in INTEGER_TYPES else real
    if not fits:
        raise WorkloadError(f"tensor {spec.name}: is {values.dtype}: must be {spec.type}")
    if spec.type in INTEGER_TYPES and not np.can_cast(values.dtype, spec.dtype) and values.size:
        limits = np.iinfo(spec.dtype)
        for value in (int(values.min()), int(values.max())):
            if not limits.min <= value <= limits.max:
                raise WorkloadError(
                    f"tensor {spec.name}: value {value}: {spec.type} holds {limits.min} to "
                    f"{limits.max}"
                )

"""Accesses of arrays, which are NumPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from gnarl.sw.compiler.nests.dialects import flat
from gnarl.sw.compiler.tmu.interpreting.values import DTYPES, typed


@register_impls
class Memory(InterpreterFunctions):
    """Interprets accesses by indices, of memref and vector. A word outside of its array is read as
    0: a choice leaves it out, as for the fiber of a union that lacks the coordinate."""

    @impl_terminator(func.ReturnOp)
    def end(
        self, interpreter: Interpreter, operation: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(memref.AllocaOp)
    def allocate(self, interpreter: Interpreter, operation: memref.AllocaOp, args: Any) -> Any:
        type = operation.memref.type
        assert isinstance(type, MemRefType)
        return (np.zeros(type.get_shape(), DTYPES[type.element_type]),)

    @impl(memref.LoadOp)
    def load(self, interpreter: Interpreter, operation: memref.LoadOp, args: Any) -> Any:
        array, *indices = args
        if not _is_inside(array, indices):
            return (array.dtype.type(0),)
        return (array[tuple(indices)],)

    @impl(memref.StoreOp)
    def store(self, interpreter: Interpreter, operation: memref.StoreOp, args: Any) -> Any:
        value, array, *indices = args
        if not _is_inside(array, indices):
            raise InterpretationError(
                f"{operation.name}: element {indices}: must be inside of {array.shape}"
            )
        array[tuple(indices)] = value
        return ()

    @impl(vector.LoadOp)
    def load_vector(self, interpreter: Interpreter, operation: vector.LoadOp, args: Any) -> Any:
        type = operation.results[0].type
        assert isinstance(type, VectorType)
        *outer, first = args[1:]
        return (args[0][(*outer, slice(first, first + type.get_shape()[0]))].copy(),)

    @impl(vector.StoreOp)
    def store_vector(self, interpreter: Interpreter, operation: vector.StoreOp, args: Any) -> Any:
        value, array, *outer, first = args
        array[(*outer, slice(first, first + len(value)))] = value
        return ()

    @impl(vector.MaskedLoadOp)
    def load_lanes(self, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        array, *outer, first, mask, lanes_loaded = args
        (lanes,) = np.nonzero(mask)
        lanes_loaded = lanes_loaded.copy()
        lanes_loaded[lanes] = array[(*outer, first + lanes)]
        return (lanes_loaded,)

    @impl(vector.MaskedStoreOp)
    def store_lanes(self, interpreter: Interpreter, operation: Operation, args: Any) -> Any:
        array, *outer, first, mask, value = args
        (lanes,) = np.nonzero(mask)
        array[(*outer, first + lanes)] = value[lanes]
        return ()

    @impl(flat.FetchOp)
    def fetch(self, interpreter: Interpreter, operation: flat.FetchOp, args: Any) -> Any:
        return ()


@register_impls
class Words(InterpreterFunctions):
    """Interprets accesses by words, of flat. ``arrays``, by name, are contiguous. What lies outside
    of an array is read as 0: a program may load ahead what it does not use."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._words = {name: array.reshape(-1) for name, array in arrays.items()}

    @impl(flat.LoadOp)
    def load(self, interpreter: Interpreter, operation: flat.LoadOp, args: Any) -> Any:
        type = operation.value.type
        words = self._words[operation.array.data]
        loaded = np.zeros(type.get_shape() if isinstance(type, VectorType) else 1, words.dtype)
        places, used = _places(operation, args, len(loaded))
        used = used & (places >= 0) & (places < len(words))
        loaded[used] = words[places[used]]
        return (typed(loaded, type),)

    @impl(flat.StoreOp)
    def store(self, interpreter: Interpreter, operation: flat.StoreOp, args: Any) -> Any:
        words, value = self._words[operation.array.data], np.atleast_1d(args[-1])
        places, used = _places(operation, args, len(value))
        places, value = places[used], value[used]
        if np.any((places < 0) | (places >= len(words))):
            raise InterpretationError(
                f"{operation.name}: words {places} of {operation.array.data}: must be below "
                f"{len(words)}"
            )
        words[places] = value
        return ()

    @impl(flat.PrefetchOp)
    def prefetch(self, interpreter: Interpreter, operation: flat.PrefetchOp, args: Any) -> Any:
        return ()


def _is_inside(array: np.ndarray, indices: Sequence[int]) -> bool:
    return all(0 <= index < size for index, size in zip(indices, array.shape, strict=True))


def _places(
    operation: flat.LoadOp | flat.StoreOp, args: PythonValues, lanes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The word of each lane, and which lanes are in use."""
    given = dict(zip(operation.operands, args, strict=True))
    first = operation.offset.value.data
    if operation.address is not None:
        first += int(given[operation.address])
    used = given[operation.mask] if operation.mask is not None else np.ones(lanes, bool)
    return first + np.arange(lanes), used

"""Arguments of operators in a saved graph: tensors, numbers, and what PyTorch knows by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.workloads.pytorch.archive import DTYPES

_LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 7: "strided"}
_MEMORY_FORMATS = {
    1: "contiguous_format",
    2: "channels_last",
    3: "channels_last_3d",
    4: "preserve_format",
}
_NAMES = {
    "as_scalar_type": DTYPES,
    "as_layout": _LAYOUTS,
    "as_memory_format": _MEMORY_FORMATS,
}
_NOT_FINITE = ("Infinity", "-Infinity", "NaN")

# Depths of lists, by kind of argument.
_TENSORS = {"as_tensor": 0, "as_tensors": 1, "as_nested_tensors": 2}
_ARGUMENTS = {
    "as_optional_tensor": 0,
    "as_optional_tensors": 1,
    "as_sym_int": 0,
    "as_sym_ints": 1,
    "as_sym_float": 0,
    "as_sym_floats": 1,
    "as_sym_bool": 0,
    "as_sym_bools": 1,
}
_NUMBERS: Mapping[str, tuple[type, int]] = {
    "as_int": (int, 0),
    "as_ints": (int, 1),
    "as_int_lists": (int, 2),
    "as_float": (float, 0),
    "as_floats": (float, 1),
    "as_float_lists": (float, 2),
    "as_bool": (bool, 0),
    "as_bools": (bool, 1),
}


def argument_value(argument: Mapping[str, Any], tensor: Callable[[Mapping[str, Any]], Any]) -> Any:
    """What an operator is given; ``tensor`` finds the node that makes one. Raises
    ``WorkloadError``."""
    ((kind, value),) = argument.items()
    if kind == "as_none":
        return None
    if kind == "as_name":
        raise WorkloadError(f"{short(value)}: depends on values: must be known")
    if kind in _TENSORS:
        return _nested(tensor, value, _TENSORS[kind])
    if kind in _ARGUMENTS:
        return _nested(lambda each: argument_value(each, tensor), value, _ARGUMENTS[kind])
    if kind in _NUMBERS:
        type, depth = _NUMBERS[kind]
        return _nested(partial(_number, type), value, depth)
    return _constant_of_pytorch(kind, value)


def _nested(function: Callable[[Any], Any], value: Any, depth: int) -> Any:
    """Applies a function to what is in lists of so many levels."""
    if depth == 0:
        return function(value)
    return [_nested(function, each, depth - 1) for each in value]


def _constant_of_pytorch(kind: str, value: Any) -> Any:
    """What PyTorch knows by number, as a type of scalars, and a device."""
    import torch

    if kind == "as_device":
        return torch.device("cpu")
    if kind not in _NAMES:
        raise WorkloadError(f"graph: an argument {short(kind)}: must be a tensor or a number")
    return getattr(torch, _by_number(_NAMES[kind], kind, value))


def _by_number(known: Mapping[int, str], kind: str, value: Any) -> str:
    if type(value) is not int or value not in known:
        raise WorkloadError(
            f"graph: {kind} = {short(value)}: must be one of {', '.join(map(str, known))}"
        )
    return known[value]


def _number(kind: type, value: Any) -> Any:
    if kind is float and (type(value) in (int, float) or value in _NOT_FINITE):
        return float(value)
    if type(value) is not kind:
        raise WorkloadError(f"graph: {short(value)}: must be {kind.__name__}")
    return value

"""Arguments of operators in a saved graph: tensors, numbers, and what PyTorch knows by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.workloads.loops.pytorch.archive import DTYPES

_LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 7: "strided"}
_MEMORY_FORMATS = {
    1: "contiguous_format",
    2: "channels_last",
    3: "channels_last_3d",
    4: "preserve_format",
}
_NOT_FINITE = ("Infinity", "-Infinity", "NaN")
_PLAIN = {"as_int": int, "as_float": float, "as_bool": bool}


def argument_value(argument: Mapping[str, Any], tensor: Callable[[Mapping[str, Any]], Any]) -> Any:
    """What an operator is given; ``tensor`` finds the node that makes one. Raises
    ``WorkloadError``."""
    import torch

    ((kind, value),) = argument.items()
    match kind:
        case "as_none":
            return None
        case "as_tensor":
            return tensor(value)
        case "as_tensors":
            return [tensor(each) for each in value]
        case "as_nested_tensors":
            return [[tensor(each) for each in row] for row in value]
        case "as_optional_tensor" | "as_sym_int" | "as_sym_float" | "as_sym_bool":
            return argument_value(value, tensor)
        case "as_optional_tensors" | "as_sym_ints" | "as_sym_floats" | "as_sym_bools":
            return [argument_value(each, tensor) for each in value]
        case "as_int" | "as_float" | "as_bool":
            return _number(_PLAIN[kind], value)
        case "as_ints" | "as_floats" | "as_bools":
            return [_number(_PLAIN[kind[:-1]], each) for each in value]
        case "as_int_lists" | "as_float_lists":
            return [[_number(_PLAIN[kind[:-6]], each) for each in row] for row in value]
        case "as_name":
            raise WorkloadError(f"{short(value)}: depends on values: must be known")
        case "as_scalar_type":
            return getattr(torch, _by_number(DTYPES, kind, value))
        case "as_layout":
            return getattr(torch, _by_number(_LAYOUTS, kind, value))
        case "as_memory_format":
            return getattr(torch, _by_number(_MEMORY_FORMATS, kind, value))
        case "as_device":
            return torch.device("cpu")
    raise WorkloadError(f"graph: an argument {short(kind)}: must be a tensor or a number")


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

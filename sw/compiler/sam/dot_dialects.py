"""Names that branches of the SAM tools give the same nodes and edges.

Arithmetic of floating point has names of its own (``fp_mul``), a maximum may have one operand and a
constant, and an accumulator of order 1 may be a ``vectorreducer``, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.compiler.sam.dot_syntax import DotNode
from gnarl.sw.workloads.text_file import real_number

_SYNONYMS = {
    "fp_mul": "mul",
    "fp_add": "add",
    "fp_max": "max",
    "smax": "max",
    "fp_exp": "exp",
    "vectorreducer": "spaccumulator",
}

_DRAWING = ("comment", "label", "color", "shape", "style")

_CONSTANTS = ("const0", "in2")
"""Attributes of arithmetic with a constant for its second operand."""

_PREFIXES = ("outer_", "inner_")


def node_attributes(node: DotNode) -> dict[str, str]:
    """The attributes in a node's comment, and those of its own, by their common names."""
    values = {}
    for entry in node.attributes.get("comment", "").split(","):
        key, equals, value = entry.partition("=")
        if equals:
            values[key.strip()] = value
    values |= {key: value for key, value in node.attributes.items() if key not in _DRAWING}
    if values.get("type") == "vectorreducer":
        summed = values.get("accum_index", values.get("index"))
        values |= {"order": "1"} | ({} if summed is None else {"in0": summed})
    if values.get("type") == "crddrop" and values.get("inner") == "val":
        values["inner"] = "vals"
    if "type" in values:
        values["type"] = _SYNONYMS.get(values["type"], values["type"])
    return values


def one_operand(type: str, values: Mapping[str, str]) -> str:
    """The function that arithmetic with one operand is. Raises ``WorkloadError`` if it is none.

    A maximum without a constant is one with 0, which is ``relu``.
    """
    constants = [values[name] for name in _CONSTANTS if name in values]
    if type != "max":
        if constants:
            raise WorkloadError(
                f"a constant operand {short(constants[0])}: must be an array of values, as "
                f'tensor="{constants[0]}" of arrayvals'
            )
        return type
    if constants and real_number(constants[0], "const0") != 0:
        raise WorkloadError(f"const0 = {short(constants[0])}: must be 0, as of relu")
    return "relu"


def index_of(comment: str) -> str:
    """The index in a comment such as ``i``, ``in-i``, ``out-i``, ``outer-i`` or ``inner_i``."""
    for prefix in _PREFIXES:
        comment = comment.removeprefix(prefix)
    return comment.rpartition("-")[2]

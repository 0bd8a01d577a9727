"""What PyTorch Geometric does inside of its layers that no graph of operators can be made of."""

from __future__ import annotations

from traceback import walk_tb
from types import TracebackType
from typing import Any

GEOMETRIC = "torch_geometric"
"""Its package."""

_NORMALISATION = "gcn_norm"
"""The function in which ``GCNConv`` counts neighbours."""

WITHOUT_NORMALISATION = (
    "GCNConv normalises the graph: write normalize=False, and give it a normalised one"
)


def is_normalisation(node: Any) -> bool:
    """Whether an operator of a graph is of a normalisation."""
    return f"{_NORMALISATION}(" in (node.meta.get("stack_trace") or "")


def raised_in_normalisation(traceback: TracebackType | None) -> bool:
    """Whether an exception is from a normalisation."""
    return any(frame.f_code.co_name == _NORMALISATION for frame, _ in walk_tb(traceback))

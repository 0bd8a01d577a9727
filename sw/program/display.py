"""How programs and results show themselves in Python and in Jupyter: in a line, and in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gnarl.sw.program.tensor_spec import TensorSpec

_SHOWN = 4
"""At most this many tensors in a line."""


def tensors_text(specs: Sequence[TensorSpec]) -> str:
    """Tensors as ``a float32 [n, 4], b int32 []``, the first few of them."""
    texts = [tensor_text(spec) for spec in specs[:_SHOWN]]
    more = len(specs) - len(texts)
    return ", ".join([*texts, *([f"and {more:,} more"] if more else [])]) or "none"


def tensor_text(spec: TensorSpec) -> str:
    """A tensor as ``a float32 [n, 4]``."""
    return f"{spec.name} {spec.type} [{', '.join(map(str, spec.shape))}]"


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and texts, all of which are escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"

"""What a compiled program computes, as its file says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sw.program.unique_keys import unique_keys
from sw.workloads.loops.binding import Binding, bind
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.printer import print_nest
from sw.workloads.loops.python_source import read_source

_FIELDS = ("nest", "order", "sizes", "scalars", "dot")


@dataclass(frozen=True)
class Meaning:
    """nest
        as the source has it.
    order
        the same with the operations in the program's order.
    sizes, scalars
        for which it was compiled; scalars as numbers of Python.
    dot
        its tensor dataflow graphs.
    """

    nest: Nest
    order: Nest
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]
    dot: str

    def encoded(self) -> np.ndarray:
        """uint8 [n]; of the source's places nothing is kept."""
        fields = {
            "nest": print_nest(self.nest),
            "order": print_nest(self.order),
            "sizes": dict(self.sizes),
            "scalars": {name: repr(value) for name, value in self.scalars.items()},
            "dot": self.dot,
        }
        return np.frombuffer(json.dumps(fields).encode(), np.uint8)

    def binding(self, nest: Nest, tensors: Mapping[str, Any]) -> Binding:
        """Of ``nest`` or ``order``. Raises ``WorkloadError``."""
        return bind(nest, {**tensors, **self.scalars}, self.sizes)


def meaning_of(section: np.ndarray) -> Meaning:
    """Inverse of ``encoded``. Raises ``WorkloadError``, and what Python raises for damaged text."""
    return _meaning(section.tobytes())


@lru_cache(maxsize=16)
def _meaning(text: bytes) -> Meaning:
    fields = json.loads(text.decode(), object_pairs_hook=unique_keys)
    if not isinstance(fields, dict) or tuple(fields) != _FIELDS:
        raise ValueError(f"must have {', '.join(_FIELDS)}")
    scalars = {name: _number(value) for name, value in fields["scalars"].items()}
    nests = [read_source(fields[name], f"section 'meaning', {name}") for name in ("nest", "order")]
    return Meaning(nests[0], nests[1], fields["sizes"], scalars, fields["dot"])


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdigit() else float(text)

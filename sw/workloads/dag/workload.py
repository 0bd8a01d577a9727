"""What every frontend of the DPU hands on: a DAG, values for its inputs, and its nodes' origins."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gnarl.hw.lib.errors import short
from gnarl.sw.workloads.dag.dag import Dag
from gnarl.sw.workloads.made_up import MadeUp


@dataclass(frozen=True)
class DagWorkload:
    """A DAG to compile, with one set of input values.

    name
        what reports call it: the file's name without folder and extension.
    dag
        the structure; values of inputs are no part of it.
    inputs
        float64 [n_inputs], in the order of ``dag.inputs``; those of files are finite.
    source
        the file that it was read from, or empty.
    lines
        int64 [dag.size], the line of ``source`` that each node comes from, 0 where there is none;
        or ``None`` if no line is known.
    made_up
        inputs whose values the source does not have, see ``gnarl.sw.workloads.made_up``.
    """

    name: str
    dag: Dag
    inputs: np.ndarray
    source: str = ""
    lines: np.ndarray | None = None
    made_up: MadeUp = field(default_factory=dict)

    def place(self, node: int) -> str:
        """The place that a node comes from, for error texts: ``file:line: node name`` as far as
        known."""
        text = f"node {short(self.dag.name(node))}"
        if not self.source:
            return text
        line = 0 if self.lines is None else int(self.lines[node])
        return f"{self.source}:{line}: {text}" if line else f"{self.source}: {text}"

    @property
    def input_names(self) -> np.ndarray:
        """Names of the inputs, ``StringDType`` [n_inputs], in the order of ``inputs``."""
        return self.dag.names_of(self.dag.inputs)

    @property
    def output_names(self) -> np.ndarray:
        """Names of the outputs, ``StringDType`` [n_outputs], in the order of ``dag.outputs``."""
        return self.dag.names_of(self.dag.outputs)

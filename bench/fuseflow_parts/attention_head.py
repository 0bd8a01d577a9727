"""Attention with a sparse mask, built by hand: a head of BigBird.

Source: Zaheer et al., "Big Bird: Transformers for Longer Sequences", NeurIPS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import memory_map, settings_rows
from gnarl.hw.sam.top import build
from gnarl.sw.compiler.sam.builder import GraphBuilder, Node, Stream
from gnarl.sw.golden.einsum import evaluate
from gnarl.sw.runtime.machine.host import HostDriver
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.sam.simulator.simulate import simulate
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.tensor import Tensor


def attention() -> Graph:
    """``O(i,d) = softmax(M(i,j)*Q(i,k)*K(j,k))*V(j,d)`` over the entries of ``M``."""
    builder = GraphBuilder()
    add, root = builder.add, builder.root

    def repeated(label: str, ref: Stream, repsig: Stream, index: str) -> Stream:
        inputs = {"ref": ref, "repsig": repsig}
        return add("repeat", f"{label}_{index}", inputs, index=index).out_ref

    def located(tensor: str, crd: Stream, ref: Stream, index: str) -> Stream:
        inputs = {"crd": crd, "ref": ref}
        return add("locate", f"{tensor}_{index}", inputs, tensor=tensor, index=index).out_ref

    def row(tensor: str, ref: Stream, index: str) -> tuple[Node, Stream]:
        walk = add(
            "fiberlookup",
            f"{tensor}_{index}",
            {"ref": ref},
            tensor=tensor,
            level=1,
            index=index,
            format=DENSE,
        )
        return walk, add("arrayvals", tensor, {"ref": walk.out_ref}, tensor=tensor).out_val

    def alu(op: str, label: str, left: Stream, right: Stream) -> Stream:
        return add("alu", label, {"val0": left, "val1": right}, op=op).out_val

    def reduced(op: str, label: str, val: Stream, crd: Stream) -> Stream:
        return add("reduce", label, {"val": val, "crd": crd}, op=op).out_val

    i = add("fiberlookup", "M_i", {"ref": root}, tensor="M", level=0, index="i", format=DENSE)
    j = add("fiberlookup", "M_j", {"ref": i.out_ref}, tensor="M", level=1, index="j")
    each_i = add("repsiggen", "each_i", {"crd": i.out_crd}, index="i").out_repsig
    each_j = add("repsiggen", "each_j", {"crd": j.out_crd}, index="j").out_repsig
    root_i = repeated("root", root, each_i, "i")
    root_j = repeated("root", root_i, each_j, "j")
    query = repeated("Q", located("Q", i.out_crd, root_i, "i"), each_j, "j")
    _, q = row("Q", query, "k")
    _, k = row("K", located("K", j.out_crd, root_j, "j"), "k")
    mask = add("arrayvals", "M", {"ref": j.out_ref}, tensor="M").out_val
    scores = alu("mul", "scores", reduced("add", "dot", alu("mul", "qk", q, k), j.out_crd), mask)
    maxima = repeated("max", reduced("max", "max", scores, i.out_crd), each_j, "j")
    centred = alu("sub", "centred", scores, maxima)
    powers = add("function", "exp", {"val": centred}, op="exp").out_val
    sums = reduced("add", "sum", powers, i.out_crd)
    inverse = add("function", "inverse", {"val": sums}, op="reciprocal").out_val
    weights = alu("mul", "weights", powers, repeated("inverse", inverse, each_j, "j"))
    d, v = row("V", located("V", j.out_crd, root_j, "j"), "d")
    each_d = add("repsiggen", "each_d", {"crd": d.out_crd}, index="d").out_repsig
    terms = alu("mul", "terms", repeated("weights", weights, each_d, "d"), v)
    inputs = {"crd1": j.out_crd, "crd0": d.out_crd, "val": terms}
    out = add("spaccumulator", "out", inputs, order=1, full0=True)
    for level, index, crd in ((0, "i", i.out_crd), (1, "d", out.out_crd0)):
        inputs = {"crd": crd}
        add(
            "fiberwrite",
            f"write_{index}",
            inputs,
            tensor="O",
            level=level,
            index=index,
            format=DENSE,
        )
    add("valwrite", "write", {"val": out.out_val}, tensor="O")
    return builder.graph()


_MEANING = parse_program(
    "s(i,j)=sum[k](B(i,j)*Q(i,k)*K(j,k)); t(i,j)=s(i,j)*M(i,j); m(i)=max[j](t(i,j)); "
    "c(i,j)=B(i,j)*(t(i,j)-m(i)); e(i,j)=B(i,j)*exp(c(i,j)); z(i)=sum[j](e(i,j)); "
    "P(i,j)=e(i,j)/z(i); O(i,d)=sum[j](P(i,j)*V(j,d)) -f=B:ds -f=M:ds -f=Q:dd -f=K:dd -f=V:dd"
)
"""What ``attention`` computes, of ``B`` that is 1 where ``M`` has an entry; but its maximum is over
the entries alone, this one over 0, too."""
_AT_ONCE = 128
"""Rows of which the golden model has all products of a query and keys at once."""


def bigbird(rows: int, random: np.random.Generator) -> np.ndarray:
    """Which of ``rows`` × ``rows`` entries there are, in 8 × 8 blocks: those of the first row and
    column, those beside the diagonal, and two of each row at random."""
    blocks = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) <= 1
    blocks[0] = blocks[:, 0] = True
    for row in blocks:
        row[random.choice(8, 2, replace=False)] = True
    return np.kron(blocks, np.ones((rows // 8, rows // 8), bool))


@dataclass(frozen=True)
class Head:
    """Operands of ``attention``, and its result in float64. ``mask``: which entries there are."""

    mask: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray

    @classmethod
    def random(cls, mask: np.ndarray, width: int, random: np.random.Generator) -> Head:
        return cls(
            mask, *(random.standard_normal((len(mask), width), np.float32) for _ in range(3))
        )

    @property
    def _scale(self) -> np.float32:
        return np.float32(1 / np.sqrt(self.query.shape[1]))

    @property
    def lengths(self) -> dict[str, int]:
        width = self.query.shape[1]
        return {"j": int(self.mask.sum(axis=1).max()), "k": width, "d": width}

    def arrays(self) -> dict[str, np.ndarray]:
        """Contents of memories by window, but for the settings."""

        def words(array: np.ndarray) -> np.ndarray:
            return array.view(np.uint32).reshape(-1, 1)

        ends = self.mask.sum(axis=1).cumsum()
        values = {"Q": self.query, "K": self.key, "V": self.value}
        values["M"] = np.full(ends[-1], self._scale)
        return {
            "M_j_seg": np.stack([np.append(0, ends[:-1]), ends], axis=1).astype(np.uint32),
            "M_j_crd": np.nonzero(self.mask)[1].astype(np.uint32).reshape(-1, 1),
            **{f"{name}_vals": words(array) for name, array in values.items()},
        }

    def settings(self) -> dict[str, int]:
        """By block."""
        rows, width = len(self.query), int(self.query.shape[1])
        walks = ("M_i", "Q_i", "K_j", "V_j")
        return dict.fromkeys(walks, rows) | dict.fromkeys(("Q_k", "K_k", "V_d", "out"), width)

    def expected(self) -> np.ndarray:
        query, key = self.query.astype(np.float64), self.key.astype(np.float64)
        scores = np.where(self.mask, query @ key.T * self._scale, -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True) @ self.value

    def golden(self) -> np.ndarray:
        """The result bit for bit, of rows whose greatest score is above 0: float32 [n, width]."""
        rows = len(self.mask)
        return np.concatenate(
            [self._golden(slice(first, first + _AT_ONCE)) for first in range(0, rows, _AT_ONCE)]
        )

    def _golden(self, part: slice) -> np.ndarray:
        """Some rows of ``golden``."""
        mask = np.where(self.mask[part], np.float32(1), np.float32(0))
        tensors = {"B": mask, "M": mask * self._scale, "Q": self.query[part]}
        tensors |= {"K": self.key, "V": self.value}
        given = {name: Tensor.from_any(each) for name, each in tensors.items()}
        (coordinates, words) = evaluate(_MEANING, given, "float32")["O"]
        found = np.zeros(self.query[part].shape, np.float32)
        found[tuple(coordinates.T)] = words.view(np.float32)
        return found

    def block_settings(self, graph: Graph) -> dict[tuple[str, str], int]:
        """By block and setting."""
        sizes = self.settings()
        return {
            (block.name, name): sizes[block.name]
            for block in graph.blocks
            for name in block.settings
        }

    def on_simulator(self, config: SamConfig, max_cycles: int) -> tuple[np.ndarray, int]:
        """The result of a machine whose graph ``attention`` gave, and its cycles, simulated."""
        graph = config.graph
        assert graph is not None
        settings = self.block_settings(graph)
        run = simulate(graph, config, self.arrays(), settings, max_cycles=max_cycles)
        return run.written["write_vals"].view(np.float32).reshape(self.value.shape), run.cycles

    def on_rtl(self, config: SamConfig, max_cycles: int) -> tuple[np.ndarray, int]:
        """The result of a machine whose graph ``attention`` gave, and its cycles."""
        with Simulator(to_verilog(build(config), "attention"), "attention") as port:
            driver = HostDriver(port, memory_map(config), config.digest)
            for window, rows in self.arrays().items():
                driver.write_window(window, rows)
            sizes = [[self.settings()[block]] for block, _ in settings_rows(config)]
            driver.write_window("settings", np.array(sizes, np.uint32))
            driver.run(max_cycles=max_cycles)
            written = driver.read_window("write_vals", 0, self.value.size)
            return written.view(np.float32).reshape(self.value.shape), driver.cycles()

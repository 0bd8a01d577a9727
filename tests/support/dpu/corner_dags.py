"""Random DAGs, values and machines that have corners on purpose, each rare or absent elsewhere.

Operands that are used twice in one node, chains with values that live long, one value that all use,
nodes of one operand, constants alone, parts that no output needs, outputs that are leaves, in any
order; values that are zeros of both signs, at the ends of the format, powers of two, NaN and
infinite; machines with few registers and memories that may be too small.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnarl.hw.dpu.config import OUTPUT_INTERCONNECTS, DpuConfig
from gnarl.hw.lib.formats import FixedFormat, holds, parse_format
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import OPERATIONS

FORMATS = (
    *("float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3"),
    *("fixed16.8", "fixed4.0", "fixed32.31", "fixed8.7"),
)

KINDS = (
    *("same operand", "less itself", "one operand", "constants alone", "equal nodes", "long lives"),
    *("chain", "star", "fan", "pairs", "parts", "leaf output", "unneeded", "outputs in any order"),
    *(
        "zeros",
        "tiny",
        "largest",
        "not finite",
        "whole",
        "in order",
        "few registers",
        "small memory",
    ),
)
"""What a DAG, its values or its machine may have, by name."""


@dataclass(frozen=True)
class Corner:
    """A DAG, values of its inputs, the machine, and which of ``KINDS`` there are."""

    dag: Dag
    inputs: np.ndarray
    config: DpuConfig
    kinds: frozenset[str]


def corner(seed: int, config: DpuConfig | None = None) -> Corner:
    """The DAG of a seed, on a machine of its own or on ``config``."""
    return _Maker(random.Random(seed)).made(config)


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._kinds: set[str] = set()
        self._builder = DagBuilder()
        self._nodes: list[int] = []

    def _noted(self, kind: str, there: bool = True) -> None:
        if there:
            self._kinds.add(kind)

    def made(self, config: DpuConfig | None) -> Corner:
        rng = self._rng
        config = config or self._machine()
        self._numbers = self._kind_of_numbers(config.format)
        for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
            self._part()
        dag = self._with_outputs()
        self._noted("in order", not dag.reassociate)
        inputs = np.array([self._number(True) for _ in dag.inputs], np.float64)
        return Corner(dag, inputs, config, frozenset(self._kinds))

    def _machine(self) -> DpuConfig:
        rng = self._rng
        depth = rng.randint(1, 4)
        banks = rng.choice([each for each in (8, 8, 16, 16, 24, 64) if not each % (1 << depth)])
        registers = rng.choice((8, 8, 9, 16, 64))
        is_small = rng.random() < 0.1
        self._noted("few registers", registers < 10)
        self._noted("small memory", is_small)
        return DpuConfig(
            depth=depth,
            banks=banks,
            registers=registers,
            format=rng.choice(FORMATS),
            output_interconnect=rng.choice(OUTPUT_INTERCONNECTS),
            pe_stages=rng.choice((1, 1, 2, 5)),
            fetch_stages=rng.choice((3, 6)),
            write_stages=rng.randint(0, 1),
            fault_stages=rng.randint(0, 1),
            instruction_words=rng.choice((4, 16, 64)) if is_small else 1 << 15,
            data_rows=rng.choice((4, 6, 9)) if is_small else 1 << 13,
            overlap=rng.random() < 0.6,
        )

    # Values.

    def _kind_of_numbers(self, format: str) -> list[float]:
        rng, kind = self._rng, parse_format(format)
        least, most = kind.smallest, kind.largest
        name = rng.choice(("zeros", "tiny", "largest", *["whole"] * 3, "", ""))
        self._noted(name, bool(name))
        found = {
            "zeros": [0.0, -0.0, 1.0, -1.0],
            "tiny": [least, -least, 2 * least, 3 * least, least / 2, 0.5, -0.0],
            "largest": [most, kind.lowest, most / 2, 1.0, -2.0, least, 0.0],
            "whole": [0.0, 1.0, -1.0, 2.0],
        }.get(name, [rng.uniform(-1.5, 1.5) for _ in range(9)])
        self._odd = not isinstance(kind, FixedFormat) and rng.random() < 0.15
        self._noted("not finite", self._odd)
        held = [each for each in found if holds(format, np.array([each]))[0]]
        return held or [0.0]

    def _number(self, is_input: bool = False) -> float:
        rng = self._rng
        if is_input and self._odd and rng.random() < 0.3:
            return rng.choice((np.nan, np.inf, -np.inf))
        return rng.choice(self._numbers)

    # Nodes.

    def _leaf(self, constants: float) -> int:
        is_constant = self._rng.random() < constants
        node = self._builder.constant(self._number()) if is_constant else self._builder.input()
        self._nodes.append(node)
        return node

    def _node(self, op: Op, operands: list[int], negative: list[bool] | None = None) -> int:
        if negative and op != Op.ADD or negative and all(negative):
            negative = None
        node = self._builder.operation(op, operands, negative)
        self._nodes.append(node)
        self._noted("one operand", len(operands) == 1)
        self._noted("same operand", len(set(operands)) < len(operands))
        signed = set(zip(operands, negative or [False] * len(operands), strict=True))
        self._noted("less itself", len(signed) > len(set(operands)))
        return node

    def _part(self) -> None:
        rng = self._rng
        constants = rng.choice((0.0, 0.1, 0.3, 0.5, 1.0))
        self._noted("constants alone", constants == 1.0)
        self._noted("parts", bool(self._nodes))
        leaves = [self._leaf(constants) for _ in range(rng.choice((1, 1, 2, 3, 5, 12, 40)))]
        size = rng.choice((0, 1, 1, 2, 3, 5, 8, 13, 30, 80))
        name = rng.choice(("chain", "star", "fan", "pairs", "any", "any", "any"))
        kinds: dict[str, Callable[[list[int], int], None]] = {
            "chain": self._chain,
            "star": self._star,
            "fan": self._fan,
            "pairs": self._pairs,
            "any": self._any,
        }
        self._noted(name, name != "any")
        kinds[name](leaves, size)

    def _op(self) -> Op:
        return self._rng.choice(OPERATIONS)

    def _chain(self, leaves: list[int], size: int) -> None:
        """A long one, whose links are used again behind its end, in their order or backwards."""
        rng, value = self._rng, leaves[0]
        links = [value := self._node(self._op(), [value, rng.choice(leaves)]) for _ in range(size)]
        if rng.random() < 0.6:
            self._noted("long lives", size > 10)
            for link in links if rng.random() < 0.5 else links[::-1]:
                value = self._node(self._op(), [value, link])

    def _star(self, leaves: list[int], size: int) -> None:
        operands = [self._rng.choice(leaves) for _ in range(size + 1)]
        self._node(self._op(), operands, [self._rng.random() < 0.4 for _ in operands])

    def _fan(self, leaves: list[int], size: int) -> None:
        centre = self._node(self._op(), leaves[:2])
        users = [self._node(self._op(), [centre, each]) for each in (leaves * size)[: 2 * size]]
        if users and self._rng.random() < 0.5:
            self._node(self._op(), users)

    def _pairs(self, leaves: list[int], size: int) -> None:
        """a*a, a+a, a-a and so on, and the same nodes again."""
        row = leaves
        for _ in range(min(size, 6)):
            row = [self._pair(each) for each in row[:20]]
        if self._rng.random() < 0.5:
            again = [self._rng.choice(leaves) for _ in range(2)]
            for operands in (again, again[::-1], again):
                self._node(Op.MUL, operands)
            self._noted("equal nodes")

    def _pair(self, value: int) -> int:
        negative = [False, self._rng.random() < 0.3]
        return self._node(self._op(), [value, value], negative)

    def _any(self, leaves: list[int], size: int) -> None:
        rng, known = self._rng, list(leaves)
        for _ in range(size):
            count = rng.choice((1, 2, 2, 2, 3, 5, 9))
            near = known[-rng.choice((2, 5, 1000)) :]
            operands = [rng.choice(near) for _ in range(count)]
            if rng.random() < 0.1:
                operands = [operands[0]] * count
            negative = [rng.random() < 0.25 for _ in operands]
            known.append(self._node(self._op(), operands, negative))

    # Outputs.

    def _with_outputs(self) -> Dag:
        rng = self._rng
        for _ in range(rng.choice((0, 0, 1, 3))):
            self._builder.output(rng.choice(self._nodes))
        dag, _ = self._builder.build(reassociate=rng.random() < 0.6)
        outputs = dag.outputs.tolist()
        if rng.random() < 0.3:
            rng.shuffle(outputs)
            self._noted("outputs in any order", outputs != sorted(outputs))
        if len(outputs) > 1 and rng.random() < 0.2:
            outputs = outputs[: rng.randint(1, len(outputs) - 1)]
            self._noted("unneeded")
        self._noted("leaf output", any(dag.op[output] < Op.ADD for output in outputs))
        return replace(dag, outputs=np.array(outputs, np.int64))

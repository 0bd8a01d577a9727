"""What the passes have made, as text and as graphs."""

from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.memory import MemoryLayout
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import MEMORY_LOAD, MEMORY_RELOAD, MEMORY_STORE
from gnarl.sw.compiler.passes import text_of
from gnarl.sw.workloads.dag.dag import Dag, Op

_MEMORY = {MEMORY_LOAD: "load", MEMORY_RELOAD: "reload", MEMORY_STORE: "store"}


def dag_texts(dag: Dag) -> dict[str, str]:
    """A line a node: operation and operands, ``-`` before those that are subtracted."""
    lines, edges = [], []
    outputs = set(dag.outputs.tolist())
    for node, op in enumerate(dag.op.tolist()):
        places = slice(int(dag.offsets[node]), int(dag.offsets[node + 1]))
        operands, signs = dag.operands[places].tolist(), dag.negative[places].tolist()
        words = [
            f"{'-' if minus else ''}{dag.name(at)}"
            for at, minus in zip(operands, signs, strict=True)
        ]
        if op == Op.CONST:
            words.append(f"{dag.constants[node]:.17g}")
        mark = "  # output" if node in outputs else ""
        lines.append(" ".join([f"{dag.name(node)} = {Op(op).name.lower()}", *words]) + mark)
        edges += [(at, node, minus) for at, minus in zip(operands, signs, strict=True)]
    names = [f"{Op(op).name.lower()}\\n{dag.name(node)}" for node, op in enumerate(dag.op.tolist())]
    return {"txt": text_of(lines), "dot": _dot(names, edges)}


def binary_texts(binary: BinaryDag) -> dict[str, str]:
    """A line an operation: its two values, and the root of the group that it is combined in."""
    operations = np.stack([binary.op, binary.left, binary.right, binary.group], axis=1)
    lines, edges = [], []
    names = [f"v{value}" for value in range(binary.leaves)]
    for value, (op, left, right, group) in enumerate(operations.tolist(), binary.leaves):
        name = PeOp(op).name.lower()
        lines.append(f"v{value} = {name} v{left} v{right}  # group of v{group + binary.leaves}")
        names.append(f"{name}\\nv{value}")
        edges += [(left, value, False), (right, value, False)]
    outputs = " ".join(f"v{value}" for value in binary.outputs.tolist())
    header = [f"leaves v0 to v{binary.leaves - 1}", f"outputs {outputs}"]
    return {"txt": text_of([*header, *lines]), "dot": _dot(names, edges)}


def schedule_texts(schedule: Schedule) -> dict[str, str]:
    """A line a cycle: what issues, and which banks are read and written."""
    busy, operation = schedule.cycles.busy, schedule.cycles.memory
    used, write_source = schedule.cycles.used, schedule.cycles.write_source
    lines = [
        f"{schedule.length} cycles, {schedule.copies} copies, {schedule.spills} spills, "
        f"{schedule.memory_rows} rows of spilled values"
    ]
    for cycle in range(schedule.length):
        kinds = ["exec"] if busy[cycle] else []
        memory = int(operation[cycle])
        kinds += [_MEMORY[memory]] if memory in _MEMORY else []
        inputs = np.count_nonzero(used[cycle])
        writes = np.flatnonzero(write_source[cycle]).tolist()
        lines.append(
            f"{cycle}: {' + '.join(kinds) or 'nop'}, {inputs} tree inputs, writes banks {writes}"
        )
    return {"txt": text_of(lines)}


def memory_texts(layout: MemoryLayout) -> dict[str, str]:
    """Dumps where the host puts leaves, and where outputs are at the end."""
    lines = [f"{layout.rows} rows"]
    words = zip(layout.word_row, layout.word_bank, layout.word_value, strict=True)
    lines += [f"row {row}, bank {bank}: leaf v{value}" for row, bank, value in words]
    for number, (row, bank) in enumerate(zip(layout.output_row, layout.output_bank, strict=True)):
        place = f"row {row}, bank {bank}" if row >= 0 else f"leaf v{bank}"
        lines.append(f"output {number}: {place}")
    return {"txt": text_of(lines)}


def _dot(names: list[str], edges: list[tuple[int, int, bool]]) -> str:
    labels = (name.replace('"', '\\"') for name in names)
    nodes = [f'  {at} [label="{label}"];' for at, label in enumerate(labels)]
    arrows = [f"  {a} -> {b}{' [style=dashed]' if minus else ''};" for a, b, minus in edges]
    return text_of(["digraph {", *nodes, *arrows, "}"])

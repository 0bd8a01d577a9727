"""Writes the reference of SAM's blocks: ``python -m manual.sam``.

Ports, parameters, settings, arrays and counts come from ``gnarl.hw.sam.block_types``, rules from
the components' docstrings; tests run the examples.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from gnarl.hw.lib.functions.function import ERROR_BOUND_ULP, Function, FunctionUnit
from gnarl.hw.lib.machine.memory_map import CommonCause
from gnarl.hw.sam.block_types import (
    BITVECTOR,
    BITVECTOR_BITS,
    BLOCK_TYPES,
    BV,
    COMPRESSED,
    CRD,
    DENSE,
    FUNCTIONS,
    REF,
    REPSIG,
    VAL,
    Array,
    Parameter,
    Port,
)
from gnarl.hw.sam.blocks.joins.bitvector_join import (
    BitvectorIntersect,
    BitvectorJoin,
    BitvectorUnion,
)
from gnarl.hw.sam.blocks.lookups.root import Root
from gnarl.hw.sam.blocks.values.alu import Alu
from gnarl.hw.sam.blocks.values.function_block import FunctionBlock
from gnarl.hw.sam.blocks.values.sparse_accumulator import SparseAccumulator
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.hw.sam.memory_map import WATCHDOG_CYCLES, ErrorCause, memory_map
from gnarl.hw.sam.token import MAX_LEVEL, Kind
from manual.dpu import COMMON_TEXTS
from manual.sam_block_examples import ENTRIES, Entry, Example

PATH = Path(__file__).parents[1] / "docs" / "sam_blocks.md"

KIND_TEXTS = {
    CRD: "coordinates in a level: `index_bits` bits",
    REF: "references, which are positions in the next level or among the values: `index_bits` bits",
    VAL: "values, in the configuration's number format",
    REPSIG: "repeat signals: data 0 is *once more*, a stop is *the next one*",
    BV: f"words of bitvectors, a bit for each of {BITVECTOR_BITS} coordinates",
}

TOKEN_TEXTS = {
    Kind.DATA: ("`7`", "its payload: a coordinate, a reference, a value, …"),
    Kind.STOP: ("`S0`, `S1`, …", f"level: it ends level + 1 nested fibers; up to {MAX_LEVEL}"),
    Kind.EMPTY: ("`N`", "no operand here: born in unions, in place of a reference or value"),
    Kind.DONE: ("`D`", "the last token of every stream, once"),
}

PARAMETER_TEXTS = {
    "tensor": "name of the tensor that it reads or writes; in a repeat only a label",
    "level": "of that tensor, from 0, outermost first",
    "index": "index variable whose coordinates it deals with",
    "format": "of the level",
    "skip": "takes hints of the intersection behind it",
    "op": "what it computes",
    "order": "how many indices its sums have",
    "full0": "every coordinate of the innermost index comes out, absent ones with value 0",
    "full1": "every coordinate of the index around it comes out, absent ones with an empty fiber; "
    "with order 2",
    "lanes": "how many",
    "keep_empty": "every stop ends a fiber, also one right after another stop",
    "lane": "which lane writes, where each has writers of its own; 0 where there are none",
}

SETTING_TEXTS = {
    "size": "of the index",
    "size0": "of the innermost index",
    "size1": "of the index around it",
    "words": f"of a fiber, of {BITVECTOR_BITS} bits each",
}

ARRAY_TEXTS = {
    "seg": "for each fiber where it begins and ends among the coordinates",
    "crd": "coordinates",
    "bv": "words, and how many ones lie before each",
    "vals": "values",
}

COUNT_TEXTS = {
    "fibers": "rows of `seg`",
    "rows": "rows of `bv`",
    "entries": "coordinates or values written; ones, in a bitvector",
}

CAUSE_TEXTS = {
    ErrorCause.NONE: ("no error", "0"),
    ErrorCause.FAULT: (
        "a block saw something impossible: streams that disagree, an address beyond its array, a "
        "full array or accumulator",
        "number of the lowest such block, in the order of the graph",
    ),
    ErrorCause.DEADLOCK: (
        f"nothing has moved for {WATCHDOG_CYCLES} cycles, to which a shared memory adds its "
        "latency",
        "number of the first block that offers a token; of blocks there are, if none does",
    ),
}


_TITLES = {
    ("fiberlookup", DENSE): "dense levels",
    ("fiberlookup", COMPRESSED): "compressed levels",
    ("fiberwrite", DENSE): "dense levels",
    ("fiberwrite", COMPRESSED): "compressed levels",
    ("fiberwrite", BITVECTOR): "bitvector levels",
    ("spaccumulator", 1): "order 1",
    ("spaccumulator", 2): "order 2",
}
"""Titles by type and the first parameter in which its entries differ."""


def manual(config: SamConfig) -> str:
    """The reference as Markdown, with the latencies of ``config``."""
    parts = [
        "# SAM's blocks\n\n"
        "Written by `python -m manual.sam` from `hw/sam/block_types.py` and the docstrings of "
        "the components; tests compare the two and run the examples. [sam.md](sam.md) explains "
        "how blocks make a machine.",
        _streams(),
        _overview(),
        *(_block(name, config) for name in BLOCK_TYPES),
        _functions(),
        _host(),
    ]
    return "\n\n".join(parts) + "\n"


def _streams() -> str:
    tokens = [(kind.value, f"`{kind.name}`", *TOKEN_TEXTS[kind]) for kind in Kind]
    kinds = [(f"`{kind}`", text) for kind, text in KIND_TEXTS.items()]
    return (
        "## Streams\n\n"
        "Each stream is ready/valid: a token passes in a cycle in which both are 1, and stays the "
        "same until then.\n\n"
        + _table(["kind", "name", "as text", "payload, meaning"], tokens)
        + "\n\n"
        + _table(["stream", "carries"], kinds)
        + "\n\nA bare stop, with nothing before it since the last one, ends an empty fiber, or "
        "is an empty fiber of a level around it; only the stream of that level says which. "
        "Latencies below come on top of the cycle that a token spends in the queue in front of "
        "the input; a *read* is a cycle with a memory for each array, `memory_latency` or more "
        "cycles with a shared one, two or more with one of lines. A block that has to know the "
        "token behind the one at hand waits for it."
    )


def _overview() -> str:
    rows = []
    for name, entries in ENTRIES.items():
        components = dict.fromkeys(entry.component for entry in entries)
        texts = [_module_text(component) for component in components]
        where = ", ".join(f"`{component.__name__}`" for component in components)
        rows.append((f"[`{name}`](#{name})", where, " ".join(texts)))
    return "## All of them\n\n" + _table(["type", "component", "what it is"], rows)


def _block(name: str, config: SamConfig) -> str:
    entries = ENTRIES[name]
    parts = [f"## {name}"]
    rows = [_parameter(parameter) for parameter in BLOCK_TYPES[name].parameters]
    if rows:
        parts.append(_table(["parameter", "values", "default", "meaning"], rows))
    last: type[wiring.Component] | None = None
    for entry in entries:
        if len(entries) > 1:
            first = next(iter(entry.parameters.values()))
            parts.append(f"### {name}: {_TITLES[name, first]}")
        if entry.component is not last:
            parts.append(rule(entry.component))
        last = entry.component
        parts.append(_entry(name, entry, config))
    return "\n\n".join(parts)


def _entry(name: str, entry: Entry, config: SamConfig) -> str:
    block = Block("block", name, entry.parameters)
    ports = [
        (f"`{port.name}`", way, " or ".join(f"`{kind}`" for kind in port.kinds) + _optional(port))
        for way, side in (("in", block.inputs), ("out", block.outputs))
        for port in side.values()
    ]
    facts = [_table(["port", "", "carries"], ports)]
    lists = [
        ("Settings", [f"`{one}`, {SETTING_TEXTS[one]}" for one in block.settings]),
        ("Arrays", [_array(array) for array in block.arrays]),
        ("Counts", [f"`{one}`, {COUNT_TEXTS[one]}" for one in block.counts]),
        ("Latency", [text] if (text := latency(name, entry, config)) else []),
    ]
    lines = [f"- {what}: {'; '.join(texts)}." for what, texts in lists if texts]
    if lines:
        facts.append("\n".join(lines))
    facts.append(_example(block, entry.example))
    return "\n\n".join(facts)


def rule(component: type[wiring.Component]) -> str:
    """What a component's docstring says before its parameters, and what its base's does."""
    text = inspect.getdoc(component) or ""
    if component in (BitvectorIntersect, BitvectorUnion):
        text = text.replace("``BitvectorJoin`` of the", "The")
        text += f"\n\n{inspect.getdoc(BitvectorJoin)}"
    paragraphs = [
        " ".join(paragraph.split()).replace("``", "`")
        for paragraph in text.split("\n\n")
        if not re.match(r"Parameters:|Members", paragraph)
    ]
    return "\n\n".join(paragraphs)


def latency(name: str, entry: Entry, config: SamConfig) -> str:
    """Cycles from the tokens that a token out depends on, where the rule does not say it."""
    kind = entry.component
    if kind is Alu:
        return "`stages` is `alu_stages` of the configuration"
    if kind is FunctionBlock:
        return "see [functions](#functions)"
    if kind is SparseAccumulator:
        cycles = SparseAccumulator.latency(config.accumulator_words, config.alu_stages)
        return (
            f"{cycles} cycles from the stop that ends the sums to the first of them, with "
            f"{config.accumulator_words:,} `accumulator_words`"
        )
    documented = "Latency:" in rule(kind) or not Block("block", name, entry.parameters).outputs
    return "" if documented or kind is Root else "0 cycles"


def _example(block: Block, example: Example) -> str:
    rows: list[tuple[str, object]] = [*example.settings.items(), *example.arrays.items()]
    rows += example.inputs.items()
    results: list[tuple[str, object]] = [*example.outputs.items(), *example.written.items()]
    results += example.counts.items()
    width = max(len(name) for name, _ in [*rows, *results])
    lines = [f"{name:<{width}}  {text}" for name, text in rows]
    if lines and results:
        lines.append("-" * (width + 2))
    lines += [f"{name:<{width}}  {text}" for name, text in results]
    shown = ", ".join(f"`{name} = {_value(value)}`" for name, value in _changed(block).items())
    return f"Example{f' with {shown}' if shown else ''}:\n\n```text\n" + "\n".join(lines) + "\n```"


def _changed(block: Block) -> dict[str, Any]:
    """Parameters that differ from their defaults."""
    return {
        parameter.name: block[parameter.name]
        for parameter in block.kind.parameters
        if block[parameter.name] != parameter.default
    }


def _functions() -> str:
    rows = []
    for name in FUNCTIONS:
        function = getattr(Function, name.upper())
        cycles = FunctionBlock.latency(name)
        bound = ERROR_BOUND_ULP[function]
        exact = {0.0: ", exact", 0.5: ", correctly rounded"}.get(bound, "")
        rows.append((f"`{name}`", cycles, f"{bound:g}{exact}"))
    return (
        "## functions\n\n"
        "How far results are from the exact ones, in units in the last place, for all numbers of "
        "all float formats; fixed-point formats have `relu` only.\n\n"
        + _table(["function", "latency, cycles", "error bound, ulp"], rows)
        + f"\n\n{rule(FunctionUnit).partition(chr(10) * 2)[2]}"
    )


def _host() -> str:
    blocks = (
        Block("root", "root"),
        Block("lookup", "fiberlookup", {"tensor": "b", "index": "i", "format": DENSE}),
        Block("vals", "arrayvals", {"tensor": "b"}),
        Block("write_crd", "fiberwrite", {"tensor": "x", "index": "i"}),
        Block("write_vals", "valwrite", {"tensor": "x"}),
    )
    edges = (
        Edge("root", "out_ref", "lookup", "ref"),
        Edge("lookup", "out_ref", "vals", "ref"),
        Edge("lookup", "out_crd", "write_crd", "crd"),
        Edge("vals", "out_val", "write_vals", "val"),
    )
    where = memory_map(SamConfig(graph=Graph(blocks, edges)))
    windows = [
        (f"`{window.name}`", window.rows, window.words, window.word_bits)
        for window in where.windows
    ]
    counters = ", ".join(f"`{name}`" for name in where.counters)
    causes = [(cause.value, f"`{cause.name}`", *CAUSE_TEXTS[cause]) for cause in ErrorCause]
    causes += [(cause.value, f"`{cause.name}`", *COMMON_TEXTS[cause]) for cause in CommonCause]
    return (
        "## What the host sees\n\n"
        "Behind the [common host port](dpu_isa.md#host-memory-map), with its registers: the window "
        "`settings`, a row for each setting of each block; of a fabric, `configuration`; then "
        "`BLOCK_ARRAY` for each array. Counters are `tokens_BLOCK_OUTPUT` for each output in use, "
        "`operations_BLOCK` for each ALU, function, reduction and accumulator: values that the "
        "first two gave and that the others took in, `reads_BLOCK_ARRAY` for each array that is "
        "read: rows that its block asked for, `stalls_BLOCK`, cycles in which the block "
        "offered a token that was not taken, and `BLOCK_COUNT`. So a graph that makes a "
        "compressed vector of a dense one, with blocks `root`, `lookup`, `vals`, `write_crd` and "
        "`write_vals`, has these windows:\n\n"
        + _table(["window", "rows", "words a row", "bits a word"], windows)
        + f"\n\nand these counters: {counters}.\n\n"
        "An error ends the run, and stays until it is cleared:\n\n"
        + _table(["cause", "name", "when", "detail"], causes)
    )


def _module_text(component: type[wiring.Component]) -> str:
    module = inspect.getmodule(component)
    text = inspect.getdoc(module) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def _parameter(parameter: Parameter) -> tuple[str, str, str, str]:
    allowed = parameter.allowed
    if isinstance(allowed, type):
        values = {str: "text", int: "whole number"}[allowed]
    elif len(allowed) > len(FUNCTIONS):
        values = f"{allowed[0]} to {allowed[-1]}"
    else:
        values = ", ".join(f"`{_value(value)}`" for value in allowed)
    default = _value(parameter.default)
    return (
        f"`{parameter.name}`",
        values,
        f"`{default}`" if default else "",
        PARAMETER_TEXTS[parameter.name],
    )


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _array(array: Array) -> str:
    words = f", {array.words} words a row" if array.words > 1 else ""
    return (
        f"`{array.name}`, {'written' if array.writes else 'read'}{words}: {ARRAY_TEXTS[array.name]}"
    )


def _optional(port: Port) -> str:
    return ", may be open" if port.optional else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    PATH.write_text(manual(SamConfig()), encoding="utf-8")

"""Writes the reference of SAM's blocks: ``python -m hw.sam.manual``.

Ports, parameters, settings, arrays and counts come from ``hw.sam.block_types``, rules from the
components' docstrings; tests run the examples.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from hw.lib.function import ERROR_BOUND_ULP, Function, FunctionUnit
from hw.sam.alu import Alu
from hw.sam.array_vals import ArrayVals
from hw.sam.bitvector_expand import BitvectorExpand
from hw.sam.bitvector_intersect import BitvectorIntersect
from hw.sam.bitvector_join import BitvectorJoin
from hw.sam.bitvector_lookup import BitvectorLookup
from hw.sam.bitvector_union import BitvectorUnion
from hw.sam.bitvector_writer import BitvectorWriter
from hw.sam.block_types import (
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
from hw.sam.components import component_latency
from hw.sam.compressed_lookup import CompressedLookup
from hw.sam.compressed_writer import CompressedWriter
from hw.sam.config import SamConfig
from hw.sam.crd_drop import CrdDrop
from hw.sam.crd_hold import CrdHold
from hw.sam.crd_to_point import CrdToPoint
from hw.sam.dense_lookup import DenseLookup
from hw.sam.dense_writer import DenseWriter
from hw.sam.function_block import FunctionBlock
from hw.sam.graph import Block, Edge, Graph
from hw.sam.intersect import Intersect
from hw.sam.locate import Locate
from hw.sam.memory_map import WATCHDOG_CYCLES, ErrorCause, memory_map
from hw.sam.parallelizer import Parallelizer
from hw.sam.point_to_crd import PointToCrd
from hw.sam.reduce import Reduce
from hw.sam.repeat import Repeat
from hw.sam.repeat_signal_generator import RepeatSignalGenerator
from hw.sam.root import Root
from hw.sam.serializer import Serializer
from hw.sam.sparse_accumulator import SparseAccumulator
from hw.sam.token import MAX_LEVEL, Kind
from hw.sam.union import Union
from hw.sam.val_drop import ValDrop
from hw.sam.value_writer import ValueWriter

PATH = Path(__file__).parents[2] / "docs" / "sam_blocks.md"

KIND_TEXTS = {
    CRD: "coordinates in a level: `index_bits` bits",
    REF: "references, which are positions in the next level or among the values: `index_bits` bits",
    VAL: "values, in the configuration's number format",
    REPSIG: "repeat signals: data 0 is *once more*, any stop is *the next one*",
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

WRITTEN_TEXTS = {
    "seg": "for each fiber how many coordinates there are up to its end",
    "crd": "coordinates",
    "bv": "words",
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


@dataclass(frozen=True)
class Example:
    """Streams of a block, as text; ``arrays`` are what it reads, ``written`` what it writes.

    Words of a row are separated by colons.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A type of block with these parameters, the component that it is then, and an example."""

    component: type[wiring.Component]
    example: Example
    parameters: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, tuple[Entry, ...]] = {
    "root": (Entry(Root, Example({}, {"out_ref": "0 D"})),),
    "fiberlookup": (
        Entry(
            DenseLookup,
            Example(
                {"ref": "0 N S0 1 S1 D"},
                {"out_crd": "0 1 S0 S1 0 1 S2 D", "out_ref": "0 1 S0 S1 2 3 S2 D"},
                settings={"size": 2},
            ),
            {"format": DENSE},
        ),
        Entry(
            CompressedLookup,
            Example(
                {"ref": "0 N S0 S0 1 S1 D"},
                {"out_crd": "0 2 S0 S1 S1 1 S2 D", "out_ref": "0 1 S0 S1 S1 2 S2 D"},
                arrays={"seg": "0:2 2:3", "crd": "0 2 1"},
            ),
            {"format": COMPRESSED},
        ),
    ),
    "bitvectorlookup": (
        Entry(
            BitvectorLookup,
            Example(
                {"ref": "0 1 S0 D"},
                {"out_bv": "5 2 S0 0 4 S1 D", "out_ref": "0 2 S0 3 3 S1 D"},
                settings={"words": 2},
                arrays={"bv": "5:0 2:2 0:3 4:3"},
            ),
        ),
    ),
    "bitvectorexpand": (
        Entry(
            BitvectorExpand,
            Example(
                {"bv": "5 2 S0 S1 D", "ref": "0 2 S0 S1 D"},
                {"out_crd": "0 2 33 S0 S1 D", "out_ref": "0 1 2 S0 S1 D"},
            ),
        ),
    ),
    "bitvectorintersect": (
        Entry(
            BitvectorIntersect,
            Example(
                {"bv0": "13 S0 D", "ref0": "1 S0 D", "bv1": "12 S0 D", "ref1": "3 S0 D"},
                {"out_crd": "2 3 S0 D", "out_ref0": "2 3 S0 D", "out_ref1": "3 4 S0 D"},
            ),
        ),
    ),
    "bitvectorunion": (
        Entry(
            BitvectorUnion,
            Example(
                {"bv0": "5 S0 D", "ref0": "0 S0 D", "bv1": "6 S0 D", "ref1": "0 S0 D"},
                {"out_crd": "0 1 2 S0 D", "out_ref0": "0 N 1 S0 D", "out_ref1": "N 0 1 S0 D"},
            ),
        ),
    ),
    "locate": (
        Entry(
            Locate,
            Example(
                {"crd": "0 3 S0 1 S1 D", "ref": "1 1 S0 N S1 D"},
                {"out_ref": "4 7 S0 N S1 D"},
                settings={"size": 4},
            ),
        ),
    ),
    "repeat": (
        Entry(
            Repeat,
            Example(
                {"ref": "5 S0 S0 6 S1 D", "repsig": "0 0 S0 S0 0 S0 D"},
                {"out_ref": "5 5 S1 S1 6 S2 D"},
            ),
        ),
    ),
    "repsiggen": (
        Entry(
            RepeatSignalGenerator,
            Example({"crd": "4 7 S0 N S1 D"}, {"out_repsig": "0 0 S0 0 S0 D"}),
        ),
    ),
    "intersect": (
        Entry(
            Intersect,
            Example(
                {
                    "crd0": "0 2 4 S0 D",
                    "ref0": "0 1 2 S0 D",
                    "crd1": "2 3 S0 D",
                    "ref1": "0 1 S0 D",
                },
                {"out_crd": "2 S0 D", "out_ref0": "1 S0 D", "out_ref1": "0 S0 D"},
            ),
        ),
    ),
    "union": (
        Entry(
            Union,
            Example(
                {
                    "crd0": "0 2 4 S0 D",
                    "ref0": "0 1 2 S0 D",
                    "crd1": "2 3 S0 D",
                    "ref1": "0 1 S0 D",
                },
                {
                    "out_crd": "0 2 3 4 S0 D",
                    "out_ref0": "0 1 N 2 S0 D",
                    "out_ref1": "N 0 1 N S0 D",
                },
            ),
        ),
    ),
    "arrayvals": (
        Entry(
            ArrayVals,
            Example(
                {"ref": "0 N 2 S0 S1 D"},
                {"out_val": "10 0 12 S0 S1 D"},
                arrays={"vals": "10 11 12"},
            ),
        ),
    ),
    "alu": (
        Entry(
            Alu,
            Example(
                {"val0": "5 N S0 1 S1 D", "val1": "2 3 S0 N S1 D"}, {"out_val": "3 -3 S0 1 S1 D"}
            ),
            {"op": "sub"},
        ),
    ),
    "function": (
        Entry(
            FunctionBlock,
            Example({"val": "-2 0.5 S0 N S1 D"}, {"out_val": "0 0.5 S0 0 S1 D"}),
            {"op": "relu"},
        ),
    ),
    "reduce": (
        Entry(
            Reduce,
            Example(
                {"val": "1 2 S0 S0 3 S1 S1 4 S2 D", "crd": "0 1 2 S0 S0 5 S1 D"},
                {"out_val": "3 0 3 S0 S0 4 S1 D"},
            ),
        ),
    ),
    "spaccumulator": (
        Entry(
            SparseAccumulator,
            Example(
                {
                    "crd0": "0 2 3 S0 2 3 S1 1 S2 D",
                    "crd1": "0 2 S0 2 S1 D",
                    "val": "50 5 10 S0 4 8 S1 7 S2 D",
                },
                {"out_crd0": "0 2 3 S0 1 S1 D", "out_val": "50 9 18 S0 7 S1 D"},
                settings={"size0": 4},
            ),
            {"order": 1},
        ),
        Entry(
            SparseAccumulator,
            Example(
                {
                    "crd0": "1 S0 0 S1 1 S2 D",
                    "crd1": "0 3 S0 0 S1 D",
                    "crd2": "4 6 S0 D",
                    "val": "1 S0 2 S1 10 S2 D",
                },
                {
                    "out_crd0": "1 S0 0 S1 D",
                    "out_crd1": "0 3 S0 D",
                    "out_val": "11 S0 2 S1 D",
                },
                settings={"size0": 2, "size1": 4},
            ),
            {"order": 2},
        ),
    ),
    "crddrop": (
        Entry(
            CrdDrop,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "7 8 S0 S0 9 S1 D"},
                {"out_outer": "0 2 S0 D", "out_inner": "7 8 S0 S0 9 S1 D"},
            ),
        ),
    ),
    "crdhold": (
        Entry(
            CrdHold,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "0 2 S0 S0 2 S1 D"},
                {"out_outer": "0 0 S0 S0 2 S1 D", "out_inner": "0 2 S0 S0 2 S1 D"},
            ),
        ),
    ),
    "valdrop": (
        Entry(
            ValDrop,
            Example(
                {"crd": "0 1 2 S0 D", "val": "1.5 0 -2 S0 D"},
                {"out_crd": "0 2 S0 D", "out_val": "1.5 -2 S0 D"},
            ),
        ),
    ),
    "crdtopoint": (
        Entry(
            CrdToPoint,
            Example(
                {"outer": "0 1 2 S0 D", "inner": "0 2 S0 S0 2 S1 D"},
                {"out_outer": "0 0 2 D", "out_inner": "0 2 2 D"},
            ),
        ),
    ),
    "pointtocrd": (
        Entry(
            PointToCrd,
            Example(
                {"outer": "0 0 2 D", "inner": "0 2 2 D"},
                {"out_outer": "0 2 S0 D", "out_inner": "0 2 S0 2 S1 D"},
            ),
        ),
    ),
    "parallelizer": (
        Entry(
            Parallelizer,
            Example({"i": "0 1 2 S0 S0 3 S1 D"}, {"o0": "0 2 S0 3 S1 D", "o1": "1 N S0 D"}),
            {"lanes": 2},
        ),
    ),
    "serializer": (
        Entry(
            Serializer,
            Example({"i0": "1 2 S0 4 S2 D", "i1": "3 S1 D"}, {"o": "1 2 S0 3 S1 4 S2 D"}),
            {"lanes": 2},
        ),
    ),
    "fiberwrite": (
        Entry(DenseWriter, Example({"crd": "0 1 S0 D"}), {"format": DENSE}),
        Entry(
            CompressedWriter,
            Example(
                {"crd": "0 2 S0 S0 1 S1 D"},
                written={"seg": "2 2 3", "crd": "0 2 1"},
                counts={"fibers": 3, "entries": 3},
            ),
            {"format": COMPRESSED, "keep_empty": True},
        ),
        Entry(
            BitvectorWriter,
            Example(
                {"crd": "0 33 S0 S0 1 S1 D"},
                settings={"words": 2},
                written={"bv": "1 2 2 0"},
                counts={"rows": 4, "entries": 3},
            ),
            {"format": BITVECTOR, "keep_empty": False},
        ),
    ),
    "valwrite": (
        Entry(
            ValueWriter,
            Example(
                {"val": "1.5 N S0 S0 2 S1 D"}, written={"vals": "1.5 0 2"}, counts={"entries": 3}
            ),
        ),
    ),
}
"""For each type of block, the components that it may become."""

_TITLES = {
    ("fiberlookup", DENSE): "dense levels",
    ("fiberlookup", COMPRESSED): "compressed levels",
    ("fiberwrite", DENSE): "dense levels",
    ("fiberwrite", COMPRESSED): "compressed levels",
    ("fiberwrite", BITVECTOR): "bitvector levels",
    ("spaccumulator", 1): "order 1",
    ("spaccumulator", 2): "order 2",
}
"""By type and the first parameter in which its entries differ."""


def manual(config: SamConfig) -> str:
    """The reference as Markdown, with the latencies of ``config``."""
    parts = [
        "# SAM's blocks\n\n"
        "Written by `python -m hw.sam.manual` from `hw/sam/block_types.py` and the docstrings of "
        "the components; tests compare the two and run the examples. [sam.md](sam.md) explains "
        "how blocks make a machine.",
        _streams(),
        _overview(),
        *(_block(name, config) for name in BLOCK_TYPES),
        _functions(config),
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
        "stands for an empty fiber of a level around it; only the stream of that level tells. "
        "Latencies below come on top of the cycle that a token spends in the queue in front of "
        "the input; a *read* is a cycle with a memory for each array, `memory_latency` or more "
        "cycles with a shared one. A block that has to know the token behind the one at hand "
        "waits for it."
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
        cycles = SparseAccumulator(
            config.number_format, config.index_bits, 1, config.accumulator_words, (False,)
        ).latency
        return (
            f"{cycles} cycles from the stop that ends the sums to the first of them, with "
            f"{config.accumulator_words:,} `accumulator_words`"
        )
    told = "Latency:" in rule(kind) or not Block("block", name, entry.parameters).outputs
    return "" if told or kind is Root else "0 cycles"


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


def _functions(config: SamConfig) -> str:
    rows = []
    for name in FUNCTIONS:
        function = getattr(Function, name.upper())
        cycles = component_latency(Block("block", "function", {"op": name}), config)
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
    return (
        "## What the host sees\n\n"
        "Behind the [common host port](dpu_isa.md#host-memory-map), with its registers: the window "
        "`settings`, a row for each setting of each block; of a fabric, `configuration`; then "
        "`BLOCK_ARRAY` for each array. Counters are `tokens_BLOCK_OUTPUT` for each output in use, "
        "`stalls_BLOCK`, cycles in which the block offered a token that was not taken, and "
        "`BLOCK_COUNT`. So a graph that makes a compressed vector of a dense one, with blocks "
        "`root`, `lookup`, `vals`, `write_crd` and `write_vals`, has these windows:\n\n"
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
    texts = WRITTEN_TEXTS if array.writes else ARRAY_TEXTS
    words = f", {array.words} words a row" if array.words > 1 else ""
    return f"`{array.name}`, {'written' if array.writes else 'read'}{words}: {texts[array.name]}"


def _optional(port: Port) -> str:
    return ", may be open" if port.optional else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    PATH.write_text(manual(SamConfig()), encoding="utf-8")

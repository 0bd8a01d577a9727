"""How many look-up tables lie one behind the other in each type of block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import bars, line_at, save, subplots
from bench.lib.records import Metric, Record, Setting, installed, records
from bench.lib.request import Request
from bench.lib.summary import cells, mark, split
from bench.lib.tables import Cells
from bench.sam_parts.lut_levels import Levels, measure
from bench.sam_parts.measure import CONFIG
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.block_types import REPSIG
from gnarl.hw.sam.components import component
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block
from gnarl.sw.runtime.fpga.synthesis import YOSYS
from gnarl.sw.runtime.target.configuration import load_configuration

BENCH = "sam.levels"
_PATH = f"{BENCH}.path"

LIMIT = 16

REGISTERS = ("alu_stages=5", "local_latency=2")
"""With which blocks are measured. ``stream_latency`` is not of blocks, but of what is between."""

_METRICS = {
    "levels": Metric("tables", "lower"),
    "levels_small": Metric("tables", "lower"),
    "levels_with_queues": Metric("tables", "lower"),
    "luts": Metric("LUTs", "lower"),
}
"""Levels mapped for depth: of the block, with Yosys's default script, with queues around it; its
look-up tables."""

_HEADER = {
    "levels": "levels",
    "levels_small": "default script",
    "levels_with_queues": "with queues",
    "luts": "LUTs",
}


def _block(kind: str, **parameters: Any) -> Block:
    return Block("block", kind, parameters)


CASES: dict[str, Block] = {
    "lookup": _block("fiberlookup"),
    "lookup that skips": _block("fiberlookup", skip=True),
    "dense lookup": _block("fiberlookup", format="dense"),
    "bitvector lookup": _block("bitvectorlookup"),
    "locate": _block("locate"),
    "array of values": _block("arrayvals"),
    "intersect": _block("intersect"),
    "union": _block("union"),
    "bitvector expand": _block("bitvectorexpand"),
    "bitvector intersect": _block("bitvectorintersect"),
    "bitvector union": _block("bitvectorunion"),
    "repeat": _block("repeat"),
    "repeat signals": _block("repsiggen"),
    "coordinate drop": _block("crddrop"),
    "coordinate hold": _block("crdhold"),
    "value drop": _block("valdrop"),
    "points from coordinates": _block("crdtopoint"),
    "coordinates from points": _block("pointtocrd"),
    "parallelizer of 4": _block("parallelizer", lanes=4),
    "coordinate parallelizer of 4": _block("crdparallelizer", lanes=4),
    "serializer of 4": _block("serializer", lanes=4),
    "value serializer of 4": _block("valserializer", lanes=4),
    "ALU, sum": _block("alu", op="add"),
    "ALU, product": _block("alu", op="mul"),
    "ALU, maximum": _block("alu", op="max"),
    "function, exp": _block("function", op="exp"),
    "function, reciprocal": _block("function", op="reciprocal"),
    "function, square root": _block("function", op="sqrt"),
    "function, GELU": _block("function", op="gelu"),
    "function, sigmoid": _block("function", op="sigmoid"),
    "function, tanh": _block("function", op="tanh"),
    "function, log": _block("function", op="log"),
    "reduce, sum": _block("reduce", op="add"),
    "reduce, maximum": _block("reduce", op="max"),
    "fold of 4 words": _block("fold", op="add", index="j", block="j:4"),
    "accumulator of order 1": _block("spaccumulator", order=1),
    "accumulator of order 2": _block("spaccumulator", order=2),
    "compressed writer": _block("fiberwrite"),
    "bitvector writer": _block("fiberwrite", format="bitvector"),
    "dense writer": _block("fiberwrite", format="dense"),
    "value writer": _block("valwrite"),
}
"""Blocks by what they are called here."""

_QUICK = ("lookup", "repeat", "ALU, maximum")


def make(block: Block, config: SamConfig) -> wiring.Component:
    """The block's component, whose inputs carry what their first kind is."""
    widths = {name: config.stream_width(port.kinds[0]) for name, port in block.inputs.items()}
    widths |= {name: config.stream_width(REPSIG) for name in widths if name == "repsig"}
    return component(block, widths, config)


class Queued(wiring.Component):
    """A block with a queue in front of each input, and of what each output feeds."""

    def __init__(self, block: Block, config: SamConfig) -> None:
        self._block = make(block, config)
        self._streams = [*block.inputs, *block.outputs]
        self._depth = config.queue_depth
        super().__init__(dict(self._block.signature.members))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.block = block = self._block
        for name, member in block.signature.members.items():
            inner, outer = getattr(block, name), getattr(self, name)
            if name not in self._streams:
                _join(m, member, inner, outer)
                continue
            queue = Queue(inner.payload.shape(), self._depth)
            m.submodules[f"queue_{name}"] = queue
            if member.flow == In:
                wiring.connect(m, wiring.flipped(outer), queue.i)
                wiring.connect(m, queue.o, inner)
            else:
                wiring.connect(m, inner, queue.i)
                wiring.connect(m, queue.o, wiring.flipped(outer))
        return m


def _join(m: Module, member: wiring.Member, inner: Any, outer: Any) -> None:
    if not member.is_port:
        wiring.connect(m, inner, wiring.flipped(outer))
    elif member.flow == In:
        m.d.comb += inner.eq(outer)
    else:
        m.d.comb += outer.eq(inner)


def measure_case(name: str) -> dict[str, Levels]:
    """Levels of a block by metric, but for ``luts``."""
    config = load_configuration(CONFIG, REGISTERS).config
    assert isinstance(config, SamConfig)
    block = CASES[name]
    return {
        "levels": measure(make(block, config), for_depth=True),
        "levels_small": measure(make(block, config)),
        "levels_with_queues": measure(Queued(block, config), for_depth=True),
    }


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures all blocks; whether all could be."""
    names = list(_QUICK if request.quick else CASES)
    setting = Setting.of(load_configuration(CONFIG, REGISTERS), request.seed)
    found = run_jobs(measure_case, names, title=BENCH, console=request.console)
    measured: list[Record] = []
    also = installed([YOSYS])
    for name, levels in zip(names, found, strict=True):
        if isinstance(levels, Failure):
            continue
        way = levels["levels"]
        values = {metric: each.levels for metric, each in levels.items()} | {"luts": way.luts}
        measured += records(BENCH, {"block": name}, values, _METRICS, setting, also=also)
        ends = {"block": name, "from": way.begin, "to": way.end}
        only = {"levels": way.levels}
        measured += records(_PATH, ends, only, _METRICS, setting, also=also)
    return measured, bool(measured) and not any(isinstance(each, Failure) for each in found)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """Levels of each block, and where its longest path begins and ends."""
    table, _ = split(measured, BENCH)
    ends = {
        record.labels["block"]: [record.labels["from"], record.labels["to"]]
        for record in measured
        if record.bench == _PATH
    }
    body = [[*cells(row, labels, _HEADER), *ends[labels[0]]] for labels, row in table.items()]
    return {"Levels": Cells(["block", *_HEADER.values(), "from", "to"], body, names=1)}


def verdict(measured: Sequence[Record]) -> str:
    """The deepest blocks, against the limit."""
    table, _ = split(measured, BENCH)
    lines = []
    for metric, title in (("levels", "levels"), ("levels_small", "levels by the default script")):
        block, row = max(table.items(), key=lambda each: each[1][metric])
        deeper = sum(each[metric] > LIMIT for each in table.values())
        lines.append(
            f"most {title}: {row[metric]}, {block[0]}, limit {LIMIT} {mark(not deeper)}"
            + (f"; {deeper} of {len(table)} blocks have more" if deeper else "")
        )
    return "\n".join(lines)


def draw(measured: Sequence[Record], path: Path) -> None:
    """Levels of each block."""
    table, _ = split(measured, BENCH)
    figure, (axes,) = subplots(1, (11, 4.4))
    shown = [metric for metric in _HEADER if metric != "luts"]
    bars(axes, {_HEADER[name]: [row[name] for row in table.values()] for name in shown})
    line_at(axes, LIMIT)
    ticks = [block for (block,) in table]
    axes.set_xticks(range(len(ticks)), ticks, rotation=60, ha="right", fontsize=8)
    axes.set(ylabel="look-up tables of 4 inputs")
    title = f"{CONFIG} {' '.join(REGISTERS)}: the longest path of each block"
    axes.set_title(title, loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=len(shown))
    save(figure, path)

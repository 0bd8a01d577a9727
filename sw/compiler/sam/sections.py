"""What a SAM program consists of: its graph, what it computes, and a fabric's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import GnarlError, ProgramError, damaged_as, short
from gnarl.hw.sam.block_types import BITVECTOR, DENSE
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import encode as encode_fabric
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.unit import WRITERS
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.program.launch import Sections
from gnarl.sw.program.program import Launch
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.text_file import is_number, parse_json


def encode(graph: Graph, statement: str) -> np.ndarray:
    """Section ``plan``: UTF-8 of a JSON object, uint8."""
    plan = {"graph": graph.to_dict(), "statement": statement}
    return np.frombuffer(json.dumps(plan, sort_keys=True).encode(), np.uint8)


def graph_of(sections: Sections) -> Graph:
    return _decode(sections["plan"].tobytes())[0]


def statement_of(sections: Sections) -> Statement:
    """What the graph computes, and how its tensors are stored."""
    return _decode(sections["plan"].tobytes())[1]


@lru_cache(maxsize=8)
def _decode(octets: bytes) -> tuple[Graph, Statement]:
    plan = parse_json(octets.decode(), "plan")
    return Graph.from_dict(plan["graph"]), parse(plan["statement"])


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` unless the plan is sound and matches the configuration, which names
    the hardware."""
    sections = launch.sections
    with damaged_as(ProgramError, "section 'plan'"):
        try:
            text = json.loads(sections["plan"].tobytes())["statement"]
            graph, statement = graph_of(sections), statement_of(sections)
            verify(graph)
        except GnarlError as error:
            raise ProgramError(f"section 'plan': {error}") from error
        if quantities.get("fabric") is not None:
            names = [field.name for field in fields(SamConfig)]
            config = SamConfig.from_dict({name: quantities[name] for name in names})
            encoded = encode_fabric(graph, config)
            if not np.array_equal(encoded.words, sections["configuration"]):
                raise ProgramError("section 'configuration': does not match the plan's graph")
            if encoded.graph != graph:
                raise ProgramError("section 'plan': its blocks must be named as the fabric's units")
        elif len(sections["configuration"]):
            raise ProgramError("section 'configuration': must be empty: config has no fabric")
        elif quantities.get("graph") != graph.to_dict():
            raise ProgramError("section 'plan': its graph does not match config")
        elif quantities.get("expression") != text:
            raise ProgramError(
                "section 'plan': its statement does not match the expression of config"
            )
        _check_tensors(graph, statement)
        if statement_tensors(statement, launch.config["format"]) != (launch.inputs, launch.outputs):
            raise ProgramError("section 'plan': its tensors do not match the program's")


_LEVELS = {"bitvectorlookup": BITVECTOR, "locate": DENSE}
"""What a block reads whose parameters do not say it."""


def _check_tensors(graph: Graph, statement: Statement) -> None:
    """Raises ``ProgramError`` unless blocks read, write and are set to what the statement has."""
    for block in graph.blocks:
        place = f"section 'plan': block {block.name}"
        _check_tensor(place, block, statement)
        for name in block.settings:
            output = block.setting(name).output
            index = graph.index_of(block.name, output) if output else block["index"]
            if index not in statement.order:
                raise ProgramError(
                    f"{place}: index {index!r}: the statement has {', '.join(statement.order)}"
                )
    levels = [block for block in graph.blocks if block.type == "fiberwrite"]
    if len(levels) != len(statement.result.indices):
        raise ProgramError(
            f"section 'plan': its graph writes {len(levels)} levels: must be "
            f"{len(statement.result.indices)}, as the statement"
        )


def _check_tensor(place: str, block: Block, statement: Statement) -> None:
    """Checks the tensor that a block names."""
    tensor = block.parameters.get("tensor", "")
    named = tensor in statement.formats
    if not named and not is_number(tensor) and (tensor or block.arrays):
        raise ProgramError(
            f"{place}: tensor {short(tensor)}: the statement has {', '.join(statement.formats)}"
        )
    if not named and block.arrays and block.type != "arrayvals":
        raise ProgramError(f"{place}: tensor {tensor}: a number has no levels")
    if named and "level" in block.parameters:
        _check_level(place, block, statement.formats[tensor])
    if block.type in WRITERS and tensor != statement.result.tensor:
        raise ProgramError(f"{place}: writes {tensor}: must write {statement.result.tensor}")


def _check_level(place: str, block: Block, format: TensorFormat) -> None:
    tensor, level = block["tensor"], block["level"]
    kind = _LEVELS.get(block.type) or block["format"]
    if not 0 <= level < format.order or format.levels[level] != kind:
        raise ProgramError(
            f"{place}: level {level} of tensor {tensor}: must be a {kind} level of "
            f"{format}, as the statement stores it"
        )


SAM_SCHEMA = Schema(
    [
        Section("plan", np.uint8, ("bytes",)),
        Section("configuration", np.uint32, ("words",)),
    ],
    _check,
)
"""``configuration``: what a fabric is set to, see ``gnarl.hw.sam.fabric.encoding``; else empty."""

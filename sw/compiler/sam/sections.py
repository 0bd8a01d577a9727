"""What a SAM program consists of: its graph, what it computes, and a fabric's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, damaged_as, short
from hw.sam.block_types import DENSE
from hw.sam.config import SamConfig
from hw.sam.fabric.encoding import encode as encode_fabric
from hw.sam.graph import Graph
from sw.compiler.sam.verify import verify
from sw.program.program import Launch
from sw.program.schema import Schema, Section, Sections
from sw.program.tensor_spec import Dense, Sparse, TensorSpec
from sw.workloads.tensor.expression import Access, Statement
from sw.workloads.tensor.parser import parse
from sw.workloads.text_file import is_number, parse_json


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


def tensors(
    statement: Statement, format: str
) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The operands, and the result. A size is the index that it is the size of.

    A result with an index that no operand has is an operand, too, for its size.
    """
    operands = {access.tensor: access for access in statement.operands}
    known = {index for access in operands.values() for index in access.indices}
    result = statement.result
    if not known.issuperset(result.indices):
        operands[result.tensor] = result
    return (
        tuple(_spec(statement, access, format) for access in operands.values()),
        (_spec(statement, result, format),),
    )


def _spec(statement: Statement, access: Access, format: str) -> TensorSpec:
    stored = statement.formats[access.tensor]
    dense = all(level == DENSE for level in stored.levels)
    storage = Dense() if dense else Sparse(stored.levels, stored.modes)
    return TensorSpec(access.tensor, tuple(access.indices), format, storage)


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """That the plan is sound, and what the configuration says, which names the hardware."""
    sections = launch.sections
    with damaged_as(ProgramError, "section 'plan'"):
        try:
            text = json.loads(sections["plan"].tobytes())["statement"]
            graph, statement = graph_of(sections), statement_of(sections)
            verify(graph)
        except GnarlError as error:
            raise ProgramError(f"section 'plan': {error}") from error
        for block in graph.blocks:
            tensor = block.parameters.get("tensor", "")
            if tensor.isidentifier():
                known = tensor in statement.formats
            else:
                known = block.type != "arrayvals" or is_number(tensor)
            if not known:
                raise ProgramError(
                    f"section 'plan': block {block.name}: tensor {short(tensor)}: the statement "
                    f"has {', '.join(statement.formats)}"
                )
        if quantities.get("fabric") is not None:
            names = [field.name for field in fields(SamConfig)]
            config = SamConfig.from_dict({name: quantities[name] for name in names})
            if not np.array_equal(encode_fabric(graph, config).words, sections["configuration"]):
                raise ProgramError("section 'configuration': does not match the plan's graph")
        elif len(sections["configuration"]):
            raise ProgramError("section 'configuration': must be empty: config has no fabric")
        elif quantities.get("graph") != graph.to_dict():
            raise ProgramError("section 'plan': its graph does not match config")
        elif quantities.get("expression") != text:
            raise ProgramError(
                "section 'plan': its statement does not match the expression of config"
            )
        if tensors(statement, launch.config["format"]) != (launch.inputs, launch.outputs):
            raise ProgramError("section 'plan': its tensors do not match the program's")


SAM_SCHEMA = Schema(
    [
        Section("plan", np.uint8, ("bytes",)),
        Section("configuration", np.uint32, ("words",)),
    ],
    _check,
)
"""``configuration``: what a fabric is set to, see ``hw.sam.fabric.encoding``; else empty."""

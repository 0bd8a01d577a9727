"""What a SAM program consists of: its graph, what it computes, and a fabric's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import GnarlError, ProgramError, damaged_as, short
from gnarl.hw.sam.block_types import BITVECTOR, DENSE
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import encode as encode_fabric
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.unit import WRITERS
from gnarl.sw.compiler.sam.host_steps import check_step
from gnarl.sw.compiler.sam.placement import require_places
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.program.launch import Sections
from gnarl.sw.program.program import Launch
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import Array, Size, TensorSpec
from gnarl.sw.workloads.einsum.explicit import explicit
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.array_archive import COORDINATES, SHAPE, VALUES
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.text_file import is_number, parse_json


def encode(graph: Graph, statement: str) -> np.ndarray:
    """Section ``plan`` of the graph of a statement: UTF-8 of a JSON object, uint8."""
    return _json({"graph": graph.to_dict(), "statement": statement})


def encode_kernel(graph: Graph, text: str, longest: Mapping[str, int]) -> np.ndarray:
    """Section ``plan`` of the graph of a kernel's program, as ``program_text`` writes it.

    ``longest``: coordinates of an index that a fiber may have, where queues hold no more.
    """
    return _json({"graph": graph.to_dict(), "einsum": text, "longest": dict(longest)})


def _json(plan: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(json.dumps(plan, sort_keys=True).encode(), np.uint8)


@dataclass(frozen=True)
class Plan:
    """What the section ``plan`` says.

    text
        the statement, or the program, that ``kernel`` was written as.
    is_program
        whether it was written as a program, as that of a model is, and not as a statement.
    longest
        coordinates of an index that a fiber may have, by the indices of which it is bounded.
    """

    graph: Graph
    kernel: Kernel
    text: str
    is_program: bool
    longest: Mapping[str, int]


def plan_of(sections: Sections) -> Plan:
    return _decode(sections["plan"].tobytes())


def graph_of(sections: Sections) -> Graph:
    return plan_of(sections).graph


def kernel_of(sections: Sections) -> Kernel:
    """What the graph computes, and how its tensors are stored."""
    return plan_of(sections).kernel


@lru_cache(maxsize=64)
def _decode(octets: bytes) -> Plan:
    plan = parse_json(octets.decode(), "plan")
    is_program = "einsum" in plan
    if is_program:
        text = plan["einsum"]
        kernel = Kernel(parse_program(text))
    else:
        text = plan["statement"]
        kernel = kernel_of_statement(parse(text))
    graph = Graph.from_dict(plan["graph"])
    return Plan(graph, kernel, text, is_program, plan.get("longest", {}))


def kernel_of_statement(statement: Statement) -> Kernel:
    einsum = explicit(statement)
    program = EinsumProgram(einsum.name, (einsum,), statement.formats, (einsum.name,))
    return Kernel(program)


def encode_parameters(tensors: Mapping[str, Array]) -> np.ndarray:
    """Section ``parameters``: arrays by name as an ``.npz`` archive, uint8; empty for none."""
    if not tensors:
        return np.zeros(0, np.uint8)
    arrays: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, np.ndarray):
            arrays[name] = tensor
        else:
            arrays[name + COORDINATES] = tensor.coordinates
            arrays[name + VALUES] = tensor.values
            arrays[name + SHAPE] = np.array(tensor.shape, np.int64)
    archive = BytesIO()
    np.savez(archive, **arrays)
    return np.frombuffer(archive.getvalue(), np.uint8)


def parameters_of(sections: Sections) -> dict[str, Array]:
    """The tensors of a model that runs need not give."""
    octets = sections["parameters"]
    if not len(octets):
        return {}
    with np.load(BytesIO(octets.tobytes()), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    tensors: dict[str, Array] = {}
    for name, array in arrays.items():
        stem = name.removesuffix(VALUES)
        if name.endswith(VALUES):
            shape = tuple(arrays[stem + SHAPE].tolist())
            tensors[stem] = Tensor(shape, arrays[stem + COORDINATES], array)
        elif not name.endswith((COORDINATES, SHAPE)):
            tensors[name] = array
    return tensors


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` unless the plan is sound and matches the configuration, which names
    the hardware."""
    sections = launch.sections
    with damaged_as(ProgramError, "section 'plan'"):
        try:
            plan = plan_of(sections)
            graph, kernel, text = plan.graph, plan.kernel, plan.text
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
        _check_places(launch)
        _check_tensors(graph, kernel)
        inputs, outputs = statement_tensors(
            kernel, launch.config["format"], destinations=not plan.is_program
        )
        if not (_are_of(launch.inputs, inputs) and _are_of(launch.outputs, outputs)):
            raise ProgramError("section 'plan': its tensors do not match the program's")
    with damaged_as(ProgramError, "section 'parameters'"):
        parameters_of(sections)


def _check_places(launch: Launch) -> None:
    """Raises ``ProgramError`` unless arrays lie in the memory that they share, if they do."""
    config, places = SamConfig.from_dict(launch.config), launch.sections["places"]
    if config.memory == "shared":
        require_places(config, places)
    elif len(places):
        raise ProgramError("section 'places': must be empty: arrays share no memory")


def _are_of(specs: Sequence[TensorSpec], general: Sequence[TensorSpec]) -> bool:
    """Whether tensors are those of a kernel, maybe with sizes in place of symbols."""
    known: dict[Size, Size] = {}
    if len(specs) != len(general):
        return False
    for spec, each in zip(specs, general, strict=True):
        if replace(spec, shape=each.shape) != each or len(spec.shape) != len(each.shape):
            return False
        if any(known.setdefault(s, n) != n for s, n in zip(each.shape, spec.shape, strict=True)):
            return False
    return True


_LEVELS = {"bitvectorlookup": BITVECTOR, "locate": DENSE}
"""What a block reads whose parameters do not say it."""


def _check_tensors(graph: Graph, kernel: Kernel) -> None:
    """Raises ``ProgramError`` unless blocks read, write and are set to what the kernel has."""
    for block in graph.blocks:
        place = f"section 'plan': block {block.name}"
        _check_tensor(place, block, kernel)
        for name in block.settings:
            output = block.setting(name).output
            index = graph.index_of(block.name, output) if output else block["index"]
            if index not in kernel.order:
                raise ProgramError(
                    f"{place}: index {index!r}: the statement has {', '.join(kernel.order)}"
                )
    for result in kernel.results:
        levels = [
            block
            for block in graph.blocks
            if block.type == "fiberwrite" and block["tensor"] == result.tensor
        ]
        if len(levels) != len(result.indices):
            raise ProgramError(
                f"section 'plan': its graph writes {len(levels)} levels of {result.tensor}: must "
                f"be {len(result.indices)}, as the statement"
            )


def _check_tensor(place: str, block: Block, kernel: Kernel) -> None:
    """Checks the tensor that a block names."""
    tensor = block.parameters.get("tensor", "")
    named = tensor in kernel.formats
    if not named and not is_number(tensor) and (tensor or block.arrays):
        raise ProgramError(
            f"{place}: tensor {short(tensor)}: the statement has {', '.join(kernel.formats)}"
        )
    if not named and block.arrays and block.type != "arrayvals":
        raise ProgramError(f"{place}: tensor {tensor}: a number has no levels")
    if named and "level" in block.parameters:
        _check_level(place, block, kernel.formats[tensor])
    results = [result.tensor for result in kernel.results]
    if block.type in WRITERS and tensor not in results:
        raise ProgramError(f"{place}: writes {tensor}: must write {' or '.join(results)}")


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
        Section("parameters", np.uint8, ("octets",)),
        Section("places", np.uint32, ("arrays", "pair")),
    ],
    _check,
    sizes=lambda launch: {"pair": 2},
    check_step=check_step,
)
"""``configuration``: what a fabric is set to, see ``gnarl.hw.sam.fabric.encoding``; else empty.
``parameters``: those of a model, in its first launch, see ``encode_parameters``; else empty.
``places``: where the machine's arrays lie in the memory that they share, see ``placement``; else
empty."""

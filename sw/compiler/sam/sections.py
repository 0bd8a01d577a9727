"""What a SAM program consists of: its graph, what it computes, and a fabric's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import GnarlError, ProgramError, WorkloadError, damaged_as
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import encode as encode_fabric
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.agreement import require_agreement
from gnarl.sw.compiler.sam.host_steps import check_step
from gnarl.sw.compiler.sam.placement import require_places
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.program.launch import Sections
from gnarl.sw.program.program import Launch
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import Array, Size, TensorSpec
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.tensor.array_archive import COORDINATES, SHAPE, VALUES
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.text_file import parse_json


def encode(plan: Plan) -> np.ndarray:
    """Section ``plan``: UTF-8 of a JSON object, uint8."""
    members = {
        "graph": plan.graph.to_dict(),
        "einsum" if plan.is_program else "statement": plan.text,
        "longest": dict(plan.longest),
        "remarks": list(plan.remarks),
        "whole": list(plan.whole),
    }
    return np.frombuffer(json.dumps(members, sort_keys=True).encode(), np.uint8)


def plan_of(sections: Sections) -> Plan:
    return _decode(sections["plan"].tobytes())


def graph_of(sections: Sections) -> Graph:
    return plan_of(sections).graph


def kernel_of(sections: Sections) -> Kernel:
    """What the graph computes, and how its tensors are stored."""
    return plan_of(sections).kernel


@lru_cache(maxsize=64)
def _decode(octets: bytes) -> Plan:
    members = parse_json(octets.decode(), "plan")
    is_program = "einsum" in members
    text = members["einsum" if is_program else "statement"]
    graph, longest = Graph.from_dict(members["graph"]), members.get("longest", {})
    plan = (Plan.of_program if is_program else Plan.of_statement)(graph, text, longest)
    return replace(plan, remarks=_texts(members, "remarks"), whole=_texts(members, "whole"))


def _texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = members.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ProgramError(f"{name}: must be a list of texts")
    return tuple(found)


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
            config = SamConfig.from_dict({name: launch.config[name] for name in names})
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
        try:
            require_agreement(graph, kernel)
        except WorkloadError as error:
            raise ProgramError(f"section 'plan': {error}") from error
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
    if config.memory != "local":
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

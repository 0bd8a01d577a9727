"""From a workload to a program, and from an expression in a configuration to its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hw.lib.errors import CapacityError, ConfigError, Violation, WorkloadError
from hw.sam.block_types import BITVECTOR_BITS
from hw.sam.config import SamConfig
from hw.sam.graph import Graph
from sw.compiler.sam.lower import lower
from sw.compiler.sam.sections import encode
from sw.compiler.sam.verify import verify
from sw.compiler.sam.workload import SamWorkload
from sw.program.program import Program
from sw.workloads.tensor.parser import parse


def compile(
    workload: SamWorkload,
    config: SamConfig,
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> Program:
    """A program for ``config`` with the workload's graph, or for its fabric.

    The same workload gives the same program, whatever the ``seed``. Raises ``WorkloadError`` where
    the statement cannot be lowered, ``CapacityError`` where a fabric has too few blocks.
    """
    graph = _graph(workload, config)
    configuration = np.zeros(0, np.uint32)
    if config.fabric is not None:
        from hw.sam.fabric.encoding import encode as encode_fabric

        encoded = encode_fabric(graph, config)
        graph, configuration = encoded.graph, encoded.words
    else:
        config = replace(config, expression=workload.text, graph=graph)
    progress(1.0)
    tensors = dict.fromkeys(access.tensor for access in workload.statement.operands)
    return Program(
        target="sam",
        config=config.to_dict(),
        digest=config.digest,
        format=config.format,
        workload=workload.name,
        input_names=list(tensors),
        output_names=[workload.statement.result.tensor],
        statistics={"blocks": len(graph.blocks), "streams": len(graph.readers)},
        sections={
            "plan": encode(graph, workload.text),
            "configuration": configuration,
        },
    )


def resolve(config: SamConfig) -> SamConfig:
    """``config`` with the graph of its expression, if it names one.

    Raises ``ConfigError`` that begins with the field, for a fabric that cannot be, too.
    """
    if config.fabric is not None:
        from hw.sam.fabric.encoding import pool

        pool(config)
    if not config.expression or config.graph is not None or config.fabric is not None:
        return config
    try:
        graph = lower(parse(config.expression), skip=config.skip)
    except WorkloadError as error:
        problem = f" = {config.expression!r}: {error}"
        raise ConfigError([Violation("expression", problem)]) from error
    return replace(config, graph=graph)


def _graph(workload: SamWorkload, config: SamConfig) -> Graph:
    """The graph to run, verified."""
    graph = workload.graph
    if graph is None:
        graph = lower(workload.statement, skip=config.skip and config.fabric is None)
    verify(graph)
    bitvectors = any(block.type == "bitvectorlookup" for block in graph.blocks)
    if bitvectors and config.index_bits != BITVECTOR_BITS:
        raise CapacityError(
            f"index_bits = {config.index_bits}: must be {BITVECTOR_BITS} where tensors have "
            "bitvector levels, whose rows hold words of that width"
        )
    return graph

"""Compiles a workload to a program, and an expression in a configuration to its graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnarl.hw.lib.errors import CapacityError, ConfigError, GnarlError, Violation, WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Pass, PassError, Trace, text_of
from gnarl.sw.compiler.sam import passes
from gnarl.sw.compiler.sam.dumps import graph_texts
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.sections import SAM_SCHEMA, encode
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors

PASSES = (
    Pass("lower", "from the statement to loops, joins and sums over streams"),
    *passes.PASSES,
    Pass("parallelize", "deals a loop to lanes, where the statement says so"),
    Pass("verify", "checks every stream's kind, order and loops"),
    Pass("configure", "places the graph on a fabric's blocks, where the configuration has one"),
)


def compile(
    workload: SamWorkload,
    config: SamConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
) -> Program:
    """A program for ``config`` with the workload's graph, or for its fabric.

    The same workload gives the same program, whatever the ``seed``. ``trace`` gets the results of
    ``PASSES``. Raises ``WorkloadError`` where the statement cannot be lowered, ``CapacityError``
    where a fabric has too few blocks, ``PassError`` for a graph of ours that is not sound.
    """
    trace = trace or Trace()
    graph = _graph(workload, config, trace)
    configuration = np.zeros(0, np.uint32)
    if config.fabric is not None:
        from gnarl.hw.sam.fabric.encoding import encode as encode_fabric

        encoded = encode_fabric(graph, config)
        graph, configuration = encoded.graph, encoded.words
        trace.after("configure", lambda: {"txt": text_of(f"{w:#010x}" for w in configuration)})
    else:
        config = replace(config, expression=workload.text, graph=graph)
    trace.progress(1.0)
    return Program.of_one_launch(
        config,
        workload.name,
        *statement_tensors(workload.statement, config.format),
        statistics={"blocks": len(graph.blocks), "streams": len(graph.readers)},
        sections={
            "plan": encode(graph, workload.text),
            "configuration": configuration,
        },
        schema=SAM_SCHEMA,
    )


def resolve(config: SamConfig) -> SamConfig:
    """``config`` with the graph of its expression, if it names one.

    Raises ``ConfigError`` that begins with the field, for a fabric that cannot be, too.
    """
    if config.fabric is not None:
        from gnarl.hw.sam.fabric.encoding import pool

        pool(config)
    if not config.expression or config.graph is not None or config.fabric is not None:
        return config
    try:
        graph = lower(parse(config.expression), skip=config.skip)
    except WorkloadError as error:
        problem = f" = {config.expression!r}: {error}"
        raise ConfigError([Violation("expression", problem)]) from error
    return replace(config, graph=graph)


def _graph(workload: SamWorkload, config: SamConfig, trace: Trace) -> Graph:
    """The graph to run, verified."""
    graph = workload.graph
    if graph is None:
        graph = lower(workload.statement, config.skip and config.fabric is None, trace)
    try:
        verify(graph)
    except GnarlError as error:
        if workload.graph is not None:
            raise
        raise PassError(f"pass verify: {error}") from error
    trace.after("verify", lambda: graph_texts(graph))
    bitvectors = any(block.type == "bitvectorlookup" for block in graph.blocks)
    if bitvectors and config.index_bits != BITVECTOR_BITS:
        raise CapacityError(
            f"index_bits = {config.index_bits}: must be {BITVECTOR_BITS} where tensors have "
            "bitvector levels, whose rows hold words of that width"
        )
    return graph

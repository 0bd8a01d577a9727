"""Compiles a workload to a program, and an expression in a configuration to its graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.lib.errors import CapacityError, ConfigError, GnarlError, Violation, WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Pass, PassError, Trace, run_passes, text_of
from gnarl.sw.compiler.sam.check import require_functions
from gnarl.sw.compiler.sam.graph_pass import SamOptions, SamPass, SamState, graph_pass
from gnarl.sw.compiler.sam.lower import LOWERING, lower
from gnarl.sw.compiler.sam.sections import SAM_SCHEMA, encode
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors


def compile(
    workload: SamWorkload,
    config: SamConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    passes: Sequence[SamPass] | None = None,
) -> Program:
    """A program for ``config`` with the workload's graph, or for its fabric.

    The same workload gives the same program, whatever the ``seed``. ``trace`` gets the results of
    ``passes``, by default ``PASSES``. Raises ``WorkloadError`` where the statement cannot be
    lowered, ``CapacityError`` where a fabric has too few blocks, ``ConfigError`` for a function
    that the number format lacks, ``PassError`` for a graph of ours that is not sound.
    """
    trace = trace or Trace()
    options = SamOptions(
        workload.statement,
        config.skip and config.fabric is None,
        workload.graph is not None,
        config,
    )
    first = SamState() if workload.graph is None else SamState(workload.graph)
    state = run_passes(PASSES if passes is None else passes, first, options, trace)
    _require_made(state, config)
    if config.fabric is None:
        _require_index_bits(state.graph, config)
        require_functions(state.graph, config)
        config = replace(config, expression=workload.text, graph=state.graph)
    trace.progress(1.0)
    return Program.of_one_launch(
        config,
        workload.name,
        *statement_tensors(workload.statement, config.format),
        statistics={"blocks": len(state.graph.blocks), "streams": len(state.graph.readers)},
        sections={
            "plan": encode(state.graph, workload.text),
            "configuration": state.words,
        },
        schema=SAM_SCHEMA,
    )


def _require_made(state: SamState, config: SamConfig) -> None:
    """Raises ``WorkloadError`` for a list of passes that makes no graph, or no fabric's words."""
    if not state.graph.blocks:
        raise WorkloadError("program: no pass makes its graph: must have lower")
    if config.fabric is not None and not len(state.words):
        raise WorkloadError("program: no pass places it on the fabric: must have configure")


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


def _verified(graph: Graph, options: SamOptions) -> Graph:
    """``graph``, which is refused here if it is not sound."""
    try:
        verify(graph)
    except GnarlError as error:
        if options.has_graph:
            raise
        raise PassError(f"pass verify: {error}") from error
    return graph


def _configured(state: SamState, options: SamOptions) -> SamState:
    """The graph on the fabric's blocks, and the words that say so."""
    from gnarl.hw.sam.fabric.encoding import encode as encode_fabric

    _require_index_bits(state.graph, options.config)
    encoded = encode_fabric(state.graph, options.config)
    return SamState(encoded.graph, encoded.words)


def _require_index_bits(graph: Graph, config: SamConfig) -> None:
    bitvectors = any(block.type == "bitvectorlookup" for block in graph.blocks)
    if bitvectors and config.index_bits != BITVECTOR_BITS:
        raise CapacityError(
            f"index_bits = {config.index_bits}: must be {BITVECTOR_BITS} where tensors have "
            "bitvector levels, whose rows hold words of that width"
        )


PASSES = (
    *LOWERING,
    graph_pass(
        "verify",
        "checks every stream's kind, order and loops",
        _verified,
        is_needed=lambda state, options: True,
    ),
    Pass(
        "configure",
        "places the graph on a fabric's blocks, where the configuration has one",
        lambda state, options: {"txt": text_of(f"{word:#010x}" for word in state.words)},
        run=_configured,
        is_needed=lambda state, options: options.config.fabric is not None,
    ),
)

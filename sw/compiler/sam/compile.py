"""Compiles a workload to a program, and an expression in a configuration to its graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import (
    CapacityError,
    ConfigError,
    GnarlError,
    Violation,
    WorkloadError,
    short,
)
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import MOST_LISTED, require_arrays, units_of
from gnarl.sw.compiler.passes import Pass, PassError, Trace, run_passes, text_of
from gnarl.sw.compiler.sam.blocks import needed_later
from gnarl.sw.compiler.sam.check import require_supported
from gnarl.sw.compiler.sam.dot_write import plan_dot
from gnarl.sw.compiler.sam.fuse.regions import (
    Fusion,
    LoweredRegion,
    copied_program,
    stored_formats,
)
from gnarl.sw.compiler.sam.fuse.schedule import chosen, schedule_text
from gnarl.sw.compiler.sam.graph_pass import (
    SamLaunch,
    SamOptions,
    SamPass,
    SamState,
    graph_pass,
    launch_texts,
    state_texts,
)
from gnarl.sw.compiler.sam.host_steps import HOST_NUMBERS, host_step
from gnarl.sw.compiler.sam.lower import LOWERING, lower
from gnarl.sw.compiler.sam.placement import NO_PLACES, PlacedLaunch, own_places, places
from gnarl.sw.compiler.sam.plan import Plan, kernel_of_statement
from gnarl.sw.compiler.sam.sections import (
    SAM_SCHEMA,
    encode,
    encode_parameters,
)
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.compiler.sam.workload import SamGraph, SamModel, SamWorkload, as_model
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.launch import Launch
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.rearranged_check import inputs_of_hosts
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import program_text
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors, storage_of


def compile(
    workload: SamWorkload | SamGraph | SamModel,
    config: SamConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    passes: Sequence[SamPass] | None = None,
    schedule_out: str | Path | None = None,
    **options: Any,
) -> Program:
    """A program for ``config`` with the workload's graphs, or for its fabric.

    The same workload gives the same program, whatever the ``seed``. ``trace`` gets the results of
    ``passes``, by default ``PASSES``; ``options`` are those of ``fuse.schedule.chosen``, for
    models, whose schedule is written to ``schedule_out``; a statement with operands and a
    ``schedule`` is a model of one. Raises ``WorkloadError`` where a
    statement cannot be lowered, ``CapacityError`` where a fabric has too few blocks,
    ``ConfigError`` for a function that the number format lacks, ``PassError`` for a graph of ours
    that is not sound.
    """
    trace = trace or Trace()
    passes = PASSES if passes is None else passes
    if isinstance(workload, SamWorkload) and options.get("schedule") is not None:
        workload = as_model(workload)
    if isinstance(workload, SamModel):
        found = compile_model(workload, config, trace=trace, passes=passes, **options)
        if schedule_out is not None:
            write_text(Path(schedule_out), found.schedule)
        trace.progress(1.0)
        return found.program
    options |= {"schedule_out": schedule_out}
    if given := [name for name, value in options.items() if value is not None]:
        raise WorkloadError(f"{given[0]}: not for an expression or a graph: must be left out")
    skip = config.skip and config.fabric is None
    if isinstance(workload, SamGraph):
        plan = workload.plan
        state = SamState((SamLaunch("", plan.graph),))
        state = run_passes(passes, state, SamOptions(given=plan, config=config), trace)
    else:
        pass_options = SamOptions(workload.statement, skip=skip, config=config)
        state = run_passes(passes, SamState(), pass_options, trace)
        kernel = kernel_of_statement(workload.statement)
        plan = Plan(state.graph, kernel, workload.text, False)
    _require_made(state, config)
    trace.progress(1.0)
    return _program_of_one(workload.name, config, state, plan)


@dataclass(frozen=True)
class CompiledModel:
    """A model's program, with its regions in the order of its launches, the text of a schedule that
    says all that was chosen, and the statements that were cut into regions."""

    program: Program
    regions: Sequence[LoweredRegion]
    schedule: str
    statements: EinsumProgram


def compile_model(
    model: SamModel,
    config: SamConfig,
    *,
    trace: Trace | None = None,
    passes: Sequence[SamPass] | None = None,
    is_part: bool = False,
    **options: Any,
) -> CompiledModel:
    """A program of a model, and what was chosen for it; see ``compile``. The configuration of what
    is only a part of a model may give sizes to arrays that others of its launches have."""
    fusion = chosen(model, **options)
    state = _model_state(
        model, config, trace or Trace(), PASSES if passes is None else passes, fusion
    )
    regions = _regions(state)
    if not is_part:
        _require_known(config, state)
    program = _model_program(model, config, state, copied_program(fusion.program, regions))
    return CompiledModel(program, regions, schedule_text(model, fusion, regions), fusion.program)


def _program_of_one(name: str, config: SamConfig, state: SamState, plan: Plan) -> Program:
    """The program of a graph whose tensors may have any sizes."""
    if config.fabric is None:
        config = _with_graph(config, state.graph, plan.text)
    return Program.of_one_launch(
        config,
        name,
        *statement_tensors(plan.kernel, config.format),
        statistics=_statistics(state.graph),
        sections={
            "plan": encode(replace(plan, graph=state.graph)),
            "configuration": state.launches[0].words,
            "parameters": encode_parameters({}),
            "places": NO_PLACES if config.memory == "local" else own_places(config),
        },
        schema=SAM_SCHEMA,
    )


def _model_state(
    model: SamModel,
    config: SamConfig,
    trace: Trace,
    passes: Sequence[SamPass],
    fusion: Fusion,
) -> SamState:
    """The graphs of a model's regions. Raises ``WorkloadError`` for a program without any."""
    program = fusion.program
    if not program.einsums:
        raise WorkloadError(
            f"{program.name}: elements are moved, and nothing is computed: must have a statement "
            "that computes something"
        )
    shapes = program_shapes(program, {name: model.shapes[name] for name in program.inputs}).tensors
    skip = config.skip and config.fabric is None
    options = SamOptions(fusion=fusion, shapes=shapes, skip=skip, config=config)
    state = run_passes(passes, SamState(), options, trace)
    _require_made(state, config)
    return state


def _regions(state: SamState) -> list[LoweredRegion]:
    return [each.region for each in state.launches if each.region is not None]


def _model_program(
    model: SamModel, config: SamConfig, state: SamState, program: EinsumProgram
) -> Program:
    """A launch for each region, on a machine of its own, or in a configuration of the fabric."""
    shapes = program_shapes(program, {name: model.shapes[name] for name in program.inputs}).tensors
    launches: list[Launch] = []
    for each, own, placed in _machines(state, config, shapes):
        assert each.region is not None
        kernel = each.region.kernel
        text = program_text(kernel.program)
        inputs, outputs = statement_tensors(kernel, config.format, kernel.sizes(shapes), False)
        region = each.region
        own_names, blocks = each.region.region.statements, each.graph.blocks_along
        whole = tuple(i for i in blocks if needed_later(program, own_names, kernel, i))
        plan = Plan(each.graph, kernel, text, True, region.region.longest, region.remarks, whole)
        sections = {
            "plan": encode(plan),
            "configuration": each.words,
            "parameters": encode_parameters({} if launches else model.parameters),
            "places": placed,
        }
        launches.append(
            Launch(
                each.name,
                inputs,
                outputs,
                _statistics(each.graph),
                sections,
                own.to_dict(),
                own.digest,
            )
        )
    formats = stored_formats(program, _regions(state))
    types = dict.fromkeys(inputs_of_hosts(program.statements), HOST_NUMBERS)
    specs = {
        name: TensorSpec(name, shapes[name], types.get(name, config.format), storage_of(format))
        for name, format in formats.items()
    }
    return Program(
        config.target,
        config.to_dict(),
        config.digest,
        model.name,
        tuple(specs[name] for name in program.inputs),
        tuple(specs[name] for name in program.results),
        tuple(launches),
        SAM_SCHEMA,
        tuple(host_step(each, specs) for each in program.rearrangements),
    )


def _machines(
    state: SamState, config: SamConfig, shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[SamLaunch, SamConfig, np.ndarray]]:
    """Each launch with its machine, and the places of that one's arrays."""
    regions = [(each, each.region) for each in state.launches if each.region is not None]
    if config.fabric is None:
        for each, region in regions:
            sizes = _sizes_of(config, each.graph)
            text = program_text(region.kernel.program)
            own = _with_graph(replace(config, arrays=sizes or None), each.graph, text)
            yield each, own, NO_PLACES if own.memory == "local" else own_places(own)
        return
    found = [NO_PLACES] * len(regions)
    if config.memory != "local":
        placed = [PlacedLaunch(each.graph, region.kernel, shapes) for each, region in regions]
        found = places(config, placed)
    for (each, _), one in zip(regions, found, strict=True):
        yield each, config, one


def _require_known(config: SamConfig, state: SamState) -> None:
    """Raises ``ConfigError`` for sizes of arrays that no launch has, where launches have arrays of
    their own."""
    if config.fabric is not None:
        return
    known = {name for launch in state.launches for name in _sizes_of(config, launch.graph)}
    unknown = [
        f".{short(name)}: no launch has such an array"
        for name in config.arrays or ()
        if name not in known
    ]
    if unknown:
        windows = (
            f"{block.name}_{array.name}"
            for launch in state.launches
            for block in launch.graph.blocks
            for array in block.arrays
        )
        unknown[-1] += f"; there are {short(', '.join(dict.fromkeys(windows)), MOST_LISTED)}"
        raise ConfigError([Violation("arrays", problem) for problem in unknown])


def _sizes_of(config: SamConfig, graph: Graph) -> dict[str, int]:
    """Those of the sizes of arrays that are of a graph's."""
    names = {
        name
        for block in graph.blocks
        for array in block.arrays
        for name in (block.name, f"{block.name}_{array.name}")
    }
    return {name: rows for name, rows in (config.arrays or {}).items() if name in names}


def _with_graph(config: SamConfig, graph: Graph, text: str) -> SamConfig:
    """The configuration of a machine of one graph, which computes what ``text`` says."""
    _require_index_bits(graph, config)
    require_supported(graph, config)
    made = replace(config, expression=text, graph=graph)
    require_arrays(made, units_of(made))
    return made


def _statistics(graph: Graph) -> dict[str, int]:
    return {"blocks": len(graph.blocks), "streams": len(graph.readers)}


def _require_made(state: SamState, config: SamConfig) -> None:
    """Raises ``WorkloadError`` for a list of passes that makes no graph, or no fabric's words."""
    if not all(launch.graph.blocks for launch in state.launches) or not state.launches:
        raise WorkloadError("program: no pass makes its graph: must have lower")
    if config.fabric is not None and not all(len(launch.words) for launch in state.launches):
        raise WorkloadError("program: no pass places it on the fabric: must have configure")


def resolve(config: SamConfig) -> SamConfig:
    """``config`` with the graph of its expression, if it names one.

    Raises ``ConfigError`` that begins with the field, for a fabric that cannot be, too.
    """
    if config.fabric is not None:
        from gnarl.hw.sam.fabric.encoding import pool

        pool(config)
        require_arrays(config, units_of(config))
    if not config.expression or config.graph is not None or config.fabric is not None:
        return config
    try:
        graph = lower(parse(config.expression), skip=config.skip)
    except WorkloadError as error:
        problem = f" = {config.expression!r}: {error}"
        raise ConfigError([Violation("expression", problem)]) from error
    made = replace(config, graph=graph)
    require_arrays(made, units_of(made))
    return made


def _verified_texts(state: SamState, options: SamOptions) -> dict[str, str]:
    """The dump of graphs that are sound, also as files that are workloads."""
    files = launch_texts(state, lambda launch: {"gv": _file_text(launch, options)})
    return {**state_texts(state, options), **files}


def _file_text(launch: SamLaunch, options: SamOptions) -> str:
    if options.given is not None:
        return plan_dot(replace(options.given, graph=launch.graph))
    assert launch.region is not None
    kernel = launch.region.kernel
    plan = Plan(launch.graph, kernel, program_text(kernel.program), True)
    if options.fusion is not None:
        plan = plan.bounded(launch.region.longest(options.shapes), options.config)
    return plan_dot(plan)


def _verified(graph: Graph, options: SamOptions) -> Graph:
    """``graph``, which is refused here if it is not sound."""
    try:
        verify(graph)
    except GnarlError as error:
        if options.given is not None:
            raise
        raise PassError(f"pass verify: {error}") from error
    return graph


def _configured(state: SamState, options: SamOptions) -> SamState:
    """Each launch's graph on the fabric's blocks, and the words that say so."""
    return SamState(tuple(_placed(launch, options) for launch in state.launches))


def _placed(launch: SamLaunch, options: SamOptions) -> SamLaunch:
    from gnarl.hw.sam.fabric.encoding import encode as encode_fabric

    _require_index_bits(launch.graph, options.config)
    try:
        encoded = encode_fabric(launch.graph, options.config)
    except CapacityError as error:
        if options.fusion is None:
            raise
        raise CapacityError(f"region {launch.name}: {error}") from error
    return replace(launch, graph=encoded.graph, words=encoded.words)


def _word_texts(state: SamState, options: SamOptions) -> dict[str, str]:
    return launch_texts(
        state, lambda launch: {"txt": text_of(f"{word:#010x}" for word in launch.words)}
    )


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
        texts=_verified_texts,
        is_needed=lambda state, options: True,
    ),
    Pass(
        "configure",
        "places the graph on a fabric's blocks, where the configuration has one",
        _word_texts,
        run=_configured,
        is_needed=lambda state, options: options.config.fabric is not None,
    ),
)

"""Interprets the memories of a SAM machine: what its graph does, and what a host reads of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import decode
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import memory_map, settings_rows
from gnarl.hw.sam.unit import settings_of
from gnarl.sw.compiler.sam.check import require_supported
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.runtime.sam.model.streams import ModelRun, run_graph
from gnarl.sw.runtime.sam.model.tokens import Limits
from gnarl.sw.runtime.sam.places import Places, places_in
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun


def interpret(config: SamConfig, image: Mapping[str, Rows]) -> tuple[Graph, ModelRun]:
    """The graph that a machine is, and what it does on settings and arrays as in ``image``.

    The graph is the configuration's, or what ``image`` makes of its fabric. Raises as ``run_graph``
    does, ``ConfigError`` where there is neither graph nor fabric or the format lacks a function,
    and ``ProgramError`` for words that configure no graph.
    """
    one = loaded(config, image)
    placed = {name: rows for name, (_, rows) in one.places.of.items()} if one.places else {}
    limits = Limits(
        config.index_bits,
        config.array_words,
        config.accumulator_words,
        placed,
        config.arrays or {},
    )
    return one.graph, run_graph(one.graph, config.format, one.arrays, one.settings, limits)


def simulated(
    config: SamConfig, image: Mapping[str, Rows], max_cycles: int, samples: int | None = None
) -> SimulatedRun:
    """How long the machine takes for that, and what its counters are; see ``simulate``."""
    # It is compiled, which few commands need.
    from gnarl.sw.runtime.sam.simulator.simulate import simulate

    one = loaded(config, image)
    return simulate(
        one.graph,
        config,
        one.arrays,
        one.settings,
        None if one.places is None else one.places.of,
        max_cycles=max_cycles,
        samples=samples,
    )


@dataclass(frozen=True)
class LoadedGraph:
    """A graph with what its blocks read: ``arrays`` and ``settings`` as ``run_graph`` takes
    them; and where its arrays lie, if they share a memory."""

    graph: Graph
    arrays: dict[str, np.ndarray]
    settings: dict[tuple[str, str], int]
    places: Places | None


def loaded(config: SamConfig, image: Mapping[str, Rows]) -> LoadedGraph:
    """The graph that a machine is with ``image``. Raises as ``interpret`` does."""
    graph = graph_in(config, image)
    words = {
        f"{block.name}_{array.name}": array.words
        for block in graph.blocks
        for array in block.arrays
        if not array.writes
    }
    places = places_in(config, image)
    memory = image if places is None else places.from_memory(image, words)
    arrays = {name: _loaded(memory.get(name), count) for name, count in words.items()}
    return LoadedGraph(graph, arrays, settings_in(config, graph, image), places)


def settings_in(
    config: SamConfig, graph: Graph, image: Mapping[str, Rows]
) -> dict[tuple[str, str], int]:
    """The settings of ``image`` by block and setting, of a fabric by unit."""
    names = settings_of(graph.blocks) if config.fabric is None else settings_rows(config)
    values = _loaded(image.get("settings"), 1)
    return {name: int(row[0]) for name, row in zip(names, values, strict=False)}


def graph_in(config: SamConfig, image: Mapping[str, Rows]) -> Graph:
    """The graph that a machine is with ``image``. Raises as ``interpret`` does."""
    graph = config.graph
    if graph is None:
        if config.fabric is None:
            raise ConfigError(["graph: missing, and no fabric: the model has nothing to run"])
        words = image.get("configuration")
        graph = decode(np.zeros(0) if words is None else words.words, config)
    require_supported(graph, config)
    return graph


def machine_run(
    config: SamConfig,
    image: Mapping[str, Rows],
    run: ModelRun,
    simulated: SimulatedRun,
    wanted: Wanted,
) -> MachineRun:
    """What a machine returns that had ``image``: the cycles and counters of its simulation, and the
    ``wanted`` rows that ``run`` has written."""
    known = simulated.counters | run.counts
    counters = {name: known.get(name, 0) for name in memory_map(config).counters}
    written = {name: Rows.first(rows) for name, rows in run.written.items()}
    if (places := places_in(config, image)) is not None:
        written = places.to_memory(written)
    memory = {window: written[window].among(rows) for window, rows in wanted(counters).items()}
    return MachineRun(memory, simulated.cycles, counters)


def _loaded(rows: Rows | None, words: int) -> np.ndarray:
    """Memory up to the last row that was written: uint32 [rows, words]."""
    if rows is None or not len(rows.numbers):
        return np.zeros((0, words), np.uint32)
    if rows.numbers[-1] == len(rows.numbers) - 1:
        return rows.words  # all up to the last one
    memory = np.zeros((int(rows.numbers[-1]) + 1, words), np.uint32)
    memory[rows.numbers] = rows.words
    return memory

"""Converts operands to the contents of memories, and these back to the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR, BITVECTOR_BITS, DENSE, ROW_COUNTS
from gnarl.hw.sam.block_types import Array as BlockArray
from gnarl.hw.sam.config import SamConfig, size_field, size_of
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.memory.placement import PLACES
from gnarl.hw.sam.memory_map import settings_rows
from gnarl.hw.sam.unit import settings_of
from gnarl.sw.compiler.sam.blocks import may_be_padded, needs_whole_blocks
from gnarl.sw.compiler.sam.check import require_index_bits
from gnarl.sw.compiler.sam.drops import value_writers, writers_of
from gnarl.sw.compiler.sam.host_steps import HOST_NUMBERS
from gnarl.sw.compiler.sam.lane_sums import summed_lanes
from gnarl.sw.compiler.sam.sections import (
    graph_of,
    kernel_of,
    parameters_of,
    plan_of,
)
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.golden.relations import stored_points
from gnarl.sw.golden.words import RangeError, to_words, typed
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.report.vanished import Given, elements
from gnarl.sw.runtime.report.verify import entry_name
from gnarl.sw.runtime.sam.model.interpreter import interpret, simulated
from gnarl.sw.runtime.sam.model.streams import ModelRun
from gnarl.sw.runtime.sam.places import Places, places_of
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.runtime.sam.written import written_tensor
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.blocks import (
    entries_of_blocks,
    in_blocks,
    partial_block,
    store_blocks,
)
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.operands import bind_operands, named_operand
from gnarl.sw.workloads.tensor.program_tensors import result_array
from gnarl.sw.workloads.tensor.shapes import check_shapes
from gnarl.sw.workloads.tensor.storage import (
    BitvectorLevel,
    CompressedLevel,
    Storage,
    TensorFormat,
    restore_entries,
    store,
)
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True)
class Operands:
    """What a machine is given.

    tensors
        operands by name, with the sizes that they have in the statement.
    sizes
        size of each index variable.
    renumbered
        for some indices the coordinate that each number in the machine stands for, int64 [size];
        all others are what they are.
    """

    launch: Launch
    tensors: Mapping[str, Tensor]
    sizes: Mapping[str, int]
    renumbered: Mapping[str, np.ndarray] = field(default_factory=dict, kw_only=True)

    @property
    def program(self) -> EinsumProgram:
        """What the launch computes, with the shapes of its results."""
        kernel = kernel_of(self.launch.sections)
        shapes = {
            access.tensor: tuple(self.sizes[index] for index in access.indices)
            for access in kernel.results
        }
        return replace(kernel.program, shapes=shapes)

    @property
    def sum_lanes(self) -> dict[str, int]:
        """By how many lanes the launch sums indices."""
        graph = graph_of(self.launch.sections)
        return summed_lanes(graph, trace(graph).loops)

    @cached_property
    def blocks(self) -> dict[str, int]:
        """Words of the blocks that lie along indices."""
        return graph_of(self.launch.sections).blocks_along

    def loop_size(self, index: str) -> int:
        """Coordinates of the loop over an index: all, or as many as there are blocks."""
        return -(-self.sizes[index] // self.blocks.get(index, 1))

    def _indices(self, name: str) -> tuple[str, ...]:
        """Those of the first access of a tensor."""
        kernel = kernel_of(self.launch.sections)
        accesses = (*kernel.operands, *kernel.results)
        return next(each.indices for each in accesses if each.tensor == name)

    @cached_property
    def config(self) -> SamConfig:
        """The launch's machine."""
        return SamConfig.from_dict(self.launch.config)

    @cached_property
    def storages(self) -> dict[str, Storage]:
        """Operands in their formats, by name."""
        return {name: self.stored(name) for name in self.tensors}

    def stored(self, name: str) -> Storage:
        """An operand in its format."""
        tensor = self.tensors[name]
        for mode, index in enumerate(self._indices(name)):
            if index in self.renumbered:
                tensor = renumbered(tensor, mode, np.argsort(self.renumbered[index]))
        return self.stored_as(name, tensor)

    def stored_as(self, name: str, tensor: Tensor) -> Storage:
        """A tensor in the format, and with the blocks, of an operand."""
        kernel = kernel_of(self.launch.sections)
        format = kernel.formats[name]
        if modes := self.block_modes(name):
            return store_blocks(tensor, format, modes, BITVECTOR_BITS, name)
        return store(tensor, format, BITVECTOR_BITS, name)

    def block_modes(self, name: str) -> dict[int, int]:
        """The dimensions of a tensor along which it has blocks, and words along each, in the order
        of a block's words."""
        along = {index: mode for mode, index in enumerate(self._indices(name))}
        return {along[index]: words for index, words in self.blocks.items() if index in along}

    def read_by(self, block: Block) -> Storage:
        """What a block reads of."""
        return self.storages[block["tensor"]]

    @cached_property
    def image(self) -> dict[str, Rows]:
        """What to write before a start, by window.

        Raises ``CapacityError`` where an array is too short.
        """
        launch, operands = self.launch, self._with_elements()
        graph, config = graph_of(launch.sections), self.config
        windows, arrays, needed = {}, {}, list(_least_rows(operands))
        # A fabric has settings of units, too, that are not what they are for, or not in use.
        used = set(settings_of(graph.blocks))
        settings = [
            _setting(graph, *row, operands) if row in used else 0 for row in settings_rows(config)
        ]
        if settings:
            windows["settings"] = _rows(np.array(settings, np.uint32))
        for block in graph.blocks:
            for array in block.arrays:
                if not array.writes:
                    if array.of_values:
                        _require_held(block["tensor"], self)
                    rows = _rows(_array(block, array, operands))
                    needed.append(_Need(len(rows.numbers), block["tensor"], block.name, array))
                    arrays[f"{block.name}_{array.name}"] = rows
        vars(operands).pop("storages", None)  # as large as the image
        _require_rows(config, needed)
        if len(launch.sections["configuration"]):
            windows["configuration"] = _rows(launch.sections["configuration"])
        places = _places(launch)
        if places is None:
            return windows | arrays
        return windows | {PLACES: places.words} | places.to_memory(arrays)

    def _with_elements(self) -> Operands:
        """What a machine is given in place of operands of results none of which has an element:
        dimensions of 1, without entries. Graphs take dense fibers for not empty, and what is
        written is not read."""
        results = kernel_of(self.launch.sections).results
        if any(all(self.sizes[index] for index in result.indices) for result in results):
            return self
        tensors = {
            name: Tensor.from_any(np.zeros((1,) * each.order))
            for name, each in self.tensors.items()
        }
        return Operands(self.launch, tensors, dict.fromkeys(self.sizes, 1))

    @cached_property
    def model(self) -> tuple[Graph, ModelRun]:
        """What the image makes a machine do, by the model. Raises ``GnarlError`` if it stops."""
        return interpret(self.config, self.image)

    def simulated(self, max_cycles: int, samples: int | None = None) -> SimulatedRun:
        """What the image makes a machine do, cycle by cycle; see ``simulate``."""
        return simulated(self.config, self.image, max_cycles, samples)


def renumbered(tensor: Tensor, mode: int, numbers: np.ndarray) -> Tensor:
    """The tensor with other ``numbers`` in place of the coordinates of a dimension."""
    coordinates = tensor.coordinates.copy()
    coordinates[:, mode] = numbers[coordinates[:, mode]]
    order = ascending_order(coordinates)
    return Tensor(tensor.shape, coordinates[order], tensor.values[order])


def is_model(program: Program) -> bool:
    """Whether it is of a model, whose sizes are all known, and not of an expression or a graph."""
    specs = (*program.inputs, *program.outputs)
    is_sized = all(isinstance(size, int) for spec in specs for size in spec.shape)
    return is_sized and plan_of(program.launches[0].sections).is_program


def own_name(name: str, names: Collection[str]) -> str:
    """The program's name of an input that users of the model call so: ``conv1.weight``."""
    own = name.replace(".", "_")
    return own if name not in names and own in names else name


def bind(program: Program, inputs: Any) -> dict[str, Array]:
    """The program's inputs, as ``bind_operands`` takes them; parameters of a model keep their
    values where they are not given."""
    sections = program.launches[0].sections
    if not is_model(program):
        return {**bind_operands(kernel_of(sections), inputs)}
    if not isinstance(inputs, Mapping):
        raise WorkloadError(f"inputs are a {type(inputs).__name__}: must be tensors by name")
    names = [spec.name for spec in program.inputs]
    of_hosts = host_inputs(program)
    given = {own_name(name, names): source for name, source in inputs.items()}
    for name in given:
        if name not in names:
            has = _listed(names)
            raise WorkloadError(f"tensor {name} is no input of the program; it has {has}")
    tensors = {**parameters_of(sections), **given}
    if missing := [name for name in names if name not in tensors]:
        raise WorkloadError(f"tensor {missing[0]} is not given; the program has {_listed(names)}")
    return {
        name: named_operand(name, tensors[name], finite=name not in of_hosts).tensor
        for name in names
    }


def host_inputs(program: Program) -> set[str]:
    """Inputs of a model that no machine takes."""
    return {spec.name for spec in program.inputs if spec.type == HOST_NUMBERS}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def given(program: Program, inputs: Any) -> Iterator[Given]:
    """Entries of operands and constants, see ``Executor.given``."""
    tensors = bind(program, inputs)
    for spec in program.inputs:
        if spec.type != HOST_NUMBERS:
            yield elements(spec, tensors[spec.name])
    for launch in program.launches:
        graph = graph_of(launch.sections)
        sources = [block["tensor"] for block in graph.blocks if block.type == "arrayvals"]
        for name in dict.fromkeys(name for name in sources if not name.isidentifier()):
            yield Given(np.array([float(name)]), launch.config["format"], lambda _: "constant")


def operands(launch: Launch, tensors: Mapping[str, Array]) -> Operands:
    """Raises ``CapacityError`` for sizes that the machine has no coordinates for."""
    kernel = kernel_of(launch.sections)
    known = {name: Tensor.from_result(tensor) for name, tensor in tensors.items()}
    shapes = {name: tensor.shape for name, tensor in known.items()}
    for spec in launch.outputs:
        shape = tuple(size for size in spec.shape if isinstance(size, int))
        if len(shape) == len(spec.shape):  # as a model's are
            shapes[spec.name] = shape
    sizes = check_shapes(kernel, shapes)
    bits = SamConfig.from_dict(launch.config).index_bits
    for index, size in sizes.items():
        require_index_bits(bits, index, size)
    found = Operands(launch, known, sizes)
    _require_elements(found)
    _require_blocks(found)
    for index, bound in plan_of(launch.sections).longest.items():
        _require_fibers(found, index, bound)
    return found


def _require_elements(operands: Operands) -> None:
    """Raises ``WorkloadError`` for a loop without coordinates around sums that have every one of
    theirs: an accumulator takes the end of that loop for a sum of nothing.

    Where no result has elements, nothing is read.
    """
    sizes = operands.sizes
    kernel, graph = kernel_of(operands.launch.sections), graph_of(operands.launch.sections)
    if all(sizes.values()) or not any(
        all(sizes[index] for index in result.indices) for result in kernel.results
    ):
        return
    loops = trace(graph).loops
    for block in graph.blocks:
        if block.type == "spaccumulator" and (block["full0"] or block.parameters.get("full1")):
            for fibers in loops[block.name, "out_val"][: -block["order"]]:
                if sizes.get(fibers.index) == 0:
                    raise WorkloadError(
                        f"index {fibers.index} has size 0: must be at least 1 around sums of "
                        f"{operands.launch.name} that have every coordinate"
                    )


def _require_blocks(operands: Operands) -> None:
    """Raises ``WorkloadError`` for blocks with elements that are not there, where zeros in their
    place would change results."""
    plan = plan_of(operands.launch.sections)
    kernel = plan.kernel
    is_finite = all(np.isfinite(tensor.values).all() for tensor in operands.tensors.values())
    for index, words in operands.blocks.items():
        size = operands.sizes[index]
        if size % words and not may_be_padded(kernel.program, index, is_finite):
            raise WorkloadError(
                f"{operands.launch.name}: index {index} has {size} coordinates: must be a multiple "
                f"of {words}, its blocks' words, as what is reduced over it is not 0 behind the "
                "last"
            )
        if index not in plan.whole and not needs_whole_blocks(kernel.program, index, is_finite):
            continue
        for access in kernel.operands:
            levels = kernel.formats[access.tensor].levels
            if index not in access.indices or set(levels) == {DENSE}:
                continue
            points = stored_points(operands.tensors[access.tensor], kernel.formats[access.tensor])
            partial = partial_block(points, access.indices.index(index), words)
            if partial is not None:
                raise WorkloadError(
                    f"{operands.launch.name}: {entry_name(access.tensor, partial)} is in a block "
                    f"of {words} along {index} some of which have no entry: must be whole blocks, "
                    "as zeros in their place may change a maximum, or meet what is infinite"
                )


def _require_fibers(operands: Operands, index: str, bound: int) -> None:
    """Raises ``CapacityError`` for a fiber of an operand with more coordinates than queues are
    made for."""
    kernel, graph = kernel_of(operands.launch.sections), graph_of(operands.launch.sections)
    for access in kernel.operands:
        stored = operands.storages[access.tensor]
        for level, mode in zip(stored.levels, stored.format.modes, strict=True):
            if access.indices[mode] != index or not isinstance(level, CompressedLevel):
                continue
            longest = int(np.diff(level.segments).max(initial=0))
            if longest > bound:
                deepest = max(graph.edges, key=lambda edge: edge.depth or 0)
                raise CapacityError(
                    f"{operands.launch.name}: tensor {access.tensor} has {longest} coordinates of "
                    f"{index} in a fiber: at most {bound} are declared, for which queue {deepest} "
                    f"has depth {deepest.depth}: longest.{index} must be at least {longest}"
                )


class _Need(NamedTuple):
    """Rows that an array needs at least, and of which tensor."""

    rows: int
    tensor: str
    block: str
    array: BlockArray

    @property
    def rank(self) -> tuple[int, str, str, str]:
        """Of several needs the greatest is told."""
        return self.rows, self.tensor, self.block, self.array.name


def _least_rows(operands: Operands) -> Iterator[_Need]:
    """Rows that an array of each result needs whatever the data are."""
    kernel = kernel_of(operands.launch.sections)
    for access in kernel.results:
        yield _rows_of(access, kernel.formats[access.tensor], operands)


def _rows_of(access: Access, format: TensorFormat, operands: Operands) -> _Need:
    graph = graph_of(operands.launch.sections)
    rows = 1
    for writer, kind, mode in zip(
        writers_of(graph).get(access.tensor, []), format.levels, format.modes, strict=True
    ):
        size = operands.loop_size(access.indices[mode])
        if kind == BITVECTOR:
            rows *= -(-size // BITVECTOR_BITS)
        if kind != DENSE:
            return _Need(rows, access.tensor, writer.name, writer.arrays[0])
        rows *= size
    writer = value_writers(graph, access.tensor)[0]
    return _Need(rows, access.tensor, writer.name, writer.arrays[0])


def _require_rows(config: SamConfig, needed: Sequence[_Need]) -> None:
    """Raises ``CapacityError`` where an array has fewer rows, or references do not reach them."""
    short = [need for need in needed if config.rows_of(need.block, need.array) < need.rows]
    if short:
        rows, tensor, block, array = max(short, key=lambda need: need.rank)
        field = size_field(config.arrays, block, array.name)
        there = size_of(config.arrays, config.array_words, block, array.name)
        least = rows * array.value_words
        raise CapacityError(f"{field} = {there}: tensor {tensor} needs at least {least}")
    rows, tensor, *_ = max(needed, key=lambda need: need.rank)
    if config.index_bits < (bits := rows.bit_length()):
        raise CapacityError(
            f"index_bits = {config.index_bits}: tensor {tensor} needs at least {bits}, for "
            f"{rows} rows"
        )


def result_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """What to read after a run: the rows that writers have written, by window."""
    arrays = {
        f"{block}_{array}": np.arange(counters[f"{block}_{ROW_COUNTS[array]}"])
        for block, array in _written_arrays(launch)
    }
    places = _places(launch)
    return arrays if places is None else places.rows(arrays)


def volatile_rows(launch: Launch) -> dict[str, np.ndarray]:
    """Rows that a run may leave changed, by window: arrays of their own that writers fill are
    never loaded."""
    places = _places(launch)
    if places is None:
        return {}
    written = {f"{block}_{array}" for block, array in _written_arrays(launch)}
    return places.rows({name: np.arange(places.of[name][1]) for name in written})


def _places(launch: Launch) -> Places | None:
    """Where the arrays of a launch's machine lie in the memory that they share, if they do."""
    config = SamConfig.from_dict(launch.config)
    return None if config.memory == "local" else places_of(config, launch.sections["places"])


def _written_arrays(launch: Launch) -> list[tuple[str, str]]:
    """Blocks, and their arrays that they write."""
    graph = graph_of(launch.sections)
    return [
        (block.name, array.name) for block in graph.blocks for array in block.arrays if array.writes
    ]


def outputs(launch: Launch, operands: Operands, memory: Mapping[str, Rows]) -> dict[str, Array]:
    """The results, from the rows that ``result_rows`` asks for."""
    arrays: dict[str, Array] = {}
    for spec in launch.outputs:
        coordinates, words = result(launch, operands, memory, spec.name)
        values = typed(words, spec.type)
        arrays[spec.name] = result_array(spec, operands.sizes, coordinates, values)
    return arrays


def result(
    launch: Launch, operands: Operands, memory: Mapping[str, Rows], tensor: str
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates, int64 [nnz, order], and words, uint32 [nnz], of a result's entries.

    Raises ``ProgramError`` where what was written is not a tensor.
    """
    kernel, graph = kernel_of(launch.sections), graph_of(launch.sections)
    (access,) = (each for each in kernel.results if each.tensor == tensor)
    format = kernel.formats[tensor]
    shape = tuple(operands.sizes[index] for index in access.indices)
    if 0 in shape:
        return np.zeros((0, len(shape)), np.int64), np.zeros(0, np.uint32)
    if (places := _places(launch)) is not None:
        names = (f"{block}_{array}" for block, array in _written_arrays(launch))
        memory = places.from_memory(memory, names)
    modes = operands.block_modes(tensor)
    stored = in_blocks(shape, modes)
    levels, words = written_tensor(graph, tensor, format, stored, memory)
    coordinates, found = restore_entries(format, stored, levels, words)
    coordinates, found = entries_of_blocks(coordinates, found, modes, shape)
    for mode, index in enumerate(access.indices):
        if index in operands.renumbered:
            coordinates[:, mode] = operands.renumbered[index][coordinates[:, mode]]
    order = ascending_order(coordinates)
    return coordinates[order], found[order]


def _setting(graph: Graph, name: str, setting: str, operands: Operands) -> int:
    """What the host sets for a block: a size, or the words of a bitvector of that size."""
    block = graph[name]
    block_setting = block.setting(setting)
    index = graph.index_of(name, block_setting.output) if block_setting.output else block["index"]
    return -(-operands.loop_size(index) // block_setting.coordinates)


def _require_held(tensor: str, operands: Operands) -> None:
    """Raises ``WorkloadError`` for an entry that the machine's format does not hold."""
    if tensor in operands.tensors:
        entries, format = operands.tensors[tensor], operands.launch.config["format"]
        _words(entries.values, format, lambda at: entry_name(tensor, entries.coordinates[at]))


def _array(block: Block, array: BlockArray, operands: Operands) -> np.ndarray:
    """Rows that a block reads, uint32 [rows] or [rows, words]."""
    tensor, format = block["tensor"], operands.launch.config["format"]
    if array.of_values:
        # A constant's name is its number.
        if not tensor.isidentifier():
            return _words(np.array([float(tensor)]), format, lambda _: "constant")
        return to_words(operands.read_by(block).values, format)
    level = operands.read_by(block).levels[block["level"]]
    match level, array.name:
        case CompressedLevel(), "seg":
            return np.stack([level.segments[:-1], level.segments[1:]], axis=1).astype(np.uint32)
        case CompressedLevel(), "crd":
            return level.coordinates.astype(np.uint32)
        case BitvectorLevel(), "bv":
            ones = np.bitwise_count(level.words).astype(np.int64)
            before = np.cumsum(ones) - ones
            return np.stack([level.words, before.astype(np.uint32)], axis=1)
    raise WorkloadError(
        f"tensor {tensor}: level {block['level']}: does not match {block.type}: the graph needs "
        "another format"
    )


def _words(values: np.ndarray, format: str, name: Callable[[int], str]) -> np.ndarray:
    """The values' words; ``name(at)`` is what to call the one that the format does not hold."""
    try:
        return to_words(values, format)
    except RangeError as error:
        raise WorkloadError(f"{name(error.index[0])} = {error.value}: {error.reason}") from error


def _rows(words: np.ndarray) -> Rows:
    rows = words if words.ndim == 2 else words[:, np.newaxis]
    return Rows.first(rows)

"""Converts a program and values to the contents of memories, and these back to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import EVENT_STEPS
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.sections import ACCESS_SECTIONS, bases_of, meaning, words_of
from gnarl.sw.golden.loops import Counted, GoldenLoops
from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Nest


@dataclass(frozen=True)
class Operands:
    """What a machine is given.

    tensors
        inputs by name, perhaps among others.
    """

    launch: Launch
    tensors: Mapping[str, Array]

    @property
    def meaning(self) -> Meaning:
        return meaning(self.launch.sections)

    @cached_property
    def binding(self) -> Binding:
        """Raises ``WorkloadError`` where values do not fit the nest."""
        meant = self.meaning
        binding = bind(meant.nest, meant.arrays(self._own), meant.sizes)
        meant.check(binding.arrays)
        return binding

    @property
    def _own(self) -> Mapping[str, Array]:
        return {spec.name: self.tensors[spec.name] for spec in self.launch.inputs}

    @cached_property
    def counted(self) -> Counted:
        """What the nest does; raises ``WorkloadError`` for indices outside arrays."""
        return golden_of(self.launch).counted(self.binding)

    @cached_property
    def golden(self) -> dict[str, Array]:
        """The launch's outputs; raises as ``counted``."""
        return self.meaning.tensors(self.counted.results)

    @cached_property
    def reference(self) -> dict[str, Array]:
        """The outputs in float64; inputs that are in float64 are taken as they are."""
        given = {name: np.asarray(array) for name, array in self._own.items()}
        wide = {name: array for name, array in given.items() if array.dtype == np.float64}
        with np.errstate(over="ignore"):
            rounded = {name: array.astype(np.float32) for name, array in wide.items()}
        binding = replace(self, tensors={**given, **rounded}).binding
        arrays = {name: wide.get(name, array) for name, array in binding.arrays.items()}
        results = golden_of(self.launch).reference(replace(binding, arrays=arrays))
        return self.meaning.tensors(results)

    @cached_property
    def memory(self) -> np.ndarray:
        """Main memory before the start: uint32 [lines, words of a line]. It is 0 behind arrays, so
        that no program finds there what another one has left."""
        places = _places(self.launch)
        words = np.zeros(TmuConfig.from_dict(self.launch.config).memory_words, np.uint32)
        binding = self.binding
        for name, array in {**binding.arrays, **binding.scalars}.items():
            first = places[name][0] * LINE_WORDS
            flat = array.reshape(-1).view(np.uint32)
            words[first : first + len(flat)] = flat
        return words.reshape(-1, LINE_WORDS)


def golden_of(launch: Launch) -> GoldenLoops:
    """The golden model of the launch's nest, compiled once in a process."""
    return _golden(meaning(launch.sections).nest)


@lru_cache(maxsize=16)
def _golden(nest: Nest) -> GoldenLoops:
    return GoldenLoops(nest)


def operands(launch: Launch, tensors: Mapping[str, Array]) -> Operands:
    """Checks the values: no access of the nest is outside its arrays. Raises ``WorkloadError``."""
    found = Operands(launch, tensors)
    found.golden  # noqa: B018, whose first use runs it
    return found


def image(launch: Launch, operands: Operands) -> dict[str, Rows]:
    """What to write before a start, by window."""
    sections = launch.sections
    windows = {name: _rows(sections[name]) for name in (*ACCESS_SECTIONS, "instructions")}
    steps = np.zeros((EVENT_STEPS, sections["events"].shape[1]), np.uint32)
    steps[: len(sections["events"])] = sections["events"]
    return windows | {"events": _rows(steps), "memory": _rows(operands.memory)}


def result_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The lines of all that the nest writes."""
    places = _places(launch)
    lines = [np.arange(*_span(places[name])) for name in meaning(launch.sections).results]
    return {"memory": np.unique(np.concatenate(lines))} if lines else {}


def volatile_rows(launch: Launch) -> dict[str, np.ndarray]:
    return result_rows(launch, {})


def outputs(launch: Launch, operands: Operands, memory: Mapping[str, Rows]) -> dict[str, Array]:
    """The outputs in those lines."""
    places, meant = _places(launch), meaning(launch.sections)
    arrays = {}
    for name in meant.results:
        spec, lines = meant.specs[name], np.arange(*_span(places[name]))
        rows = memory["memory"]
        words = rows.words[np.searchsorted(rows.numbers, lines)].reshape(-1)
        shape = [int(size) for size in spec.shape]
        arrays[name] = words[: words_of(spec)].view(spec.dtype).reshape(shape)
    return meant.tensors(arrays)


def _places(launch: Launch) -> dict[str, tuple[int, int]]:
    """First line and lines of each array and scalar."""
    specs = meaning(launch.sections).specs
    return {
        name: (base // LINE_WORDS, -(-words_of(specs[name]) // LINE_WORDS))
        for name, base in bases_of(launch.sections).items()
    }


def _span(place: tuple[int, int]) -> tuple[int, int]:
    return place[0], sum(place)


def _rows(words: np.ndarray) -> Rows:
    return Rows.first(words)

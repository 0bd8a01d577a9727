"""From a program and values to the contents of memories, and back to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from hw.tmu.access_isa import EVENT_STEPS
from hw.tmu.config import LINE_WORDS
from sw.compiler.tmu.sections import (
    ACCESS_SECTIONS,
    bases_of,
    nest_of,
    sizes_of,
    specs_of,
    statement_of,
    words_of,
)
from sw.golden.loops import GoldenLoops
from sw.program.program import Launch
from sw.program.rows import Rows
from sw.program.tensor_spec import Array
from sw.workloads.loops.binding import Binding, bind


@dataclass(frozen=True)
class Operands:
    """What a machine is given.

    tensors
        inputs by name.
    """

    launch: Launch
    tensors: Mapping[str, Array]

    @cached_property
    def binding(self) -> Binding:
        """Raises ``WorkloadError`` where values do not fit the nest."""
        sections = self.launch.sections
        return bind(nest_of(sections), self.tensors, sizes_of(sections))

    @cached_property
    def golden(self) -> dict[str, np.ndarray]:
        """The results that the nest has; raises ``WorkloadError`` for indices outside arrays."""
        return self._shaped(golden_of(self.launch).run(self.binding))

    @cached_property
    def reference(self) -> dict[str, np.ndarray]:
        return self._shaped(golden_of(self.launch).reference(self.binding))

    def _shaped(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As the outputs are: nests have no arrays without dimensions."""
        specs = {spec.name: spec for spec in self.launch.outputs}
        return {
            name: array.reshape([int(size) for size in specs[name].shape])
            for name, array in arrays.items()
        }

    @cached_property
    def memory(self) -> np.ndarray:
        """Main memory before the start, up to its last array: uint32 [lines, words of a line]."""
        places = _places(self.launch)
        lines = max((first + count for first, count in places.values()), default=0)
        words = np.zeros(lines * LINE_WORDS, np.uint32)
        binding = self.binding
        for name, array in {**binding.arrays, **binding.scalars}.items():
            first = places[name][0] * LINE_WORDS
            flat = array.reshape(-1).view(np.uint32)
            words[first : first + len(flat)] = flat
        return words.reshape(-1, LINE_WORDS)


def golden_of(launch: Launch) -> GoldenLoops:
    """The golden model of the launch's nest, compiled once in a process."""
    return _golden(launch.sections["nest"].tobytes())


@lru_cache(maxsize=8)
def _golden(octets: bytes) -> GoldenLoops:
    return GoldenLoops(nest_of({"nest": np.frombuffer(octets, np.uint8)}))


def operands(launch: Launch, tensors: Mapping[str, Array]) -> Operands:
    """Checks the values: no access of the nest is outside its arrays. Raises ``WorkloadError``."""
    found = Operands(launch, tensors)
    found.golden  # noqa: B018, whose first use runs it
    return found


def image(launch: Launch, operands: Operands) -> dict[str, Rows]:
    """What to write before a start, by window."""
    sections = launch.sections
    found = {name: _rows(sections[name]) for name in (*ACCESS_SECTIONS, "instructions")}
    steps = np.zeros((EVENT_STEPS, sections["events"].shape[1]), np.uint32)
    steps[: len(sections["events"])] = sections["events"]
    return found | {"events": _rows(steps), "memory": _rows(operands.memory)}


def result_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The lines of all outputs."""
    places = _places(launch)
    lines = [np.arange(*_span(places[spec.name])) for spec in launch.outputs]
    return {"memory": np.unique(np.concatenate(lines))} if lines else {}


def volatile_rows(launch: Launch) -> dict[str, np.ndarray]:
    return result_rows(launch, {})


def outputs(launch: Launch, operands: Operands, memory: Mapping[str, Rows]) -> dict[str, Array]:
    """The outputs in those lines."""
    places = _places(launch)
    found: dict[str, Array] = {}
    for spec in launch.outputs:
        lines = np.arange(*_span(places[spec.name]))
        rows = memory["memory"]
        words = rows.words[np.searchsorted(rows.numbers, lines)].reshape(-1)
        found[spec.name] = (
            words[: words_of(spec)].view(spec.dtype).reshape([int(size) for size in spec.shape])
        )
    return found


def _places(launch: Launch) -> dict[str, tuple[int, int]]:
    """First line and lines of each array and scalar."""
    sections = launch.sections
    specs = specs_of(nest_of(sections), sizes_of(sections), statement_of(sections))
    return {
        name: (base // LINE_WORDS, -(-words_of(specs[name]) // LINE_WORDS))
        for name, base in bases_of(sections).items()
    }


def _span(place: tuple[int, int]) -> tuple[int, int]:
    return place[0], sum(place)


def _rows(words: np.ndarray) -> Rows:
    return Rows(np.arange(len(words)), words)

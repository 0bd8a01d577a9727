"""The schedules of a model that are worth a look: fusion, association, loop orders,
blocks of values, lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, ClassVar

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.value_shape import BLOCK_WORDS
from gnarl.sw.compiler.sam.fuse.association import associations, products
from gnarl.sw.compiler.sam.fuse.choices import FUSIONS
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, parse_schedule
from gnarl.sw.compiler.sam.workload import SamModel, SamWorkload, as_model
from gnarl.sw.runtime.sam.search.candidate import Candidate, Candidates
from gnarl.sw.runtime.sam.search.regions import (
    best_orders,
    best_regions,
    with_blocks,
    with_lanes,
)
from gnarl.sw.runtime.sam.search.sparsities import random_inputs
from gnarl.sw.runtime.target.explorer import Alternative, Explorer
from gnarl.sw.workloads.tensor.lanes import ALLOWED_LANES, ways_of
from gnarl.sw.workloads.tensor.options import ALLOWED_WORDS

MOST_ASSOCIATIONS = 16

FOUND = "found"
"""Fusion: the regions with the fewest cycles, each in its best order of loops."""

WRITTEN = "as written"
"""Association: that of the model."""


class SamExplorer(Explorer):
    """Explores schedules of models."""

    fields: ClassVar[tuple[str, ...]] = ("fuse", "associate", "words", "lanes")
    suffix: ClassVar[str] = ".toml"

    def alternatives(
        self,
        workload: Any,
        config: TargetConfig,
        *,
        lanes: Sequence[int],
        words: Sequence[int],
        sparsities: Mapping[str, float] | None,
        advance: Callable[[float], None],
    ) -> list[Alternative]:
        assert isinstance(config, SamConfig)
        for count in lanes:
            if count != 1 and not ways_of(count):
                raise WorkloadError(f"--lanes {count}: must be 1, {ALLOWED_LANES}")
        for count in words:
            if count not in BLOCK_WORDS:
                raise WorkloadError(f"--words {count}: must be 1, {ALLOWED_WORDS}")
        if isinstance(workload, SamWorkload):
            workload = as_model(workload)
        if not isinstance(workload, SamModel):
            raise WorkloadError("--search: a graph has none: must be a model or an expression")
        inputs: Mapping[str, Any] = workload.inputs
        if sparsities is not None:
            inputs = random_inputs(workload, sparsities)
        candidates = Candidates(workload, config, inputs)
        found: list[Alternative] = []
        known: list[Schedule] = []
        choices = list(islice(associated(workload), MOST_ASSOCIATIONS))
        for number, texts in enumerate(choices):

            def advanced(share: float, number: int = number) -> None:
                advance((number + share) / len(choices))

            for fuse, candidate in _fused(candidates, texts, advanced):
                values = {"fuse": fuse, "associate": ", ".join(texts) or WRITTEN}
                for own, made in _with_copies(candidates, candidate, words, lanes):
                    if made.schedule in known:  # their files may have other comments
                        continue
                    known.append(made.schedule)
                    text = made.compiled.schedule
                    found.append(Alternative(values | own, text, made.summary))
        if not found:
            candidates.candidate()  # raises what is wrong with it
            name, given = ("lanes", lanes) if 1 in words else ("words", words)
            text = ",".join(map(str, given))
            raise WorkloadError(f"--{name} {text}: no loop gains by them: must have 1, too")
        return found

    def options(self, schedule: str, name: str) -> dict[str, Any]:
        return {"schedule": parse_schedule(schedule, name)}


def associated(model: SamModel) -> Iterator[tuple[str, ...]]:
    """Ways to multiply the model's products of three tensors or more, as schedules say them; the
    first one is that of the model. Products of more than two tensors at once stay as they are."""
    choices = []
    for factors, written in products(model.program):
        if written:
            others = [text for text in associations(factors) if text != written]
            choices.append(["", *others])
    for chosen in product(*choices):
        yield tuple(text for text in chosen if text)


def _fused(
    candidates: Candidates, associate: tuple[str, ...], advance: Callable[[float], None]
) -> Iterator[tuple[str, Candidate]]:
    """Candidates by name of how they are fused."""
    schedule = Schedule(associate=associate)
    by_name = {fuse: candidates.made(fuse=fuse, schedule=schedule) for fuse in FUSIONS}
    unfused = by_name["none"]
    if unfused is not None:
        best = best_regions(candidates, unfused, advance)
        if best is not None:
            by_name[FOUND] = best_orders(candidates, best)
    for fuse, candidate in by_name.items():
        if candidate is not None:
            yield fuse, candidate


def _with_copies(
    candidates: Candidates, serial: Candidate, words: Sequence[int], lanes: Sequence[int]
) -> Iterator[tuple[dict[str, str], Candidate]]:
    """Candidates with blocks of values and lanes, and how many words and lanes these have."""
    for count in words:
        wide = serial if count == 1 else with_blocks(candidates, serial, count)
        if wide is None:
            continue
        for number in lanes:
            laned = wide if number == 1 else with_lanes(candidates, wide, number)
            if laned is not None:
                yield {"words": str(count), "lanes": str(number)}, laned

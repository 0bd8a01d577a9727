"""What a launch computes: a nest, with how the program's tensors become its arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sw.program.tensor_spec import Array, TensorSpec
from sw.program.unique_keys import unique_keys
from sw.workloads.embedding.model import EmbeddingModel
from sw.workloads.embedding.program_tensors import (
    Specs,
    model_fields,
    model_of_fields,
    model_tensors,
)
from sw.workloads.loops.binding import dimension
from sw.workloads.loops.embedding_model import FeatureGroup
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.printer import print_nest
from sw.workloads.loops.python_source import read_source
from sw.workloads.tensor.expression import Statement
from sw.workloads.tensor.parser import parse

TEXTS = ("nest", "expression", "features")
"""Sections of text that say it; all but the nest may be empty."""


@dataclass(frozen=True)
class Meaning:
    """A nest of so many ``sizes``, and what it was made of, if of an expression or of a model."""

    nest: Nest
    sizes: Mapping[str, int]
    expression: str = ""
    group: FeatureGroup | None = None

    @cached_property
    def statement(self) -> Statement | None:
        return parse(self.expression) if self.expression else None

    @cached_property
    def specs(self) -> dict[str, TensorSpec]:
        """Arrays and scalars of the nest by name, as they lie in memory."""
        arrays = {
            name: TensorSpec(
                name, tuple(dimension(size, self.sizes) for size in array.shape), array.type.name
            )
            for name, array in self.nest.arrays.items()
        }
        scalars = self.nest.scalars.items()
        return arrays | {name: TensorSpec(name, (), each.type.name) for name, each in scalars}

    @property
    def results(self) -> tuple[str, ...]:
        """Names of arrays that the nest writes."""
        return self.nest.results

    def inputs(self, given: Collection[str]) -> Specs:
        """The program's: features' tensors, or arrays; of those that the nest writes the ``given``
        ones."""
        if self.group is not None:
            return model_tensors(_model(self.group), self.group.bags)[0]
        return tuple(
            spec for name, spec in self.specs.items() if name not in self.results or name in given
        )

    @cached_property
    def outputs(self) -> Specs:
        """The program's: each feature's, or arrays. An expression's scalar result, which is an
        array of one element in its nest, has no dimension."""
        if self.group is not None:
            return model_tensors(_model(self.group), self.group.bags)[1]
        if self.statement is not None:
            name, order = self.statement.result.tensor, len(self.statement.result.indices)
            return (TensorSpec(name, self.specs[name].shape[:order], self.specs[name].type),)
        return tuple(self.specs[name] for name in self.results)

    def arrays(self, tensors: Mapping[str, Array]) -> Mapping[str, Any]:
        """The nest's parameters, from the program's inputs. Raises ``WorkloadError``."""
        return tensors if self.group is None else self.group.arrays(tensors)

    def tensors(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The program's outputs, from what the nest writes."""
        if self.group is not None:
            return self.group.outputs(arrays)
        return {
            spec.name: arrays[spec.name].reshape([int(size) for size in spec.shape])
            for spec in self.outputs
        }

    @property
    def texts(self) -> dict[str, str]:
        """By name of ``TEXTS``."""
        features = ""
        if self.group is not None:
            fields = {"bags": self.group.bags, "lookups": self.group.lookups}
            features = json.dumps({**fields, **model_fields(_model(self.group))}, sort_keys=True)
        return {"nest": print_nest(self.nest), "expression": self.expression, "features": features}


def meaning_of(texts: Mapping[str, str], sizes: tuple[int, ...]) -> Meaning:
    """Inverse of ``texts``; ``sizes`` in the order of the nest's. Raises ``WorkloadError``, and
    what Python raises for damaged features."""
    return _meaning(*(texts[name] for name in TEXTS), sizes)


@lru_cache(maxsize=64)
def _meaning(nest: str, expression: str, features: str, sizes: tuple[int, ...]) -> Meaning:
    read = read_source(nest, "section 'nest'")
    group = None
    if features:
        fields = json.loads(features, object_pairs_hook=unique_keys)
        group = FeatureGroup(model_of_fields(fields).features, fields["bags"], fields["lookups"])
    names = [size.name for size in read.sizes]
    meaning = Meaning(read, dict(zip(names, sizes, strict=True)), expression, group)
    meaning.statement  # noqa: B018, whose first use parses it
    return meaning


def _model(group: FeatureGroup) -> EmbeddingModel:
    return EmbeddingModel(group.name, group.features)

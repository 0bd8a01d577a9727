"""What a launch computes: a nest, with how the program's tensors become its arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import short
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.program.unique_keys import unique_keys
from gnarl.sw.workloads.embedding.data import check_bag_offsets
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.program_tensors import (
    Specs,
    model_fields,
    model_of_fields,
    model_tensors,
)
from gnarl.sw.workloads.loops.embedding_model import FeatureGroup
from gnarl.sw.workloads.loops.expressions.result_levels import (
    is_compressed,
    result_arrays,
    result_tensor,
)
from gnarl.sw.workloads.loops.ir.binding import dimension
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32
from gnarl.sw.workloads.loops.python.source import read_printed
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors

TEXTS = ("nest", "expression", "features", "bag_offsets")
"""Sections of text that say it; all but the nest may be empty."""


@dataclass(frozen=True)
class Meaning:
    """A nest of so many ``sizes``, and what it was made of, if of an expression or of a model.
    ``shape``: of an expression's result, if compressed. ``bag_offsets``: see ``LoopWorkload``."""

    nest: Nest
    sizes: Mapping[str, int]
    expression: str = ""
    group: FeatureGroup | None = None
    shape: tuple[int, ...] = ()
    bag_offsets: Mapping[str, int] = field(default_factory=dict)

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
            if is_compressed(self.statement):
                sizes = dict(zip(self.statement.result.indices, self.shape, strict=True))
                return statement_tensors(self.statement, FLOAT32.name, sizes)[1]
            return (TensorSpec(name, self.specs[name].shape[:order], self.specs[name].type),)
        return tuple(self.specs[name] for name in self.results)

    def arrays(self, tensors: Mapping[str, Array]) -> Mapping[str, Any]:
        """The nest's parameters, from the program's inputs. Raises ``WorkloadError``."""
        return tensors if self.group is None else self.group.arrays(tensors)

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raises ``WorkloadError`` for values that the nest's parameters must not have."""
        for name, indices in self.bag_offsets.items():
            if name in arrays:
                check_bag_offsets(name, arrays[name], indices)

    def tensors(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
        """The program's outputs, from what the nest writes. Raises ``WorkloadError`` where that is
        no tensor."""
        if self.group is not None:
            return {**self.group.outputs(arrays)}
        if self.statement is not None and is_compressed(self.statement):
            result = result_tensor(self.statement, self.shape, arrays)
            return {self.statement.result.tensor: result}
        return {
            spec.name: arrays[spec.name].reshape([int(size) for size in spec.shape])
            for spec in self.outputs
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        """Sizes in the order of the nest's, and then ``shape``."""
        return (*(self.sizes[each.name] for each in self.nest.sizes), *self.shape)

    @property
    def texts(self) -> dict[str, str]:
        """Texts by name of ``TEXTS``."""
        features = ""
        if self.group is not None:
            fields = {"bags": self.group.bags, "lookups": self.group.lookups}
            features = json.dumps({**fields, **model_fields(_model(self.group))}, sort_keys=True)
        return {
            "nest": print_nest(self.nest),
            "expression": self.expression,
            "features": features,
            "bag_offsets": json.dumps({**self.bag_offsets}) if self.bag_offsets else "",
        }


def meaning_of(texts: Mapping[str, str], numbers: tuple[int, ...]) -> Meaning:
    """Inverse of ``texts`` and ``numbers``. Raises ``WorkloadError``, and what Python raises for
    damaged features or numbers."""
    return _meaning(*(texts[name] for name in TEXTS), numbers)


@lru_cache(maxsize=64)
def _meaning(
    nest: str, expression: str, features: str, bag_offsets: str, numbers: tuple[int, ...]
) -> Meaning:
    read = read_printed(nest, "section 'nest'")
    group = None
    if features:
        fields = json.loads(features, object_pairs_hook=unique_keys)
        group = FeatureGroup(model_of_fields(fields).features, fields["bags"], fields["lookups"])
    names = [size.name for size in read.sizes]
    sizes, shape = numbers[: len(names)], numbers[len(names) :]
    offsets = json.loads(bag_offsets or "{}", object_pairs_hook=unique_keys)
    for name, indices in offsets.items():
        if name in read.arrays and len(read.arrays[name].shape) != 1:
            raise ValueError(f"bag_offsets: {short(name)}: must be of one dimension")
        if type(indices) is not int:
            raise ValueError(f"bag_offsets: {short(name)} = {short(indices)}: must be a number")
    meaning = Meaning(read, dict(zip(names, sizes, strict=True)), expression, group, shape, offsets)
    order, arrays, statement = 0, list[str](), meaning.statement
    if statement is not None and is_compressed(statement):
        order, arrays = len(statement.result.indices), result_arrays(statement)
    if len(shape) != order:
        raise ValueError(f"{len(numbers)} numbers: must be {len(names) + order}")
    if not {*arrays} <= {*read.results}:
        raise ValueError(f"results {', '.join(read.results)}: must be {', '.join(arrays)}")
    return meaning


def _model(group: FeatureGroup) -> EmbeddingModel:
    return EmbeddingModel(group.name, group.features)

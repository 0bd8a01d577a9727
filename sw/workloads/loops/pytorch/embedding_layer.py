"""PyTorch modules whose forward looks up ``nn.EmbeddingBag`` and no more, as embedding models.

What is looked up may be cut out of the module's inputs and reshaped; what bags give may be
concatenated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.data import batch_of, check_batch
from gnarl.sw.workloads.embedding.left_out import without_tails
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    MAXIMUM_BATCH,
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    FeatureInputs,
)
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues
from gnarl.sw.workloads.embedding.statistics import observed_factors
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.export import (
    Exported,
    export,
    load,
    operator_name,
    place_of,
    require_torch,
)

_BAG, _CAT, _ITEM = "aten.embedding_bag.padding_idx", "aten.cat.default", "getitem"

_MODES = ("sum", "mean", "max")

_ARANGE = tuple(f"aten.arange.{overload}" for overload in ("default", "start", "start_step"))

_SAME = tuple(
    f"aten.{name}.default" for name in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")
)

_OF_INPUTS = (
    *_SAME,
    *(f"aten.{name}.default" for name in ("_to_copy", "view", "reshape", "_unsafe_view")),
    "aten.unsqueeze.default",
    "aten.squeeze.dim",
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.unbind.int",
    *_ARANGE,
)
"""What indices, offsets and weights may come from inputs by; none makes more elements of few, but
for ``arange``."""

_COMPUTED = 2**30
"""Bytes of tensors that are made of inputs, at most."""

_ELSEWHERE = ("device", "layout", "pin_memory", "memory_format")
"""Arguments of operators that say where results are."""


@dataclass(frozen=True, eq=False)
class _Bag:
    """One look-up. ``path``: what the module calls its table."""

    path: str
    feature: Feature
    table: np.ndarray
    inputs: FeatureInputs


def module_model(module: Any, inputs: Any) -> ModelWithValues:
    """A module with the arguments of its ``forward``, see ``export.export``.

    Features are called as results are where each is of one bag, else as the module calls their
    tables. Raises ``WorkloadError`` naming the operator and its line.
    """
    return _model(export(module, inputs, (_BAG, _CAT, _ITEM, *_OF_INPUTS)))


def file_model(path: str | Path) -> ModelWithValues:
    """The model in a file of ``torch.export.save``. Raises ``WorkloadError``."""
    return _model(load(path))


def _model(graph: Exported) -> ModelWithValues:
    results = _Reader(graph).run()
    named = _named(graph, results)
    model = EmbeddingModel(graph.name, tuple(feature for feature, _ in named))
    try:
        batch = batch_of(model, [bag.inputs for _, bag in named])
        check_batch(model, without_tails(model, batch))
    except WorkloadError as error:
        raise WorkloadError(f"{graph.name}: {error}") from error
    return ModelWithValues(model, [bag.table for _, bag in named], batch)


def _named(graph: Exported, results: Sequence[Sequence[_Bag]]) -> list[tuple[Feature, _Bag]]:
    """Features and what they look up, in the order of the results."""
    bags = [bag for result in results for bag in result]
    if all(len(result) == 1 for result in results):
        names = list(graph.results)
    else:
        uses, seen = Counter(bag.path for bag in bags), Counter[str]()
        names = []
        for bag in bags:
            names.append(bag.path if uses[bag.path] == 1 else f"{bag.path}@{seen[bag.path]}")
            seen[bag.path] += 1
    return [(replace(bag.feature, name=name), bag) for name, bag in zip(names, bags, strict=True)]


class _Reader:
    """Computes what depends on inputs alone; of what bags give it knows the bags."""

    def __init__(self, graph: Exported) -> None:
        self._graph = graph
        self._values: dict[Any, Any] = {}
        self._room = _COMPUTED

    def run(self) -> list[list[_Bag]]:
        """The bags of each result."""
        *nodes, output = self._graph.nodes
        place = self._graph.start
        for node in nodes:
            place = place_of(node, place)
            self._values[node] = self._value(node, place)
        results = []
        for node, name in zip(output.args[0], self._graph.results, strict=True):
            found = self._of(node)
            if not _is_pooled(found):
                raise WorkloadError(
                    f"{self._graph.name}: {name}: must be what EmbeddingBags give, for embedding "
                    "kernels"
                )
            results.append(found)
        return results

    def _of(self, argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return [self._of(each) for each in argument]
        return self._values.get(argument, argument) if hasattr(argument, "op") else argument

    def _value(self, node: Any, place: Location) -> Any:
        if node.op == "placeholder":
            return self._input(node)
        name = operator_name(node)
        arguments = [self._of(each) for each in node.args]
        named = {key: self._of(each) for key, each in node.kwargs.items()}
        is_pooled = any(map(_has_bags, [*arguments, *named.values()]))
        if name == _BAG and not is_pooled:
            return [self._bag(node, place)], None, None, None
        if name == _ITEM:
            values, number = arguments
            if values[number] is not None:
                return values[number]
        elif name == _CAT:
            given = _bound(node)
            parts = self._of(given["tensors"])
            if all(map(_is_pooled, parts)):
                return _concatenated(parts, given["dim"], place)
        elif name in _OF_INPUTS and not is_pooled:
            return self._computed(node.target, name, arguments, named, place)
        raise WorkloadError(
            f"{place}: {name}: not supported by embedding kernels: a module must look up "
            "EmbeddingBags, and return or concatenate what they give"
        )

    def _input(self, node: Any) -> Any:
        value, layout = self._graph.data[node.name], require_torch().strided
        if getattr(value, "layout", layout) != layout:
            raise WorkloadError(
                f"{self._graph.start}: {self._graph.names[node.name]}: is sparse: must be dense "
                "for embedding kernels"
            )
        return value

    def _computed(
        self,
        operator: Any,
        name: str,
        arguments: list[Any],
        named: dict[str, Any],
        place: Location,
    ) -> Any:
        if name in _SAME:  # nothing is changed in place
            return arguments[0]
        if name in _ARANGE:
            numbers = [each for each in arguments if isinstance(each, int)]
            if len(numbers) < len(arguments) or len(range(*numbers)) > MAXIMUM_BATCH + 1:
                raise WorkloadError(
                    f"{place}: {name}: must be of whole numbers, at most {MAXIMUM_BATCH + 1:,}"
                )
        kept = {key: each for key, each in named.items() if key not in _ELSEWHERE}
        result = operator(*arguments, **kept)
        if not isinstance(result, list | tuple) and not result._is_view():
            self._room -= result.numel() * result.element_size()
            if self._room < 0:
                raise WorkloadError(
                    f"{place}: {name}: what is computed of inputs takes more than {_COMPUTED:,} "
                    "bytes: must be at most that"
                )
        return result

    def _bag(self, node: Any, place: Location) -> _Bag:
        arguments = _bound(node)
        given = {name: self._of(each) for name, each in arguments.items()}
        table, indices, offsets, weights = (
            given[name] for name in ("weight", "indices", "offsets", "per_sample_weights")
        )
        path = self._graph.names.get(arguments["weight"].name, "")
        path = path.removesuffix("weight").removesuffix(".") or self._graph.name
        type = _type(table)
        if type not in TABLE_TYPES or table.dim() != 2:
            raise WorkloadError(
                f"{place}: table of {path}: is {type} {list(table.shape)}: must be [rows, dim] of "
                f"{', '.join(TABLE_TYPES)}"
            )
        inputs = _inputs(path, indices, offsets, weights, given["include_last_offset"], place)
        rows, dim = table.shape
        padding = given["padding_idx"]
        feature = Feature(
            path,
            rows,
            dim,
            pooling=_MODES[given["mode"]],
            table_type=type,
            output_type=type,
            index_type=inputs.indices.dtype.name,
            weighted=weights is not None,
            factors=observed_factors(np.diff(inputs.offsets)),
            padding_idx=padding if padding is not None and padding >= 0 else None,
        )
        return _Bag(path, feature, _array(table), inputs)


def _inputs(
    path: str, indices: Any, offsets: Any, weights: Any, has_last: bool, place: Location
) -> FeatureInputs:
    for name, tensor in (("indices", indices), ("offsets", offsets)):
        if tensor.dim() != 1 or _type(tensor) not in INDEX_TYPES:
            raise WorkloadError(
                f"{place}: {name} of {path}: are {_type(tensor)} {list(tensor.shape)}: must be "
                f"{' or '.join(INDEX_TYPES)} in one dimension"
            )
    type = np.promote_types(_type(indices), _type(offsets))
    bounds = _array(offsets).astype(type)
    if not has_last:
        bounds = np.append(bounds, type.type(len(indices)))
    own = None if weights is None else _array(weights.float())
    return FeatureInputs(_array(indices).astype(type), bounds, own)


def _bound(node: Any) -> dict[str, Any]:
    """All arguments of a node's operator by name."""
    arguments = {each.name: each.default_value for each in node.target._schema.arguments}
    return arguments | dict(zip(arguments, node.args, strict=False)) | node.kwargs


def _concatenated(parts: list[list[_Bag]], dim: int, place: Location) -> list[_Bag]:
    if dim not in (1, -1):
        raise WorkloadError(f"{place}: {_CAT}: dim = {dim}: must be 1, side by side")
    return [bag for part in parts for bag in part]


def _is_pooled(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, _Bag) for x in value)


def _has_bags(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_bags, value))
    return isinstance(value, _Bag)


def _type(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _array(tensor: Any) -> np.ndarray:
    """A contiguous array; bfloat16 is NumPy's of that name."""
    torch = require_torch()
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(TABLE_TYPES["bfloat16"])
    return tensor.numpy()

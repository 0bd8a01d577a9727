"""Each feature's output as a tensor of its own, as from an ``nn.EmbeddingBag`` of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.gradients import check_weights
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator import find_gradients, fused_embedding_bags
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES
from gnarl.sw.workloads.embedding.model import Feature

_INPUTS = 5
"""Arguments of ``_SeparateOutputs`` before the tables."""

Gradients = Sequence[torch.Tensor | None]


def separated(
    buffers: Sequence[torch.Tensor], places: Iterable[Sequence[int]], features: Sequence[Feature]
) -> list[torch.Tensor]:
    """Columns of the operator's buffers, by feature, which may be changed in place: nothing else
    reads the buffers.

    ``places``: for each buffer, numbers of its features.
    """
    outputs: list[torch.Tensor] = [buffers[0]] * len(features)
    for buffer, numbers in zip(buffers, places, strict=True):
        dims = [features[number].dim for number in numbers]
        for number, part in zip(numbers, buffer.unsafe_split_with_sizes(dims, 1), strict=True):
            outputs[number] = part
    return outputs


def separated_rows(buffer: torch.Tensor, counts: Sequence[int]) -> Sequence[torch.Tensor]:
    """Each feature's rows of the output of an operator that does not pool, as ``separated``."""
    return buffer.unsafe_split_with_sizes(list(counts), 0)


def look_up_separately(
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    program: str,
    *,
    counts: Sequence[int] | None = None,
) -> list[torch.Tensor]:
    """Each feature's output by ``gnarl::fused_embedding_bags``. Gradients of some may be computed
    before those of others, of the tables that they come from alone.

    ``counts``: each feature's values, of programs that do not pool.
    """
    return list(_SeparateOutputs.apply(program, counts, values, offsets, weights, *tables))


class _SeparateOutputs(torch.autograd.Function):
    """One node of the graph for all outputs, which keeps its inputs for another pass."""

    @staticmethod
    def forward(
        ctx: Any,
        program: str,
        counts: Sequence[int] | None,
        values: torch.Tensor,
        offsets: torch.Tensor,
        weights: torch.Tensor | None,
        *tables: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        check_weights(weights, program)
        ctx.set_materialize_grads(False)
        # What save_for_backward saves is given up after the first pass.
        ctx.lookup = Lookup(tables, values, offsets, weights, program)
        ctx.unchanged = _Unchanged(ctx.lookup)
        buffers = fused_embedding_bags(tables, values, offsets, weights, program)
        ctx.counts = counts
        if counts is not None:
            return tuple(separated_rows(buffers[0], counts))
        compiled = ctx.lookup.compiled
        places = compiled.features_by_type.values()
        return tuple(separated(buffers, places, compiled.model.features))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        *_, weights_trained = ctx.needs_input_grad[:_INPUTS]
        trained = ctx.needs_input_grad[_INPUTS:]
        lookup: Lookup = ctx.lookup
        compiled = lookup.compiled
        used = [number for number, each in enumerate(gradients) if each is not None]
        if not used:
            return (None,) * len(ctx.needs_input_grad)
        weights_wanted = weights_trained and any(
            compiled.model.features[number].weighted for number in used
        )
        ctx.unchanged.check(used, weights_wanted)
        found = {compiled.table_of_feature[number] for number in used}
        wanted = [each and number in found for number, each in enumerate(trained)]
        if not any(wanted) and not weights_wanted:
            return (None,) * len(ctx.needs_input_grad)
        beside = list(_of_buffers(lookup, gradients, ctx.counts))
        of_tables, of_weights = find_gradients(lookup, beside, wanted, weights_wanted, trained)
        return None, None, None, None, of_weights, *of_tables


def _of_buffers(
    lookup: Lookup, gradients: Gradients, counts: Sequence[int] | None
) -> Iterator[torch.Tensor]:
    """Gradients of the operator's buffers from those of features."""
    features = lookup.compiled.model.features
    if counts is not None:
        zero = torch.zeros((), device=lookup.values.device)
        shapes = [(count, features[0].dim) for count in counts]
        pairs = zip(gradients, shapes, strict=True)
        yield torch.cat([zero.expand(shape) if own is None else own for own, shape in pairs])
        return
    for type, numbers in lookup.compiled.features_by_type.items():
        zero = torch.zeros((), dtype=TORCH_TYPES[type], device=lookup.values.device)
        parts = [
            zero.expand(lookup.batch, features[number].dim) if own is None else own
            for number in numbers
            for own in [gradients[number]]
        ]
        yield torch.cat(parts, dim=1)


class _Unchanged:
    """Knows whether what gradients are computed from was changed in place since the lookup."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._versions = [tensor._version for tensor in self._tensors()]

    def _tensors(self) -> Iterator[torch.Tensor]:
        """The tables, and then the inputs."""
        lookup = self._lookup
        yield from lookup.tables
        yield lookup.values
        yield lookup.offsets
        if lookup.weights is not None:
            yield lookup.weights

    def check(self, used: Sequence[int], weights_wanted: bool) -> None:
        """Raises ``WorkloadError`` for what was changed, of features by their numbers.

        ``weights_wanted``: whether gradients of weights are.
        """
        tensors = zip(self._tensors(), self._versions, strict=True)
        changed = [number for number, (each, old) in enumerate(tensors) if each._version != old]
        if not changed:
            return
        compiled, tables = self._lookup.compiled, len(self._lookup.tables)
        features = compiled.model.features
        # Gradients of sums and means do not depend on what is in tables.
        read = {
            compiled.table_of_feature[number]: features[number].name
            for number in used
            if features[number].pooling == "max" or (weights_wanted and features[number].weighted)
        }
        for number in changed:
            if number >= tables or number in read:
                name = f"the table of {read[number]}" if number < tables else "an input"
                raise WorkloadError(
                    f"backward: {name} was modified by an inplace operation after the lookup: "
                    "gradients need it as it was"
                )

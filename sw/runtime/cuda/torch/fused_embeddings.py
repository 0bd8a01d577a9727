"""Embeddings of sequences, which are not pooled, as one PyTorch module: ``FusedEmbeddings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.embedding_collection import read_embedding_collection
from gnarl.sw.runtime.cuda.torch.extra import is_recorded, torch
from gnarl.sw.runtime.cuda.torch.float64 import has_float64
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags
from gnarl.sw.runtime.cuda.torch.jagged_outputs import JaggedEmbeddings, jagged_tensor_type
from gnarl.sw.runtime.cuda.torch.keyed_inputs import (
    PackedInputs,
    is_keyed_jagged,
    pack_sequences,
)
from gnarl.sw.runtime.cuda.torch.separate_outputs import look_up_separately, separated_rows
from gnarl.sw.workloads.embedding.model import Feature


class FusedEmbeddings(FusedEmbeddingBags):
    """Looks the sequences of all features up in one kernel: a row of an output for each index.

    On the CPU that is done by PyTorch's own operators. Gradients and optimizers are as of
    ``FusedEmbeddingBags``, whose arguments these are.

    features
        of one dimension, not weighted, with pooling ``sum``, which has no meaning, and outputs of
        float32. Tables are not quantised.
    need_indices
        whether outputs have the indices as weights, as TorchRec's option has it.

    Its state has ``embeddings.<table>.weight``, as TorchRec has it.
    """

    _HOLDERS = "embeddings"
    _UNPOOLED = True

    def __init__(
        self,
        tables: Sequence[torch.Tensor] | Mapping[str, torch.Tensor] | torch.nn.ParameterDict,
        features: Sequence[Feature],
        *,
        need_indices: bool = False,
        **options: Any,
    ) -> None:
        for feature in features:
            _check(feature, features[0])
        super().__init__(tables, features, **options)
        self._outputs_follow = False
        self._need_indices = need_indices
        self._jagged: Callable[..., Any] = jagged_tensor_type() or JaggedEmbeddings

    @classmethod
    def from_embedding_collection(cls, collection: Any, **options: Any) -> FusedEmbeddings:
        """A module in place of TorchRec's ``EmbeddingCollection``, which need not be installed.

        The parameters are the collection's own, ``options`` the constructor's. Raises
        ``WorkloadError`` for embeddings with an option that changes results or gradients.
        """
        return cls(**{**vars(read_embedding_collection(collection)), **options})

    def forward(self, features: Any) -> dict[str, Any]:  # type: ignore[override]
        """Looks a ``KeyedJaggedTensor`` up.

        Returns for each feature, or ``feature@table``, embeddings [values, dim] with the feature's
        lengths: TorchRec's ``JaggedTensor`` if that was imported before the module was made, else
        ``JaggedEmbeddings``. The device is waited for where ``length_per_key()`` is not known.
        Raises ``WorkloadError``.
        """
        if not is_keyed_jagged(features):
            raise WorkloadError("input: is a mapping: must be a KeyedJaggedTensor")
        values, begins, counts, lengths = pack_sequences(self._inputs, features)
        inputs = self._within_bounds(PackedInputs(values, begins, None), whole=True)
        rows = self._look_up_rows(inputs, counts)
        indices = inputs.values.split(counts) if self._need_indices else [None] * len(counts)
        parts = zip(self._inputs.features, rows, lengths, indices, strict=True)
        return {
            name: self._jagged(values=own, lengths=of_samples, weights=looked_up)
            for name, own, of_samples, looked_up in parts
        }

    def _look_up_rows(self, inputs: PackedInputs, counts: list[int]) -> Sequence[torch.Tensor]:
        """Each feature's embeddings, [values, dim]."""
        by_itself = self._operator.optimizer is None and torch.is_grad_enabled()
        if by_itself and not is_recorded():
            return look_up_separately(*self._operands(inputs), counts=counts)
        return separated_rows(self._lookup(inputs)[0], counts)

    def _operands(self, inputs: PackedInputs) -> tuple[Any, ...]:
        operands = super()._operands(inputs)
        if has_float64(operands[0]):
            raise WorkloadError("tables: are float64: not supported without pooling")
        return operands

    def _without_tables(self, inputs: PackedInputs) -> bool:
        return False


def _check(feature: Feature, first: Feature) -> None:
    """Raises ``WorkloadError`` for what is not supported without pooling."""
    if feature.dim != first.dim:
        raise WorkloadError(
            f"feature {feature.name}: dim = {feature.dim}: must be {first.dim}, as of {first.name}"
        )
    for option, plain in (
        ("pooling", "sum"),
        ("output_type", "float32"),
        ("weighted", False),
        ("pruned", False),
        ("padding_idx", None),
        ("rowwise", None),
    ):
        if getattr(feature, option) != plain:
            raise WorkloadError(
                f"feature {feature.name}: {option} = {getattr(feature, option)!r}: not supported "
                "without pooling"
            )

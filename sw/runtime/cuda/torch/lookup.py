"""What one call of the operator is given: tensors, and the program that says what they are.

Inputs are packed, one feature after the other, and all features have one index type. What does
not change from launch to launch is kept in the program, so that a launch costs the host little even
with a thousand features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hw.lib.errors import WorkloadError
from sw.runtime.cuda.arguments import TABLE_ALIGNMENT, feature_arguments
from sw.runtime.cuda.memory_layout import places
from sw.runtime.cuda.task_map import TaskMap, map_tasks
from sw.runtime.cuda.torch.extra import to_array, torch
from sw.runtime.cuda.torch.keyed_inputs import type_name
from sw.runtime.cuda.torch.operator_program import OperatorProgram, operator_program
from sw.runtime.cuda.torch.pooling import TORCH_TYPES
from sw.workloads.embedding.model import MAXIMUM_BATCH, Batch, Feature, FeatureInputs

Bags = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]


@dataclass(frozen=True)
class Lookup:
    """Arguments of ``gnarl::fused_embedding_bags``, documented there."""

    tables: Sequence[torch.Tensor]
    values: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    counts: Sequence[int]
    program: str

    @cached_property
    def compiled(self) -> OperatorProgram:
        return operator_program(self.program)

    @property
    def batch(self) -> int:
        return self.offsets.shape[1] - 1

    def check(self) -> None:
        """Raises ``WorkloadError`` for tensors that are not what the program says, or not together.

        What is in them is not looked at.
        """
        tables = max(self.compiled.table_of_feature) + 1
        if len(self.tables) < tables:
            raise WorkloadError(f"input: has {len(self.tables)} tables: must have {tables}")
        device = self.values.device
        of_feature = map(self.tables.__getitem__, self.compiled.table_of_feature)
        for feature, table in zip(self.compiled.model.features, of_feature, strict=True):
            check_table(feature, table)
            if table.device != device:
                raise WorkloadError(
                    f"feature {feature.name}: table is on {table.device}, values on {device}: "
                    "must be on one device"
                )
        for name, tensor in (("offsets", self.offsets), ("weights", self.weights)):
            if tensor is not None and tensor.device != device:
                raise WorkloadError(
                    f"input: {name} are on {tensor.device}, values on {device}: "
                    "must be on one device"
                )
        self._check_shapes()

    def _check_shapes(self) -> None:
        features = self.compiled.model.features
        type = features[0].index_type
        _check_tensor("values", self.values, type, "[values]", self.values.dim() == 1)
        _check_tensor(
            "offsets",
            self.offsets,
            type,
            f"[{len(features)}, batch + 1]",
            self.offsets.dim() == 2 and self.offsets.shape[0] == len(features) and self.batch >= 0,
        )
        if len(self.counts) != len(features):
            raise WorkloadError(
                f"input: has counts of {len(self.counts)} features: must be of {len(features)}"
            )
        for feature, count in zip(features, self.counts, strict=True):
            if count < 0:
                raise WorkloadError(
                    f"input: counts of {feature.name} are {count}: must be 0 or more"
                )
        if sum(self.counts) != len(self.values):
            raise WorkloadError(
                f"input: has {len(self.values)} values: must be {sum(self.counts)}, the sum of "
                "all features' counts"
            )
        shape = f"[{len(self.values)}]"
        if self.weights is not None:
            fits = self.weights.shape == self.values.shape
            _check_tensor("weights", self.weights, "float32", shape, fits)
        elif weighted := [feature.name for feature in features if feature.weighted]:
            raise WorkloadError(
                f"input: has no weights: must be float32 {shape}, as {weighted[0]} is weighted"
            )

    def features(self) -> Iterator[tuple[Feature, int, Bags]]:
        """Each feature with its table's number and its (indices, offsets, weights)."""
        compiled, end = self.compiled, 0
        numbered = zip(compiled.model.features, compiled.table_of_feature, self.counts, strict=True)
        for (feature, table, count), offsets in zip(numbered, self.offsets, strict=True):
            span = slice(end, end := end + count)
            weights = self.weights[span] if feature.weighted and self.weights is not None else None
            yield feature, table, (self.values[span], offsets, weights)

    def new_outputs(self) -> list[torch.Tensor]:
        """A buffer [batch, width] for each output type, not filled."""
        return [
            self.values.new_empty((self.batch, width), dtype=TORCH_TYPES[name])
            for name, width in self.compiled.program.outputs.widths.items()
        ]

    def of_features(self, buffers: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Each feature's columns of buffers as ``new_outputs`` makes them."""
        layout = self.compiled.program.outputs
        of_type = dict(zip(layout.widths, buffers, strict=True))
        return [
            of_type[feature.output_type].narrow(1, column, feature.dim)
            for feature, column in zip(self.compiled.model.features, layout.columns, strict=True)
        ]

    def to_batch(self) -> Batch:
        """The inputs on the host."""
        weights = None if self.weights is None else self.weights.cpu()
        here = replace(self, values=self.values.cpu(), offsets=self.offsets.cpu(), weights=weights)
        return Batch(
            self.batch,
            [
                FeatureInputs(
                    to_array(indices), to_array(bounds), None if w is None else to_array(w)
                )
                for _, _, (indices, bounds, w) in here.features()
            ],
        )

    def tasks(self) -> TaskMap:
        """The grid. Raises ``WorkloadError`` for more samples than kernels can count."""
        if self.batch > MAXIMUM_BATCH:
            raise WorkloadError(f"input: has {self.batch} samples: must be at most {MAXIMUM_BATCH}")
        counts = np.array(self.counts, np.int64)
        return map_tasks(self.compiled.program.block_counts, self.batch, counts)

    def workspaces(self) -> tuple[np.ndarray, int]:
        """int64 [features], where in the workspace each feature's begins; bytes of it all."""
        return places(self.compiled.program.workspace_bytes(self.batch, self.counts))

    def arguments(
        self, outputs: Sequence[torch.Tensor], workspaces: np.ndarray, error: int = 0
    ) -> np.ndarray:
        """``FEATURE_ARGUMENTS`` [features], for buffers as ``new_outputs`` makes them.

        Addresses are the device's: of each feature's workspace; of the error record of checked
        kernels. Raises ``WorkloadError`` for a table that is not aligned.
        """
        compiled = self.compiled
        addresses = np.array([table.data_ptr() for table in self.tables], np.uint64)
        tables = addresses[compiled.table_numbers]
        if (skewed := tables % np.uint64(TABLE_ALIGNMENT)).any():
            feature = compiled.model.features[int(np.argmax(skewed != 0))]
            raise WorkloadError(
                f"feature {feature.name}: table begins {int(skewed.max())} bytes past a multiple "
                f"of {TABLE_ALIGNMENT}: must be aligned, as a clone is"
            )
        begins = np.cumsum(self.counts, dtype=np.int64) - self.counts
        weights = 0 if self.weights is None else self.weights.data_ptr()
        width = self.values.element_size()
        return feature_arguments(
            compiled.program,
            self.batch,
            self.counts,
            tables=tables,
            indices=self.values.data_ptr() + begins * width,
            offsets=self.offsets.data_ptr() + np.arange(len(begins)) * ((self.batch + 1) * width),
            weights=np.where(compiled.weighted, weights + begins * 4, 0),
            outputs=[output.data_ptr() for output in outputs],
            workspaces=workspaces,
            error=error,
        )


def _check_tensor(name: str, tensor: torch.Tensor, type: str, shape: str, fits: bool) -> None:
    """``shape``: in words, what ``fits`` says whether it is."""
    if not fits or tensor.dtype != TORCH_TYPES[type]:
        raise WorkloadError(
            f"input: {name} are {type_name(tensor.dtype)} {list(tensor.shape)}: "
            f"must be {type} {shape}"
        )


def check_table(feature: Feature, table: torch.Tensor) -> None:
    """Raises ``WorkloadError`` unless the table is what the feature says."""
    if table.shape != (feature.rows, feature.dim):
        raise WorkloadError(
            f"feature {feature.name}: table is {list(table.shape)}: must be "
            f"[rows, dim] = [{feature.rows}, {feature.dim}]"
        )
    if table.dtype != TORCH_TYPES[feature.table_type]:
        raise WorkloadError(
            f"feature {feature.name}: table is {type_name(table.dtype)}: must be "
            f"{feature.table_type}"
        )
    if not table.is_contiguous():
        raise WorkloadError(
            f"feature {feature.name}: table has strides {list(table.stride())}: must be contiguous"
        )

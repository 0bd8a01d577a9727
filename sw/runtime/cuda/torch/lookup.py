"""What one call of the operator is given: tensors, and the program that says what they are.

Inputs are packed, one feature after the other, and all features have one index type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.arguments import TABLE_ALIGNMENT
from gnarl.sw.runtime.cuda.torch.bag_bounds import check_packed_offsets, require_countable
from gnarl.sw.runtime.cuda.torch.extra import to_array, torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name
from gnarl.sw.runtime.cuda.torch.operator_program import OperatorProgram, operator_program
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES
from gnarl.sw.workloads.embedding.data import check_batch
from gnarl.sw.workloads.embedding.model import MAXIMUM_BATCH, Batch, Feature, FeatureInputs

Bags = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]


@dataclass(frozen=True)
class Lookup:
    """Arguments of ``gnarl::fused_embedding_bags``, documented there."""

    tables: Sequence[torch.Tensor]
    values: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    program: str

    @cached_property
    def compiled(self) -> OperatorProgram:
        return operator_program(self.program)

    @property
    def batch(self) -> int:
        return (self.offsets.shape[0] - 1) // len(self.compiled.model.features)

    @property
    def index_bits(self) -> int:
        return 8 * self.values.element_size()

    @cached_property
    def counts(self) -> list[int]:
        """Values of each feature. Waits for the device."""
        bounds = self.offsets.cpu()
        steps = range(0, (len(self.compiled.model.features) + 1) * self.batch, self.batch or 1)
        ends = [int(bounds[at]) for at in steps]
        if not self.batch:
            return [0] * len(self.compiled.model.features)
        return [end - begin for begin, end in itertools.pairwise(ends)]

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
        self.check_inputs()

    def check_inputs(self) -> None:
        """Checks the inputs only, see ``check``. O(1)."""
        device = self.values.device
        for name, tensor in (("offsets", self.offsets), ("weights", self.weights)):
            if tensor is not None and tensor.device != device:
                raise WorkloadError(
                    f"input: {name} are on {tensor.device}, values on {device}: "
                    "must be on one device"
                )
        features = self.compiled.model.features
        narrow = self.values.dtype == torch.int32
        type = "int32" if narrow else features[0].index_type
        _check_tensor("values", self.values, type, "[values]", self.values.dim() == 1)
        bags = self.offsets.dim() == 1 and self.offsets.shape[0] - 1
        whole = bags is not False and bags >= 0 and bags % len(features) == 0
        _check_tensor("offsets", self.offsets, type, f"[{len(features)} * batch + 1]", whole)
        require_countable(self.values)
        if self.batch > MAXIMUM_BATCH:
            raise WorkloadError(f"input: has {self.batch} samples: must be at most {MAXIMUM_BATCH}")
        shape = f"[{len(self.values)}]"
        if self.weights is not None:
            fits = self.weights.shape == self.values.shape
            _check_tensor("weights", self.weights, "float32", shape, fits)
        elif weighted := self.compiled.first_weighted:
            raise WorkloadError(
                f"input: has no weights: must be float32 {shape}, as {weighted} is weighted"
            )

    def check_offsets(self) -> None:
        """Raises ``WorkloadError`` for offsets that do not cut values into bags. Waits for the
        device."""
        check_packed_offsets(self.offsets, self.values.shape[0])

    def check_values(self) -> None:
        """Raises ``WorkloadError`` for the first bad offset or index. Waits for the device."""
        self.check_offsets()
        check_batch(self.compiled.model, self.to_batch())

    def features(self) -> Iterator[tuple[Feature, int, Bags]]:
        """Each feature with its table's number and its (indices, offsets, weights). Without
        pooling each index is a bag."""
        for feature, table, (indices, offsets, weights) in self._features():
            if self.compiled.unpooled:
                offsets = torch.arange(len(indices) + 1, device=offsets.device)
            yield feature, table, (indices, offsets, weights)

    def _features(self) -> Iterator[tuple[Feature, int, Bags]]:
        compiled, end = self.compiled, 0
        numbered = zip(compiled.model.features, compiled.table_of_feature, self.counts, strict=True)
        for number, (feature, table, count) in enumerate(numbered):
            first = number * self.batch
            offsets = self.offsets[first : first + self.batch + 1]
            span = slice(end, end := end + count)
            weights = self.weights[span] if feature.weighted and self.weights is not None else None
            yield feature, table, (self.values[span], offsets - offsets[0], weights)

    def new_outputs(self) -> list[torch.Tensor]:
        """A buffer [batch, width] for each output type, not filled."""
        if self.compiled.unpooled:
            shape = self.values.shape[0], self.compiled.model.features[0].dim
            return [self.values.new_empty(shape, dtype=torch.float32)]
        return [
            self.values.new_empty((self.batch, width), dtype=TORCH_TYPES[name])
            for name, width in self.compiled.program.outputs.widths.items()
        ]

    def of_features(self, buffers: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Each feature's columns of buffers as ``new_outputs`` makes them, or rows."""
        if self.compiled.unpooled:
            past = buffers[0].shape[0] - sum(self.counts)
            return list(buffers[0].split([*self.counts, past]))[:-1]
        layout = self.compiled.program.outputs
        of_type = dict(zip(layout.widths, buffers, strict=True))
        return [
            of_type[feature.output_type].narrow(1, column, feature.dim)
            for feature, column in zip(self.compiled.model.features, layout.columns, strict=True)
        ]

    def to_batch(self) -> Batch:
        """The inputs on the host, of the features' index type."""
        weights = None if self.weights is None else self.weights.cpu()
        type = TORCH_TYPES[self.compiled.model.features[0].index_type]
        values, offsets = (tensor.cpu().to(type) for tensor in (self.values, self.offsets))
        here = replace(self, values=values, offsets=offsets, weights=weights)
        return Batch(
            self.batch,
            [
                FeatureInputs(
                    to_array(indices), to_array(bounds), None if w is None else to_array(w)
                )
                for _, _, (indices, bounds, w) in here._features()
            ],
        )

    def addresses(self) -> tuple[int, ...]:
        """The address of each feature's table. Raises ``WorkloadError`` for one that is not
        aligned."""
        own = [table.data_ptr() for table in self.tables]
        if any(address % TABLE_ALIGNMENT for address in own):
            numbered = zip(
                self.compiled.model.features, self.compiled.table_of_feature, strict=True
            )
            for feature, table in numbered:
                if skewed := own[table] % TABLE_ALIGNMENT:
                    raise WorkloadError(
                        f"feature {feature.name}: table begins {skewed} bytes past a multiple of "
                        f"{TABLE_ALIGNMENT}: must be aligned, as a clone is"
                    )
        return tuple([own[table] for table in self.compiled.table_of_feature])


def _check_tensor(name: str, tensor: torch.Tensor, type: str, shape: str, fits: bool) -> None:
    """Checks a tensor of the input. ``shape``: in words, what ``fits`` says whether it is."""
    if not fits or tensor.dtype != TORCH_TYPES[type]:
        raise WorkloadError(
            f"input: {name} are {type_name(tensor.dtype)} {list(tensor.shape)}: "
            f"must be {type} {shape}"
        )


def check_table(feature: Feature, table: torch.Tensor, *, float64: bool = False) -> None:
    """Raises ``WorkloadError`` unless the table is what the feature says; or of float64 where it
    says float32, if ``float64``."""
    if table.shape != feature.table_shape:
        columns = "row bytes" if feature.rowwise else "dim"
        raise WorkloadError(
            f"feature {feature.name}: table is {list(table.shape)}: must be "
            f"[rows, {columns}] = {list(feature.table_shape)}"
        )
    type = feature.table_dtype.name
    wider = float64 and table.dtype == torch.float64 and type == "float32"
    if table.dtype != TORCH_TYPES[type] and not wider:
        raise WorkloadError(
            f"feature {feature.name}: table is {type_name(table.dtype)}: must be {type}"
        )
    if not table.is_contiguous():
        raise WorkloadError(
            f"feature {feature.name}: table has strides {list(table.stride())}: must be contiguous"
        )

"""How the backward pass of a model is laid out: gradients of tables, or an optimizer's steps.

Source of the method: FBGEMM's table-batched embeddings. All look-ups of all features are sorted by
the row that they go to, so that a row's gradients lie side by side. Unlike there, long runs are
added up by a tree of fixed shape (``include/gnarl/row_gradients.cuh``), so that the order of
additions is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.layouts import output_layout
from gnarl.sw.compiler.cuda.optimizers import Optimizer
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

SEGMENT = 32
"""Entries that one team of lanes adds up: ``kSegment``."""

_VECTOR = 4


@dataclass(frozen=True)
class TableClass:
    """Tables that share code: fields are the template arguments of ``gnarl::TableClass``."""

    table_type: str
    vector: int
    lanes: int
    chunks: int


@dataclass(frozen=True, eq=False)
class BackwardProgram:
    """What backward kernels are generated from.

    table_of_feature
        for each feature its table's number; features may share a table.
    trained
        for each table whether it has gradients.
    index_type
        of indices and offsets: ``int32`` or ``int64``, whatever the model's.
    optimizer
        whose steps are taken; ``None``: gradients are stored.
    unpooled
        whether each look-up is an output of its own; gradients are then [values, dim].
    """

    model: EmbeddingModel
    table_of_feature: tuple[int, ...]
    trained: tuple[bool, ...]
    index_type: str = "int64"
    optimizer: Optimizer | None = None
    unpooled: bool = False

    @cached_property
    def widths(self) -> list[int]:
        """Columns of gradients for each type of outputs; the types' lie side by side. Several are
        copied together, so that they may as well be aligned."""
        widths = list(output_layout(self.model).widths.values())
        return widths if len(widths) == 1 else [_aligned(width) for width in widths]

    @property
    def width(self) -> int:
        """Columns of the gradients of all outputs."""
        return sum(self.widths)

    @cached_property
    def columns(self) -> list[int]:
        """For each feature its first column of gradients."""
        layout = output_layout(self.model)
        begins = dict(zip(layout.widths, accumulate(self.widths, initial=0), strict=False))
        return [
            begins[type] + column for type, column in zip(layout.types, layout.columns, strict=True)
        ]

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the trained tables in the order of keys: those of a class side by side."""
        return [table for tables in self.tables_of_class.values() for table in tables]

    @cached_property
    def first_keys(self) -> list[int]:
        """The first key of each table of ``order``, and where keys end."""
        return list(
            accumulate((self.feature_of_table[table].rows for table in self.order), initial=0)
        )

    @property
    def key_type(self) -> str:
        """``int32`` or ``int64``, whichever suffices."""
        return "int32" if self.first_keys[-1] < 2**31 - 1 else "int64"

    @property
    def has_maxima(self) -> bool:
        """Whether a trained table is looked up by maximum."""
        return any(
            feature.pooling == "max" and self.trained[table]
            for feature, table in zip(self.model.features, self.table_of_feature, strict=True)
        )

    @property
    def stride(self) -> int:
        """Elements from one slot to the next: a row of any table fits."""
        return _aligned(max(self.feature_of_table[table].dim for table in self.order))

    def slot_counts(self, values: int) -> list[int]:
        """Slots that the sums of so many values, and then those of the slots before, fill."""
        counts = []
        while (segments := -(-values // SEGMENT)) > 1:
            values = 2 * segments
            counts.append(values)
        return counts

    @cached_property
    def feature_of_table(self) -> dict[int, Feature]:
        """A feature of each table."""
        return dict(zip(self.table_of_feature, self.model.features, strict=True))

    @cached_property
    def tables_of_class(self) -> dict[TableClass, list[int]]:
        """The trained tables that features look up."""
        vectors = {table: _VECTOR for table in self.feature_of_table if self.trained[table]}
        for table, column in zip(self.table_of_feature, self.columns, strict=True):
            if table in vectors:
                dim = self.feature_of_table[table].dim
                vectors[table] = math.gcd(vectors[table], column, self.width, dim)
        tables: dict[TableClass, list[int]] = {}
        for table, vector in vectors.items():
            feature = self.feature_of_table[table]
            words = feature.dim // vector
            lanes = min(WARP_THREADS, 1 << (words - 1).bit_length())
            own = TableClass(feature.table_type, vector, lanes, -(-words // lanes))
            tables.setdefault(own, []).append(table)
        return tables


def _aligned(columns: int) -> int:
    return -(-columns // _VECTOR) * _VECTOR

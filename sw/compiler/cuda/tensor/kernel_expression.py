"""An expression that a kernel is made for, and the sizes that it is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.model import TABLE_TYPES
from gnarl.sw.workloads.tensor.expression import Access, Statement, stored_indices
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True)
class KernelExpression:
    """A statement, as reports call it, as its text, and parsed.

    sizes
        of indices, at least of those that the kernel is made for.
    format
        of all tensors, a name of ``TABLE_TYPES``.
    """

    name: str
    text: str
    statement: Statement
    sizes: Mapping[str, int]
    format: str

    def stored_indices(self, access: Access) -> tuple[str, ...]:
        """Outermost first."""
        return stored_indices(access, self.statement.formats[access.tensor])

    def require_size(self, access: Access, index: str, most: int) -> int:
        """The size of an index of ``access``. Raises ``WorkloadError`` where it is not known, 0,
        or more than ``most``."""
        if index not in self.sizes:
            raise WorkloadError(
                f"expression, column {access.column}: the size of index {index} is not known, and "
                f"the kernel is made for it: --tensor {access.tensor}=PATH gives it"
            )
        size = self.sizes[index]
        if not 1 <= size <= most:
            raise WorkloadError(
                f"expression, column {access.column}: index {index} of {access} has size {size:,}: "
                f"must be from 1 to {most:,}"
            )
        return size

    def rows(self, access: Access, tensor: Tensor) -> np.ndarray:
        """A dense tensor as it is stored: [outer, inner], of the format's type, aligned to 16
        bytes; [outer, 1] for vectors. Values must be those of the format."""
        stored = tensor.to_dense().transpose(self.statement.formats[access.tensor].modes)
        rows = stored if stored.ndim == 2 else stored[:, np.newaxis]
        return rows.astype(TABLE_TYPES[self.format], order="C")

    def coordinates(self, access: Access, tensor: Tensor) -> np.ndarray:
        """Coordinates of a matrix's entries, as its levels have them: int64 [entries, 2]."""
        modes = self.statement.formats[access.tensor].modes
        return tensor.coordinates[:, list(modes)]

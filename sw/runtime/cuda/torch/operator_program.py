"""A compiled model as text: the PyTorch operator's argument.

Operators take tensors, numbers and text. The text holds all that the fused kernel is generated
from, so that a graph with the operator in it also runs in a process that never saw the module.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

from gnarl.hw.lib.errors import GnarlError, ProgramError, damaged_as
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.demands import Bounds
from gnarl.sw.compiler.cuda.optimizers import Optimizer, optimizer_fields, optimizer_of
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.program.unique_keys import unique_keys
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, FeatureKind, PoolingFactors


@dataclass(frozen=True)
class OperatorProgram:
    """A model, its schedules, and how the operator runs them.

    table_of_feature
        for each feature its table's number; features may share a table.
    checked
        whether every input is checked before it is used.
    emulated
        whether tensors of the CPU go through the emulation of a GPU.
    optimizer
        whose steps the backward pass takes, if any.
    sparse
        numbers of the tables whose gradients are sparse.
    unpooled
        whether each look-up is an output of its own: offsets are then [features + 1], of a batch
        of 1, and there is one output, float32 [values, dim].
    """

    model: EmbeddingModel
    schedules: ScheduleSet
    table_of_feature: tuple[int, ...]
    checked: bool = False
    emulated: bool = False
    optimizer: Optimizer | None = None
    sparse: tuple[int, ...] = ()
    unpooled: bool = False

    @cached_property
    def program(self) -> EmbeddingProgram:
        return build_program(self.model, self.schedules)

    @cached_property
    def features_by_type(self) -> dict[str, list[int]]:
        """Numbers of the features whose outputs are of each type, as buffers have them."""
        found: dict[str, list[int]] = {}
        for number, feature in enumerate(self.model.features):
            found.setdefault(feature.output_type, []).append(number)
        return found

    def bounds(self, batch: int) -> Bounds:
        """The most that a batch of so many samples can want."""
        if batch not in self._bounds:
            self._bounds[batch] = Bounds.of(self.program.demands, batch)
        return self._bounds[batch]

    @cached_property
    def _bounds(self) -> dict[int, Bounds]:
        return {}

    @cached_property
    def first_weighted(self) -> str | None:
        """The name of a feature that has weights."""
        return next((feature.name for feature in self.model.features if feature.weighted), None)

    @cached_property
    def handle(self) -> str:
        """Short for ``text``, in this process alone."""
        handle = f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"
        _KNOWN[handle] = self
        return handle

    @cached_property
    def text(self) -> str:
        """JSON, short where features are alike."""
        kinds: dict[FeatureKind, int] = {}
        factors: dict[PoolingFactors, int] = {}
        features = [
            [
                feature.name,
                feature.rows,
                kinds.setdefault(feature.kind, len(kinds)),
                factors.setdefault(feature.factors, len(factors)),
                table,
            ]
            for feature, table in zip(self.model.features, self.table_of_feature, strict=True)
        ]
        fields = {
            "name": self.model.name,
            "kinds": [_kind_fields(kind) for kind in kinds],
            "factors": [asdict(each) for each in factors],
            "index_type": self.model.features[0].index_type,
            "features": features,
            "schedules": json.loads(schedule_file.to_text(self.schedules)),
            "checked": self.checked,
            "emulated": self.emulated,
            "optimizer": optimizer_fields(self.optimizer),
            **({"sparse": self.sparse} if self.sparse else {}),
            **({"unpooled": True} if self.unpooled else {}),
        }
        return json.dumps(fields, separators=(",", ":"))


def _kind_fields(kind: FeatureKind) -> dict[str, Any]:
    """Without ``pruned`` where it is not."""
    found = asdict(kind)
    return found if kind.pruned else {name: found[name] for name in found if name != "pruned"}


_PLACE = "text of an embedding operator"
_KNOWN: dict[str, OperatorProgram] = {}
"""Programs by handle."""


@lru_cache(maxsize=256)
def operator_program(text: str) -> OperatorProgram:
    """The program of a text or handle; equal ones give the same object.

    Raises ``ProgramError`` for any other.
    """
    if text in _KNOWN:
        return _KNOWN[text]
    try:
        with damaged_as(ProgramError, _PLACE):
            return _parsed(json.loads(text, object_pairs_hook=unique_keys))
    except ProgramError:
        raise
    except GnarlError as error:
        raise ProgramError(str(error)) from error


def _parsed(fields: dict[str, Any]) -> OperatorProgram:
    kinds, schedules = fields["kinds"], fields["schedules"]
    factors = [PoolingFactors(**each) for each in fields["factors"]]
    features = tuple(
        Feature(
            name=name,
            rows=rows,
            index_type=fields["index_type"],
            factors=factors[known],
            **kinds[kind],
        )
        for name, rows, kind, known, _ in fields["features"]
    )
    tables = tuple(table for *_, table in fields["features"])
    for feature, table in zip(features, tables, strict=True):
        if type(table) is not int or table < 0:
            raise ProgramError(
                f"{_PLACE}: feature {feature.name}: table = {table!r}: must be a whole number"
            )
    model = EmbeddingModel(fields["name"], features)
    config = CudaConfig(arch=schedules["arch"], block_threads=schedules["block_threads"])
    return OperatorProgram(
        model,
        schedule_file.from_text(json.dumps(schedules), model, config, _PLACE),
        tables,
        fields["checked"],
        fields["emulated"],
        optimizer_of(fields["optimizer"]),
        tuple(fields.get("sparse", ())),
        bool(fields.get("unpooled", False)),
    )

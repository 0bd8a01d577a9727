"""A compiled model as text: the PyTorch operator's argument.

Operators take tensors, numbers and text. The text holds all that the fused kernel is generated
from, so that a graph with the operator in it also runs in a process that never saw the module.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, damaged_as
from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.program import EmbeddingProgram, build_program
from sw.compiler.cuda.schedule import ScheduleSet
from sw.workloads.embedding.model import EmbeddingModel, Feature, FeatureKind


@dataclass(frozen=True)
class OperatorProgram:
    """A model, its schedules, and how the operator runs them.

    table_of_feature
        for each feature its table's number; features may share a table.
    checked
        whether every input is checked before it is used.
    emulated
        whether tensors of the CPU go through the emulation of a GPU.
    """

    model: EmbeddingModel
    schedules: ScheduleSet
    table_of_feature: tuple[int, ...]
    checked: bool = False
    emulated: bool = False

    @cached_property
    def program(self) -> EmbeddingProgram:
        return build_program(self.model, self.schedules)

    @cached_property
    def table_numbers(self) -> np.ndarray:
        """``table_of_feature``, int [features]."""
        return np.array(self.table_of_feature)

    @cached_property
    def weighted(self) -> np.ndarray:
        """Whether each feature is, bool [features]."""
        return np.array([feature.weighted for feature in self.model.features])

    @cached_property
    def text(self) -> str:
        """JSON, short where features are alike; without the features' pooling factors."""
        kinds: dict[FeatureKind, int] = {}
        features = [
            [feature.name, feature.rows, kinds.setdefault(feature.kind, len(kinds)), table]
            for feature, table in zip(self.model.features, self.table_of_feature, strict=True)
        ]
        fields = {
            "name": self.model.name,
            "kinds": [asdict(kind) for kind in kinds],
            "features": features,
            "schedules": json.loads(schedule_file.to_text(self.schedules)),
            "checked": self.checked,
            "emulated": self.emulated,
        }
        return json.dumps(fields, separators=(",", ":"))


_PLACE = "text of an embedding operator"


@lru_cache(maxsize=256)
def operator_program(text: str) -> OperatorProgram:
    """From its text; equal texts give the same object. Raises ``ProgramError`` for any other."""
    try:
        with damaged_as(ProgramError, _PLACE):
            return _parsed(json.loads(text))
    except ProgramError:
        raise
    except GnarlError as error:
        raise ProgramError(str(error)) from error


def _parsed(fields: dict[str, Any]) -> OperatorProgram:
    kinds, schedules = fields["kinds"], fields["schedules"]
    features = tuple(
        Feature(name=name, rows=rows, **kinds[kind]) for name, rows, kind, _ in fields["features"]
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
    )

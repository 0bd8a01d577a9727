"""A compiled model as text: the PyTorch operator's argument.

Operators take tensors, numbers and text. The text holds all that the fused kernel is generated
from, so that a graph with the operator in it also runs in a process that never saw the module.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache

import numpy as np

from hw.lib.errors import ProgramError, damaged_as
from sw.compiler.cuda.program import EmbeddingProgram, build_program
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
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
        schedules = asdict(self.schedules)
        schedules["schedules"] = [
            [schedule.template, schedule.parameters] for schedule in self.schedules.schedules
        ]
        fields = {
            "name": self.model.name,
            "kinds": [asdict(kind) for kind in kinds],
            "features": features,
            "schedules": schedules,
            "checked": self.checked,
            "emulated": self.emulated,
        }
        return json.dumps(fields, separators=(",", ":"))


@lru_cache(maxsize=256)
def operator_program(text: str) -> OperatorProgram:
    """From its text; equal texts give the same object. Raises ``ProgramError`` for any other."""
    with damaged_as(ProgramError, "text of an embedding operator"):
        fields = json.loads(text)
        kinds = fields["kinds"]
        features = tuple(
            Feature(name=name, rows=rows, **kinds[kind])
            for name, rows, kind, _ in fields["features"]
        )
        given = dict(fields["schedules"])
        given["schedules"] = tuple(
            Schedule(template, tuple((name, value) for name, value in parameters))
            for template, parameters in given["schedules"]
        )
        given["of_feature"] = tuple(given["of_feature"])
        return OperatorProgram(
            EmbeddingModel(fields["name"], features),
            ScheduleSet(**given),
            tuple(table for *_, table in fields["features"]),
            fields["checked"],
            fields["emulated"],
        )

"""What the arguments of a module of embedding bags stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig, require_cuda
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import InputLayout
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import EmbeddingModel


def cuda_settings(config: CudaConfig | str) -> CudaConfig:
    """Raises ``ConfigError`` for those of another target."""
    found = load_configuration(config).config if isinstance(config, str) else config
    return require_cuda(str(config), found)


def schedules_for(
    given: ScheduleSet | str | Path | None, model: EmbeddingModel, config: CudaConfig
) -> ScheduleSet:
    """The schedules that are given, or the cost model's."""
    if given is None:
        return choose_schedules(model, config)
    if isinstance(given, ScheduleSet):
        return schedule_file.from_text(schedule_file.to_text(given), model, config, "schedules")
    return schedule_file.load(given, model, config)


def input_layout(
    model: EmbeddingModel, key_of: Mapping[str, str], include_last_offset: bool
) -> InputLayout:
    """What the features expect. Raises ``WorkloadError`` where index types differ."""
    features = model.features
    for feature in features:
        if feature.index_type != features[0].index_type:
            raise WorkloadError(
                f"feature {feature.name}: index_type = {feature.index_type!r}: must be "
                f"{features[0].index_type!r}, as of {features[0].name}"
            )
    return InputLayout(
        tuple(feature.name for feature in features),
        tuple(key_of.get(feature.name, feature.name) for feature in features),
        tuple(feature.weighted for feature in features),
        TORCH_TYPES[features[0].index_type],
        include_last_offset,
    )


def named_tables(
    tables: Sequence[torch.Tensor] | Mapping[str, torch.Tensor] | torch.nn.ParameterDict,
    features: Sequence[str],
    table_of: Mapping[str, str] | None,
) -> tuple[Mapping[str, torch.Tensor], list[str]]:
    """The tables by name, a number where they are a sequence, and the table of each feature."""
    if isinstance(tables, torch.nn.ParameterDict):
        tables = dict(tables.items())
    if not isinstance(tables, Mapping):
        if table_of is None and len(tables) != len(features):
            raise WorkloadError(
                f"tables: there are {len(tables)}: must be {len(features)}, one for each feature"
            )
        table_of = table_of or {name: str(number) for number, name in enumerate(features)}
        tables = {str(number): table for number, table in enumerate(tables)}
    return tables, [(table_of or {}).get(name, name) for name in features]

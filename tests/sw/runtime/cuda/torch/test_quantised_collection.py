"""The module in place of TorchRec's quantised collection, with objects that do as its."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    BagConfig,
    JaggedInputs,
    PoolingType,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

BAGS = {"x": [[1, 4, 4], [], [3]], "y": [[], [2, 0], [5]], "z": [[4], [4, 1, 0, 2], []]}
ROWS, DIM = 6, 12


class DataType(Enum):
    INT8 = "INT8"
    INT4 = "INT4"
    INT2 = "INT2"


@dataclass
class QuantisedConfig(BagConfig):
    data_type: DataType = DataType.INT8


class Wrapped:
    """Does as TorchRec's ``UInt4Tensor``."""

    def __init__(self, elem: torch.Tensor) -> None:
        self.elem = elem


class QuantisedCollection(torch.nn.Module):
    """Does as ``torchrec.quant.EmbeddingBagCollection``. ``elements``: of the tables, by name."""

    def __init__(
        self, configs: list[QuantisedConfig], split: bool = False, output: Any = torch.float32
    ) -> None:
        super().__init__()
        self._configs, self._output = configs, output
        self._emb_modules: list[Any] = []
        self.embedding_bags = torch.nn.ModuleDict()
        self.elements: dict[str, torch.Tensor] = {}
        random = np.random.default_rng(0)
        for config in configs:
            bits = int(config.data_type.value[3:])
            codes = random.integers(0, 1 << bits, (ROWS, DIM), np.uint8)
            scale = random.integers(1, 9, (ROWS, 1)).astype(np.float16) / 8
            bias = random.integers(-9, 9, (ROWS, 1)).astype(np.float16) / 4
            self.elements[config.name] = torch.from_numpy(scale * codes.astype(float) + bias)
            packed = sum(codes[:, at :: 8 // bits] << (at * bits) for at in range(8 // bits))
            bag = self.embedding_bags[config.name] = torch.nn.Module()
            weight = torch.from_numpy(packed)
            if split:
                bag.register_buffer("weight_qscale", torch.from_numpy(scale))
                bag.register_buffer("weight_qbias", torch.from_numpy(bias))
            else:
                parts = np.concatenate([scale, bias], axis=1).view(np.uint8)
                weight = torch.cat([torch.from_numpy(parts), weight], dim=1)
                weight = torch.nn.functional.pad(weight, (0, -weight.shape[1] % 16), value=7)
            bag.weight = Wrapped(weight) if bits < 8 else weight

    def embedding_bag_configs(self) -> list[QuantisedConfig]:
        return self._configs

    def is_weighted(self) -> bool:
        return False

    def output_dtype(self) -> Any:
        return self._output

    def pooled(self, config: QuantisedConfig, key: str) -> torch.Tensor:
        """Of ``BAGS``."""
        table = self.elements[config.name]
        means = config.pooling == PoolingType.MEAN
        sums = [table[bag].sum(0) / (len(bag) or 1 if means else 1) for bag in BAGS[key]]
        return torch.stack(sums)


CONFIGS = [
    QuantisedConfig("t", ROWS, DIM, ["x"]),
    QuantisedConfig("u", ROWS, DIM, ["y", "x"], PoolingType.MEAN, DataType.INT4),
    QuantisedConfig("v", ROWS, DIM, ["z"], data_type=DataType.INT4),
]


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_outputs_are_those_of_the_rows_elements(split: bool, emulated: bool) -> None:
    collection = QuantisedCollection(CONFIGS, split)
    module = fused_collection(collection, emulated=emulated)
    found = module(JaggedInputs.of(BAGS))
    # Tables of one pooling are side by side.
    assert found.keys() == ["x@t", "z", "y", "x@u"]
    t, u, v = CONFIGS
    wanted = [(t, "x"), (v, "z"), (u, "y"), (u, "x")]
    pooled = torch.cat([collection.pooled(*each) for each in wanted], dim=1)
    torch.testing.assert_close(found.values(), pooled.float(), rtol=1e-6, atol=1e-6)
    assert not any(table.requires_grad for table in module.parameters())


def test_outputs_are_of_the_collections_type() -> None:
    collection = QuantisedCollection(CONFIGS[:1], output=torch.float16)
    assert fused_collection(collection)(JaggedInputs.of(BAGS)).values().dtype == torch.float16


def test_what_is_laid_out_otherwise_is_refused() -> None:
    def refusal(collection: QuantisedCollection) -> None:
        FusedEmbeddingBags.from_embedding_bag_collection(collection)

    few = [QuantisedConfig("t", ROWS, DIM, ["x"], data_type=DataType.INT2)]
    with refused("table t: data_type INT2 of a quantised collection: must be one of INT8, INT4"):
        refusal(QuantisedCollection(few))
    collection = QuantisedCollection(CONFIGS[:1])
    collection.embedding_bags["t"].weight = torch.zeros(ROWS, 13, dtype=torch.uint8)
    with refused(
        "table t: is [6, 13]: must have rows of 12 bytes of codes, and scales and biases of float16"
    ):
        refusal(collection)
    collection = QuantisedCollection(CONFIGS)
    collection._emb_modules = [type("Module", (), {"reverse_qparam": True})()]
    with refused("collection: has scales behind codes: must have them before"):
        refusal(collection)
    remapped = {"index_remappings_array": torch.zeros(3)}
    collection._emb_modules = [type("Module", (), remapped)()]
    with refused(
        "collection: remaps indices of pruned tables: must not, values = remapping[values] does so "
        "before the call"
    ):
        refusal(collection)

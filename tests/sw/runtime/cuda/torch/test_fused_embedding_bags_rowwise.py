"""Tables of quantised rows in the PyTorch module: for inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.golden.embedding import embedding_bags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables  # noqa: E402
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, quantise  # noqa: E402
from tests.support.cuda.torch_embedding import from_array, fused, inputs_of  # noqa: E402
from tests.support.errors import refused  # noqa: E402

MODEL = EmbeddingModel(
    "quantised",
    tuple(
        Feature(
            f"{type} {pooling}",
            30,
            8,
            pooling,
            type,
            output,
            weighted=weighted,
            factors=PoolingFactors(mean=9, std=5, coverage=0.8),
        )
        for type in ROWWISE_FORMATS
        for pooling, output, weighted in (
            ("sum", "float32", False),
            ("mean", "float16", True),
            ("max", "bfloat16", False),
        )
    ),
)


@pytest.mark.parametrize("emulated", [False, True])
def test_outputs_are_the_golden_models_bits(emulated: bool) -> None:
    tables, batch = synthesise_tables(MODEL), synthesise_batch(MODEL, 37)
    values, offsets, weights = inputs_of(MODEL, batch)
    module = fused([from_array(table) for table in tables], MODEL.features, emulated=emulated)
    outputs = module(values, offsets, weights=weights)
    for golden, output in zip(embedding_bags(MODEL, tables, batch), outputs.values(), strict=True):
        np.testing.assert_array_equal(to_array(output).astype(float), golden.astype(float))


def one(**fields: Any) -> tuple[FusedEmbeddingBags, torch.Tensor]:
    """With int8 rows of 0 to 3, and the table in float32."""
    table = torch.arange(4.0)[:, None].expand(4, 2)
    rows = torch.from_numpy(quantise(table.numpy(), "int8_rowwise"))
    feature = Feature("f", 4, 2, table_type="int8_rowwise", **fields)
    return fused([rows], [feature]), table


def test_states_have_the_rows() -> None:
    module, table = one()
    state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    assert [tensor.dtype for tensor in state.values()] == [torch.uint8]
    module.half()  # leaves whole numbers as they are
    other, _ = one()
    other.embedding_bags["0"].weight.data.zero_()
    other.load_state_dict(state)
    found = other({"f": torch.tensor([[3], [1]])})["f"]
    assert torch.equal(found, table[[3, 1]])


def test_tables_beside_them_have_gradients() -> None:
    module, _ = one()
    plain = torch.nn.Parameter(torch.ones(4, 2))
    rows = module.embedding_bags["0"].weight
    both = fused([rows, plain], [*module.model.features, Feature("g", 4, 2)])
    outputs = both({name: torch.tensor([[2, 2]]) for name in "fg"})
    (outputs["f"] + outputs["g"]).sum().backward()
    assert plain.grad is not None
    assert plain.grad.tolist() == [[0, 0], [0, 0], [2, 2], [0, 0]]
    assert rows.grad is None


def test_gradients_of_their_weights_are_refused() -> None:
    module, _ = one(weighted=True)
    values, weights = {"f": torch.tensor([[1, 2]])}, torch.ones(1, 2)
    assert module(values, weights={"f": weights})["f"].tolist() == [[3.0, 3.0]]
    with refused(
        "feature f: weights require gradients: not supported with int8_rowwise tables, which are "
        "for inference"
    ):
        module(values, weights={"f": weights.requires_grad_()})


def test_tables_that_are_not_such_rows() -> None:
    feature = Feature("f", 4, 2, table_type="int4_rowwise")
    with refused("feature f: table is [4, 2]: must be [rows, row bytes] = [4, 16]"):
        fused([torch.ones(4, 2)], [feature])
    with refused("feature f: table is float32: must be uint8"):
        fused([torch.ones(4, 16)], [feature])

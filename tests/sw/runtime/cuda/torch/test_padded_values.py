"""Values past the last offset, which inputs of a captured graph have when a batch has fewer."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import fused  # noqa: E402


@pytest.mark.parametrize("optimizer", [None, SGD(lr=0.5)])
def test_they_are_of_no_row(optimizer: SGD | None) -> None:
    def trained(values: list[int], weights: list[float]) -> list[torch.Tensor]:
        tables = [torch.nn.Parameter(torch.arange(40.0).view(10, 4))]
        features = [Feature("f", 10, 4, weighted=True)]
        module = fused(tables, features, emulated=True, optimizer=optimizer)
        given = torch.tensor(weights, requires_grad=True)
        offsets = torch.tensor([0, 1, 3])
        (pooled,) = module._lookup(PackedInputs(torch.tensor(values), offsets, given))
        pooled.sum().backward()
        table = tables[0]
        return [pooled.detach(), table.detach(), table.grad, given.grad[:3]]

    right = trained([3, 3, 9], [1.0, 2.0, 0.5])
    found = trained([3, 3, 9, 7, 7, 2**40], [1.0, 2.0, 0.5, 8.0, 8.0, 8.0])
    for one, other in zip(found, right, strict=True):
        assert one is other or torch.equal(one, other)

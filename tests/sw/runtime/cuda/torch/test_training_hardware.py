"""Optimizers in the backward pass on a GPU, against the emulation. Skipped where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.gpu.gpus import gpus
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

torch = pytest.importorskip("torch", reason="needs gnarl[torch]")

from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from tests.support.cuda.torch_embedding import from_array, inputs_of, schedules_of  # noqa: E402

FOUND = gpus()
ARCH = FOUND[0].kernel_arch if FOUND else None
pytestmark = pytest.mark.skipif(
    ARCH is None or not torch.cuda.is_available(),
    reason="needs a GPU that kernels can be compiled for, and PyTorch with CUDA",
)
MANY = PoolingFactors(30, 20)
MODEL = EmbeddingModel(
    "hardware",
    (
        Feature("a", 300, 64, factors=MANY),
        Feature("b", 20, 12, "mean", "float16", weighted=True, factors=MANY),
        Feature("c", 50, 8, "max", "bfloat16", factors=MANY),
        Feature("d", 1, 128, factors=MANY),
    ),
)
OPTIMIZERS = (
    None,
    SGD(0.1),
    Adagrad(0.1),
    RowWiseAdagrad(0.1),
    Adam(0.1),
    PartialRowWiseAdam(0.1),
    Adam(0.1, weight_decay=0.1, weight_decay_mode="decoupled", stochastic_rounding=True, seed=5),
)


def module(optimizer: Optimizer | None) -> FusedEmbeddingBags:
    assert ARCH is not None
    schedules = replace(schedules_of(MODEL.features), arch=ARCH)
    tables = [torch.nn.Parameter(from_array(table)) for table in synthesise_tables(MODEL)]
    config = CudaConfig(arch=ARCH)
    return FusedEmbeddingBags(
        tables, MODEL.features, schedules, config=config, optimizer=optimizer, emulated=True
    )


def train(bags: FusedEmbeddingBags, device: str) -> None:
    given = inputs_of(MODEL, synthesise_batch(MODEL, 200, 1))
    values, offsets, weights = (
        {name: tensor.to(device) for name, tensor in each.items()} for each in given
    )
    bags.forward_concatenated(values, offsets, weights=weights).square().sum().backward()


def results(bags: FusedEmbeddingBags) -> list[torch.Tensor]:
    gradients = [each.grad for each in bags.parameters() if each.grad is not None]
    return [each.cpu() for each in [*bags.state_dict().values(), *gradients]]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda each: type(each).__name__)
def test_bits_are_those_of_the_emulation(optimizer: Optimizer | None) -> None:
    here, there = module(optimizer), module(optimizer).cuda()
    train(here, "cpu")
    train(there, "cuda")
    for one, other in zip(results(there), results(here), strict=True):
        assert torch.equal(one, other)


def test_a_step_in_a_cuda_graph() -> None:
    eager, captured = module(Adagrad(0.1)).cuda(), module(Adagrad(0.1)).cuda()
    given = inputs_of(MODEL, synthesise_batch(MODEL, 200, 1))
    values, offsets, weights = (
        {name: tensor.cuda() for name, tensor in each.items()} for each in given
    )

    def step(bags: FusedEmbeddingBags) -> None:
        bags.forward_concatenated(values, offsets, weights=weights).square().sum().backward()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step(captured)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(captured)
    graph.replay()
    for _ in range(2):
        step(eager)
    for one, other in zip(results(captured), results(eager), strict=True):
        assert torch.equal(one, other)

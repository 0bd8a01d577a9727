"""Outputs that are differentiated apart, embeddings that are not pooled and bounds checks on a GPU.
Skipped where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.optimizers import SGD, Adam, Optimizer, RowWiseAdagrad
from gnarl.sw.runtime.cuda.gpu.gpus import gpus
from gnarl.sw.workloads.embedding.model import Feature

torch = pytest.importorskip("torch", reason="needs gnarl[torch]")

from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embeddings import FusedEmbeddings  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, dyadic  # noqa: E402

FOUND = gpus()
ARCH = FOUND[0].kernel_arch if FOUND else None
pytestmark = pytest.mark.skipif(
    ARCH is None or not torch.cuda.is_available(),
    reason="needs a GPU that kernels can be compiled for, and PyTorch with CUDA",
)

FEATURES = (
    Feature("a", 300, 32),
    Feature("b", 40, 12, "max"),
    Feature("c", 9, 7, "mean", weighted=True),
)
SEQUENCES = tuple(
    Feature(name, rows, 20, table_type=type)
    for name, rows, type in (("a", 300, "float32"), ("b", 4, "float16"), ("c", 50, "bfloat16"))
)


def made(kind: Any, features: tuple[Feature, ...], **options: Any) -> Any:
    rng = np.random.default_rng(0)
    types = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
    tables = [
        torch.nn.Parameter(dyadic(rng, each.rows, each.dim).to(types[each.table_type]))
        for each in features
    ]
    assert ARCH is not None
    return kind(tables, features, config=CudaConfig(arch=ARCH), **options)


def batch(features: tuple[Feature, ...], size: int = 100, device: str = "cpu") -> JaggedInputs:
    rng = np.random.default_rng(size)
    bags = {
        each.name: [rng.integers(0, each.rows, rng.integers(0, 9)).tolist() for _ in range(size)]
        for each in features
    }
    plain = JaggedInputs.of(bags, weighted=True)
    assert plain.given_weights is not None
    return JaggedInputs(
        plain.names,
        plain.flat.to(device),
        plain.sizes.to(device),
        plain.given_weights.to(device),
    )


def by_key(jagged: JaggedInputs) -> tuple[dict[str, Any], dict[str, Any], None, dict[str, Any]]:
    """Arguments of ``forward``."""
    parts = {name: jagged.of_key(name) for name in jagged.names}
    return (
        {name: values for name, (values, _, _) in parts.items()},
        {name: offsets for name, (_, offsets, _) in parts.items()},
        None,
        {"c": parts["c"][2]},
    )


def test_outputs_one_after_the_other_and_in_place() -> None:
    gradients = []
    for device in ("cpu", "cuda"):
        module = made(FusedEmbeddingBags, FEATURES).to(device)
        outputs = module(*by_key(batch(FEATURES, device=device)))
        outputs["a"].mul_(2)
        for output in outputs.values():
            output.square().sum().backward()
        gradients.append([table.grad.cpu() for table in module.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("optimizer", [None, SGD(0.25), RowWiseAdagrad(0.25), Adam(0.25)])
def test_embeddings_that_are_not_pooled(optimizer: Optimizer | None) -> None:
    """Bits are those of the emulation."""
    results = []
    for device in ("cpu", "cuda"):
        module = made(FusedEmbeddings, SEQUENCES, optimizer=optimizer, emulated=True).to(device)
        found = module(batch(SEQUENCES, device=device))
        sum(each.values().square().sum() for each in found.values()).backward()
        gradients = [table.grad for table in module.parameters() if optimizer is None]
        states = module.state_dict().values()
        outputs = [each.values().detach() for each in found.values()]
        results.append([each.cpu() for each in [*outputs, *states, *gradients]])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_bounds_are_checked_without_waiting() -> None:
    module = made(FusedEmbeddingBags, FEATURES[:2], bounds_check_mode="warning").cuda()
    jagged = batch(FEATURES[:2], device="cuda")
    jagged.flat[::7] = 1 << 20
    repaired = JaggedInputs(jagged.names, jagged.flat.clone(), jagged.sizes)
    repaired.flat[::7] = 0
    expected = module(repaired).values()  # compiles the kernel
    assert module.bounds_check_warnings() == 0
    torch.cuda.set_sync_debug_mode("error")
    try:
        with torch.no_grad():
            found = module(jagged).values()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(found, expected)
    assert module.bounds_check_warnings() == len(jagged.flat[::7])


def test_bounds_are_checked_in_a_cuda_graph() -> None:
    module = made(FusedEmbeddingBags, FEATURES[:2], bounds_check_mode="warning").cuda()
    jagged = batch(FEATURES[:2], device="cuda")
    with torch.no_grad():
        expected = module(jagged).values().clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = module(jagged).values()
        jagged.flat[::7] = -5
        graph.replay()
        assert module.bounds_check_warnings() == len(jagged.flat[::7])
        assert not torch.equal(captured, expected)
        jagged.flat[::7] = 0
        assert torch.equal(module(jagged).values(), captured)


def test_a_fatal_check_finds_nothing_in_good_batches() -> None:
    module = made(FusedEmbeddingBags, FEATURES[:2], bounds_check_mode="fatal").cuda()
    jagged = batch(FEATURES[:2], device="cuda")
    with torch.no_grad():
        expected = module(jagged).values().clone()
    torch.cuda.synchronize()
    plain = made(FusedEmbeddingBags, FEATURES[:2]).cuda()
    assert torch.equal(plain(jagged).values(), expected)

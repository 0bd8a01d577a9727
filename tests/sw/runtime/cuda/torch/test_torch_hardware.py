"""The PyTorch module on a GPU, against itself on the CPU. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.runtime.cuda.gpu.gpus import gpus
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

torch = pytest.importorskip("torch", reason="needs gnarl[torch]")

from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    from_array,
    inputs_of,
    names_of,
    schedules_of,
)

FOUND = gpus()
ARCH = FOUND[0].kernel_arch if FOUND else None
pytestmark = pytest.mark.skipif(
    ARCH is None or not torch.cuda.is_available(),
    reason="needs a GPU that kernels can be compiled for, and PyTorch with CUDA",
)

MODEL = EmbeddingModel(
    "hardware",
    tuple(
        Feature(
            f"f{at}",
            300,
            dim,
            ("sum", "mean", "max")[at % 3],
            ("float32", "float16", "bfloat16")[at % 4 % 3],
            weighted=at % 3 == 0,
            factors=PoolingFactors(30, 20),
        )
        for at, dim in enumerate((4, 8, 16, 32, 64, 128, 3, 7, 32, 16, 4, 8))
    ),
)
"""More features than templates, each of which has one: some have workspaces."""

SIZES = (5, 300, 0, 64, 1, 700)


Make = Callable[[], FusedEmbeddingBags]


@pytest.fixture(params=["warps", "blocks"])
def module(request: pytest.FixtureRequest) -> Make:
    """Makes modules of which each of the templates with such workers has a feature."""
    assert ARCH is not None
    config = CudaConfig(arch=ARCH, workers=request.param)
    schedules = replace(schedules_of(MODEL.features, names_of(request.param)), arch=ARCH)

    def make() -> FusedEmbeddingBags:
        tables = [torch.nn.Parameter(from_array(table)) for table in synthesise_tables(MODEL)]
        return FusedEmbeddingBags(tables, MODEL.features, schedules, config=config)

    return make


def inputs(size: int) -> tuple[dict[str, torch.Tensor], ...]:
    return inputs_of(MODEL, synthesise_batch(MODEL, size, size))


def on_gpu(given: tuple[dict[str, torch.Tensor], ...]) -> tuple[dict[str, torch.Tensor], ...]:
    return tuple({name: tensor.cuda() for name, tensor in each.items()} for each in given)


def test_batches_of_all_sizes_in_streams_of_ones_own(module: Make) -> None:
    """Nobody waits in between: memory is lent out again while kernels use it, workspaces grow."""
    here, there = module(), module().cuda()
    given = {size: on_gpu(inputs(size)) for size in SIZES}
    torch.cuda.synchronize()
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    found = []
    for turn in range(4 * len(SIZES)):
        size = SIZES[turn % len(SIZES)]
        values, offsets, weights = given[size]
        with torch.cuda.stream(streams[turn % 5 % 2]):
            found.append((size, there(values, offsets, weights=weights)))
    torch.cuda.synchronize()
    for size, outputs in found:
        values, offsets, weights = inputs(size)
        for name, expected in here(values, offsets, weights=weights).items():
            assert torch.equal(outputs[name].cpu(), expected), f"{name}, batch {size}"


def test_gradients_are_those_of_the_cpu(module: Make) -> None:
    here, there = module(), module().cuda()
    for bags, (values, offsets, weights) in ((here, inputs(64)), (there, on_gpu(inputs(64)))):
        pooled = bags(values, offsets, weights=weights).values()
        sum(each.float().square().sum() for each in pooled).backward()
    for one, other in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(other.grad.cpu(), one.grad)


def test_a_compiled_module(module: Make) -> None:
    there = module().cuda()
    compiled = torch.compile(there, dynamic=True, backend="aot_eager")
    for size in (5, 64):
        values, offsets, weights = on_gpu(inputs(size))
        expected = there(values, offsets, weights=weights)
        for name, pooled in compiled(values, offsets, weights=weights).items():
            assert torch.equal(pooled, expected[name])


def test_lookups_without_gradients_are_those_with(module: Make) -> None:
    """They go by the tables' addresses."""
    there = module().cuda()
    for size in SIZES:
        values, offsets, weights = on_gpu(inputs(size))
        expected = there(values, offsets, weights=weights)
        with torch.no_grad():
            found = there(values, offsets, weights=weights)
        assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("gradients", [True, False])
def test_lookups_are_captured_in_a_graph_that_looks_up_what_its_inputs_hold(
    module: Make, gradients: bool
) -> None:
    """Batches of equal size, with other bags each."""
    there = module().cuda()
    batches = [on_gpu(inputs_of(MODEL, synthesise_batch(MODEL, 64, seed))) for seed in range(4)]
    packed = [there._pack(values, offsets, None, weights) for values, offsets, weights in batches]
    most = max(len(each.values) for each in packed)
    static = there._pack(*batches[0][:2], None, batches[0][2])
    values = static.values.new_zeros(most)
    assert static.weights is not None
    static = replace(static, values=values, weights=static.weights.new_zeros(most))
    with torch.set_grad_enabled(gradients):
        there._lookup(static)  # compiles the kernel
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = there._lookup(static)
        for each in [*packed, packed[0]]:
            static.values[: len(each.values)] = each.values
            static.weights[: len(each.values)] = each.weights
            static.offsets.copy_(each.offsets)
            graph.replay()
            for found, expected in zip(captured, there._lookup(each), strict=True):
                assert torch.equal(found, expected)


def test_a_module_that_is_compiled_for_little_overhead(module: Make) -> None:
    there = module().cuda().requires_grad_(False)
    compiled = torch.compile(there, mode="reduce-overhead")
    for size in (64, 64, 64, 300, 300):
        values, offsets, weights = on_gpu(inputs(size))
        expected = there(values, offsets, weights=weights)
        for name, pooled in compiled(values, offsets, weights=weights).items():
            assert torch.equal(pooled, expected[name])

"""Backward passes on a GPU that the host stands in for: what kernels are given, and that the host
looks at no tensor.

Kernels that are launched are the emulated ones, on the addresses that a GPU would be given.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from gnarl.sw.compiler.cuda.backward import BackwardProgram  # noqa: E402
from gnarl.sw.compiler.cuda.backward_kernels import (  # noqa: E402
    FIND_FIRST_MAXIMA,
    FIND_GRADIENTS,
    FIND_KEYS,
    FIND_WEIGHT_GRADIENTS,
    PARAMETERS,
    SUM_LOOKUPS,
    SUM_SLOTS,
    backward_source,
)
from gnarl.sw.compiler.cuda.optimizers import Adagrad  # noqa: E402
from gnarl.sw.compiler.cuda.templates.template import INCLUDE  # noqa: E402
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray  # noqa: E402
from gnarl.sw.runtime.cuda.torch import backward_launch, gradients  # noqa: E402
from gnarl.sw.runtime.cuda.torch.backward import (  # noqa: E402
    Arguments,
    BackwardInputs,
    Launch,
    TrainedTables,
    train_tables,
    weights_gradient,
)
from gnarl.sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from gnarl.sw.runtime.cuda.torch.kept import kept_addresses  # noqa: E402
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature  # noqa: E402
from tests.support.cuda.backward_kernels import by_kernels, example  # noqa: E402
from tests.support.errors import refused  # noqa: E402

STREAM = 7
FEATURES = (Feature("a", 6, 4), Feature("b", 5, 8, "max"), Feature("c", 4, 8, weighted=True))
OPTIMIZER = Adagrad(0.5)


class Module:
    """In place of ``LoadedModule``: launches in the emulation, on given addresses."""

    def __init__(self, program: BackwardProgram) -> None:
        self.kernels = EmulatedKernels(backward_source(program), [INCLUDE])
        self.reached: list[torch.Tensor] = []

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[np.integer], stream: int
    ) -> None:
        assert stream == STREAM
        memory = [GlobalArray("reached", to_array(each), True) for each in self.reached]
        self.kernels.launch(kernel, grid, block, arguments, memory)


def test_a_gpu_is_given_all_that_the_kernels_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    one = example(FEATURES, [[3, 0, 40], [2, 2, 30], [1, 9, 9]])
    modules: list[Module] = []

    def loaded(program: BackwardProgram, arch: str, device: int) -> Module:
        assert (arch, device) == ("sm_90", 1)
        modules.append(Module(program))
        return modules[-1]

    def on_gpu(program: BackwardProgram, memory: Sequence[torch.Tensor]) -> Launch:
        launch = backward_launch.on_gpu(program, "sm_90", 1)

        def launch_and_reach(kernel: str, blocks: int, arguments: Arguments) -> None:
            assert list(arguments) == list(PARAMETERS[kernel])
            given = [each for each in arguments.values() if isinstance(each, torch.Tensor)]
            modules[-1].reached = [*memory, *given]
            launch(kernel, blocks, arguments)

        return launch_and_reach

    right = by_kernels(one, OPTIMIZER)
    stream = SimpleNamespace(cuda_stream=STREAM)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(backward_launch, "_loaded", loaded)
    monkeypatch.setattr("tests.support.cuda.backward_kernels.emulated", on_gpu)
    found = by_kernels(one, OPTIMIZER)
    for name in ("tables", "states", "weights"):
        for ours, theirs in zip(getattr(found, name), getattr(right, name), strict=True):
            assert torch.equal(ours, theirs)


def test_new_addresses_are_not_captured_in_cuda_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with refused(
        "input: dense gradients, which are at new addresses each time, cannot be captured in a "
        "CUDA graph: must be an optimizer's"
    ):
        gradients._new_addresses((16,), torch.device("cuda", 0))
    with refused(
        "input: tensors at new addresses cannot be captured in a CUDA graph: must be those of a "
        "call before, outside the graph"
    ):
        kept_addresses((16,), torch.device("cuda", 0))


def test_the_host_looks_at_no_tensor() -> None:
    """Fake tensors hold nothing that could be looked at."""
    features, batch, values = len(FEATURES), 20, 3000
    model = EmbeddingModel("m", FEATURES)
    program = BackwardProgram(model, (0, 1, 2), (True,) * 3, "int64", OPTIMIZER)
    launched: list[str] = []

    def launch(kernel: str, blocks: int, arguments: Arguments) -> None:
        assert blocks > 0
        assert list(arguments) == list(PARAMETERS[kernel])
        launched.append(kernel)

    with FakeTensorMode():
        addresses = torch.empty(features, dtype=torch.int64)
        inputs = BackwardInputs(
            torch.empty(values, dtype=torch.int64),
            torch.empty(features * batch + 1, dtype=torch.int64),
            torch.empty(values),
            torch.empty(batch, program.width),
            addresses,
        )
        weights_gradient(launch, inputs)
        train_tables(program, launch, inputs, TrainedTables(addresses, addresses, torch.empty(())))
    lookups = [FIND_WEIGHT_GRADIENTS, FIND_FIRST_MAXIMA, FIND_KEYS, FIND_GRADIENTS]
    assert launched == [*lookups, SUM_LOOKUPS, SUM_SLOTS, SUM_SLOTS]

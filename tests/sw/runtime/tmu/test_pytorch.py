"""PyTorch modules on the TMU, end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.tmu.compile import LEVELS
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import bag, compressed_rows, module, whole
from tests.support.nests.random_modules import random_module

INDICES = torch.tensor([3, 0, 3, 9, 1])
OFFSETS = torch.tensor([0, 2, 2])
SPARSE = compressed_rows(torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]]))


def bags(self, indices, offsets):
    return torch.relu(self.bag(indices, offsets)) * 2


def product(self, a, x):
    return torch.sparse.mm(a, x)


def scattered(self, i, x, j):
    return torch.zeros(5, 4).index_add(0, i, x[j])


@pytest.mark.parametrize(
    "made, inputs, opt",
    [
        (module(bags, bag=bag("mean")), (INDICES, OFFSETS), 4),
        (module(product), (SPARSE, whole(4, 6)), 0),
        pytest.param(
            module(scattered), (INDICES % 5, whole(10, 4), INDICES), 4, marks=pytest.mark.slow
        ),
    ],
)
def test_modules(made: torch.nn.Module, inputs: tuple[torch.Tensor, ...], opt: int) -> None:
    with Device("tmu_l2", "model") as device:
        workload = device.target.reader.workload((made, inputs))
        result = device.run(device.compile(workload, opt=opt), workload.inputs)
        assert device.verify(result).bit_exact
        np.testing.assert_array_equal(result.outputs["result"], made(*inputs).numpy())


WRONG = [
    ([1, 2, 2, 5], "offsets[0] = 1: must be 0"),
    ([0, 2, 2, 4], "offsets[3] = 4: must be 5, the number of indices"),
    ([0, 3, 2, 5], "offsets[2] = 2: must be at least 3, as the one before"),
]


@pytest.mark.parametrize("options", ({"opt": 0}, {"opt": 4}, {"coupled": True}))
def test_offsets_that_pytorch_refuses(options: dict[str, Any], tmp_path: Path) -> None:
    """At a later run, too, and of a program from a file."""
    with Device("tmu_l2", "model") as device:
        workload = device.target.reader.workload(
            (module(bags, bag=bag("mean")), (INDICES, OFFSETS))
        )
        made = device.compile(workload, **options)
        made.save(tmp_path / "bags.npz")
        saved = Program.load(tmp_path / "bags.npz", lambda target: device.target.compiler.schema)
        for program in (made, saved):
            for offsets, message in WRONG:
                with refused(message):
                    device.run(program, {**workload.inputs, "offsets": np.array(offsets, np.int32)})


@pytest.mark.parametrize(
    "command", (["compile", "tmu_l2"], ["run", "tmu_l2", "--backend", "model"])
)
def test_offsets_of_files_that_pytorch_refuses(
    file: Path, tmp_path: Path, command: list[str]
) -> None:
    output = ["-o", tmp_path / "out.npz"] if command[0] == "compile" else []
    for offsets, message in WRONG:
        np.save(tmp_path / "o.npy", np.array(offsets, np.int32))
        given = ["--tensor", f"offsets={tmp_path / 'o.npy'}"]
        assert refusal(tmp_path, *command, file, *given, *output) == f"gnarl: {message}"


def tables(self, i, o, j, x):
    """The sparse part of a recommendation model, and what goes into its dense one."""
    pooled = [self.a(i, o), self.b(j, o)]
    joined = torch.stack([*pooled, x], 1)
    return {"pairs": (joined[:, 1:] * joined[:, :1]).sum(2), "dense": torch.cat([*pooled, x], 1)}


@pytest.mark.parametrize("options", ({"opt": 0}, {"opt": 4}, {"coupled": True}))
def test_several_results_and_sums(options: dict[str, Any]) -> None:
    made = module(tables, a=bag(), b=bag("max"))
    inputs = (INDICES, OFFSETS, INDICES.flip(0), whole(3, 6))
    with Device("tmu_l2", "model") as device:
        workload = device.target.reader.workload((made, inputs))
        result = device.run(device.compile(workload, **options), workload.inputs)
        assert device.verify(result).bit_exact
    wanted = made(*(each.clone() for each in inputs))
    assert [*result.outputs] == [*wanted]
    for name, tensor in wanted.items():
        np.testing.assert_array_equal(result.outputs[name], tensor.numpy())


def plus(a, b):
    return torch.relu(a + b)


def joined_parts(a, b):
    return torch.cat([a, b * 2], 1)[:, 2:8]


def stacked_sums(a, b):
    return torch.stack([a, b], 1).sum(1)


def every_other(a, b):
    return torch.stack([a, b], 1).view(3, 12)[:, ::2]


def looked_up(a, b):
    return a[torch.tensor([2, 0, 2])] - b.sum(1, keepdim=True)


def scattered_rows(a, b):
    return a.index_add(0, torch.tensor([1, 1, 0]), b)


def centred(a, b):
    return (a - b.mean(0)).reshape(2, 9).reshape(3, 6)


STEPS = (plus, joined_parts, stacked_sums, every_other, looked_up, scattered_rows, centred)


@settings(max_examples=3, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), *[st.integers(0, 9)] * 2), min_size=1, max_size=4),
    st.sampled_from((0, 1, 3, 4)),
)
def test_random_modules(steps: list[tuple[Callable[..., Any], int, int]], opt: int) -> None:
    """Each step takes two of what there is by then; the last two are the results."""

    def random_module(self, i, o, x):
        found = [x, self.bag(i, o)]
        for step, one, other in steps:
            found.append(step(found[one % len(found)], found[other % len(found)]))
        return tuple(found[-2:])

    made, inputs = module(random_module, bag=bag()), (INDICES, OFFSETS, whole(3, 6))
    with Device("tmu_l2", "model") as device:
        workload = device.target.reader.workload((made, inputs))
        result = device.run(device.compile(workload, opt=opt), workload.inputs)
        assert device.verify(result).bit_exact
    for name, tensor in zip(workload.nest.results[-2:], made(*inputs), strict=True):
        np.testing.assert_allclose(result.outputs[name], tensor, rtol=1e-5, atol=1e-3)


MANNERS = ({"coupled": True}, *({"opt": level} for level in LEVELS))


@pytest.mark.parametrize(
    "seed, manners",
    [
        *((seed, [manner]) for seed, manner in enumerate(MANNERS)),
        *(pytest.param(seed, MANNERS, marks=pytest.mark.slow) for seed in range(300)),
    ],
)
def test_modules_of_many_steps(seed: int, manners: Sequence[dict[str, Any]]) -> None:
    """Refused in a line where the execute unit has no such type."""
    made, inputs = random_module(seed)
    with Device("tmu_l2", "model") as device:
        for manner in manners:
            try:
                workload = device.target.reader.workload((made, inputs))
                result = device.run(device.compile(workload, **manner), workload.inputs)
            except WorkloadError as error:
                assert "\n" not in str(error)
                continue
            assert device.verify(result).bit_exact, manner


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bags.pt2"
    made = module(bags, bag=bag())
    torch.export.save(torch.export.export(made, (INDICES, OFFSETS)), path)
    return path


@pytest.mark.parametrize("backend", ("model", "rtl"))
def test_files(file: Path, tmp_path: Path, backend: str) -> None:
    """As exported, and with other values of the same shapes."""
    other = INDICES.flip(0)
    np.save(tmp_path / "i.npy", other.numpy().astype(np.int32))
    out = tmp_path / "out.npz"
    for more, indices in (([], INDICES), (["--tensor", f"indices={tmp_path / 'i.npy'}"], other)):
        result = gnarl("run", "tmu_l2", file, *more, "--backend", backend, "-o", out)
        assert result.exit_code == 0, result.stderr
        wanted = module(bags, bag=bag())(indices, OFFSETS).numpy()
        np.testing.assert_array_equal(np.load(out)["result"], wanted)


def test_refusals(file: Path, tmp_path: Path) -> None:
    assert refusal(tmp_path, "run", "tmu_l2", tmp_path / "no.pt2") == (
        f"gnarl: {tmp_path / 'no.pt2'}: no such file"
    )
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    assert refusal(tmp_path, "run", "tmu_l2", file, "--tensor", f"x={tmp_path / 'x.npy'}") == (
        "gnarl: x: is no parameter of bags: must be one of offsets, indices, bag_weight, result"
    )
    with Device("tmu_l2", "model") as device:
        with refused("a bags: must be in a tuple with arguments of its forward"):
            device.compile(module(bags, bag=bag()))

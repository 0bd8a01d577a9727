"""PyTorch modules on the TMU, end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sw.runtime.device import Device
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused
from tests.support.pytorch_modules import bag, module, whole

INDICES = torch.tensor([3, 0, 3, 9, 1])
OFFSETS = torch.tensor([0, 2, 2])
SPARSE = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]]).to_sparse_csr()


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
        workload = device.target.workload((made, inputs))
        result = device.run(device.compile(workload, opt=opt), workload.inputs)
        assert device.verify(result).bit_exact
        np.testing.assert_array_equal(result.outputs["result"], made(*inputs).numpy())


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
    for given, indices in (([], INDICES), (["--tensor", f"indices={tmp_path / 'i.npy'}"], other)):
        result = gnarl("run", "tmu_l2", file, *given, "--backend", backend, "-o", out)
        assert result.exit_code == 0, result.stderr
        wanted = module(bags, bag=bag())(indices, OFFSETS).numpy()
        np.testing.assert_array_equal(np.load(out)["result"], wanted)


def test_refusals(file: Path, tmp_path: Path) -> None:
    assert refusal(tmp_path, "run", "tmu_l2", tmp_path / "no.pt2") == (
        f"gnarl: {tmp_path / 'no.pt2'}: no such file"
    )
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    assert refusal(tmp_path, "run", "tmu_l2", file, "--tensor", f"x={tmp_path / 'x.npy'}") == (
        "gnarl: x: is no parameter of bags: must be of offsets, indices, bag_weight, result"
    )
    with Device("tmu_l2", "model") as device:
        with refused("a bags: must be in a tuple with arguments of its forward"):
            device.compile(module(bags, bag=bag()))

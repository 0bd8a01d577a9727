"""Results of PyTorch's modules have PyTorch's shapes, whatever launches compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gnarl.sw.runtime.report.output_files import save_outputs
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.einsum.pytorch.result_shapes import with_result_shapes
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import module


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fp32", "model")


def forward(self, x):
    sums = x.sum(1, keepdim=True)
    taken = (sums * x).t()[:, None]
    return sums, taken, x.sum()[None, None], torch.cat([x, sums], 1).view(-1, 2), taken.exp()[0]


INPUT = torch.arange(6.0).reshape(2, 3)


def test_results_on_a_device(tmp_path: Path, device: Device) -> None:
    wanted = module(forward)(INPUT)
    program = device.compile((module(forward), (INPUT,)))
    result = device.run(program, {"x": INPUT.numpy()})
    assert device.verify(result).difference == ""
    save_outputs(path := tmp_path / "out.npz", program.outputs, result.outputs)
    with np.load(path) as saved:
        for number, each in enumerate(wanted):
            assert result.outputs[f"result{number}"].shape == each.shape
            np.testing.assert_array_equal(result.outputs[f"result{number}"], each)
            np.testing.assert_array_equal(saved[f"result{number}"], each)
    assert [spec.name for spec in program.outputs] == [f"result{n}" for n in range(5)]


def test_regions_are_those_without_the_dimensions(device: Device) -> None:
    """What a result is reshaped of has its name as in ``--dump``, and joins its region."""

    def kept(self, x):
        return torch.relu(x.sum(1, keepdim=True)) * x.sum(1, keepdim=True)

    def left(self, x):
        return torch.relu(x.sum(1)) * x.sum(1)

    programs = [device.compile((module(each), (INPUT,))) for each in (kept, left)]
    assert [len(each.launches) for each in programs] == [1, 1]
    assert [len(each.steps) for each in programs] == [1, 0]
    digests = [each.launches[0].config["graph"]["blocks"] for each in programs]
    assert len(digests[0]) == len(digests[1])


def test_formats_of_sparse_results() -> None:
    def product(self, a, b):
        return (a @ b)[None].unsqueeze(-1)

    made, inputs = module(product), (torch.eye(3), torch.eye(3))
    model = with_result_shapes(module_program(made, inputs, {"matmul": "ds:1,0"}))
    assert model.result_shapes == {"result": (1, 3, 3, 1)}
    assert [str(model.program.formats[name]) for name in ("matmul", "result")] == [
        "ds10",
        "ddds0321",
    ]


def test_shapes_that_are_right_stay() -> None:
    model = module_program(module(lambda self, x: x * 2), (INPUT,))
    assert with_result_shapes(model).program == model.program

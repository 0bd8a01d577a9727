"""PyTorch modules in SRAM, against PyTorch and against SAM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnarl.sw.runtime.run.device import Device
from tests.support.commands import gnarl
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import bag, module, whole


def layer(self, a, b, c):
    return torch.relu(a @ b + c)


def looked_up(self, a, i, c):
    return a[i].sum(1) * c


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (layer, (whole(4, 16), whole(16, 16), whole(16))),
        (looked_up, (whole(10, 16), torch.tensor([3, 0, 9, 1]).view(2, 2), whole(16))),
    ],
)
@pytest.mark.parametrize("place", ("core", "near"))
def test_modules(forward: Any, inputs: tuple[torch.Tensor, ...], place: str) -> None:
    made = module(forward)
    with Device("sram_b2", "model") as device:
        workload = device.workload((made, inputs))
        result = device.run(device.compile(workload, place=place), workload.inputs)
        assert device.verify(result).bit_exact
    np.testing.assert_array_equal(result.outputs["result"], made(*inputs).numpy())


def test_a_layer_on_several_targets(tmp_path: Path) -> None:
    path = tmp_path / "layer.pt2"
    inputs = whole(4, 16), whole(16, 16), whole(16)
    torch.export.save(torch.export.export(module(layer), inputs), path)
    compared = gnarl("compare", path, "sam_fp32", "sram_b2", "--backend", "model", "--json")
    assert compared.exit_code == 0, compared.stderr
    report = json.loads(compared.stdout)
    assert report["matches"] and len(report["runs"]) == 2


def test_bags_of_several_lengths() -> None:
    made = module(lambda self, i, o: self.bag(i, o), bag=bag())
    with Device("sram_b2", "model") as device:
        with refused(
            "<lambda>: o: offsets of bags are not supported by target sram: must be bags of one "
            "length"
        ):
            device.workload((made, (torch.tensor([1, 2, 3]), torch.tensor([0, 1]))))

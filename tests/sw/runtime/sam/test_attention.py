"""The example of attention with a mask: on the model, fused and not, against PyTorch."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.sources import inputs, workload
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.reader import RunArguments
from tests.support.errors import refused

EXAMPLE = Path(__file__).parents[4] / "examples" / "attention.py"
BY_HAND = 44_743
"""Cycles of the graph that ``bench/fuseflow_parts/attention_head.py`` builds by hand."""


def test_bigbird() -> None:
    module, inputs = runpy.run_path(str(EXAMPLE))["bigbird"]()
    with torch.no_grad():
        expected = module(*inputs).numpy()
    arrays = [each.numpy() for each in inputs]
    results = {}
    with Device("sam_fp32", "model") as device:
        for fuse in ("none", "layer", "full"):
            program = device.compile((module, inputs), fuse=fuse)
            run = device.run(program, dict(zip(("query", "key", "value"), arrays, strict=True)))
            assert device.verify(run).difference == ""
            results[fuse] = run.outputs["result"], run.cycles
    for found, _ in results.values():
        np.testing.assert_array_equal(found.view(np.uint32), results["none"][0].view(np.uint32))
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert results["full"][1] < 1.001 * BY_HAND < results["none"][1] / 2


def test_lanes(tmp_path: Path) -> None:
    """What lies inside the loop over rows, with both reductions of a softmax, four times."""
    module, inputs = runpy.run_path(str(EXAMPLE))["bigbird"]()
    given = dict(zip(("query", "key", "value"), (each.numpy() for each in inputs), strict=True))
    path = tmp_path / "lanes.toml"
    with Device("sam_fp32", "model") as device:
        program = device.compile((module, inputs), fuse="full", schedule_out=path)
        alone = device.run(program, given)
        path.write_text(path.read_text() + "lanes = { i = 4 }\n")
        run = device.run(device.compile((module, inputs), schedule=path), given)
        assert device.verify(run).difference == ""
    np.testing.assert_array_equal(run.outputs["result"], alone.outputs["result"])
    assert run.cycles < alone.cycles / 3.6


@pytest.mark.parametrize("is_safe", [False, True])
def test_rows_without_entries(is_safe: bool) -> None:
    """Another mask than that of the compilation has some."""

    class Masked(torch.nn.Module):
        def forward(self, x, mask):
            weights = (x @ x.T).masked_fill(~mask, -torch.inf).softmax(-1)
            return (torch.nan_to_num(weights) if is_safe else weights) @ x

    noise = torch.Generator().manual_seed(0)
    x, mask = torch.randn(5, 3, generator=noise), torch.ones(5, 5, dtype=torch.bool)
    other = torch.rand(5, 5, generator=noise) < 0.4
    other[2] = False
    with Device("sam_fp32", "model") as device:
        for fuse in ("none", "full"):
            program = device.compile((Masked(), (x, mask)), fuse=fuse)
            run = device.run(program, {"x": x.numpy(), "mask": other.numpy()})
            assert device.verify(run).difference == ""
            found, expected = run.outputs["result"], Masked()(x, other).numpy()
            assert np.isnan(found).any() != is_safe
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


class Added(torch.nn.Module):
    def forward(self, x, mask):
        return (x @ x.T + mask).softmax(-1) @ x


X = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
MASK = torch.zeros(5, 5).masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf)


def test_a_mask_of_infinity_as_an_input(tmp_path: Path) -> None:
    """Another one in each run, from arrays and files; of a mask only the pattern is loaded."""
    other = MASK.T.contiguous()
    np.save(tmp_path / "mask.npy", other.numpy())
    np.savez(tmp_path / "mask.npz", mask=other.double().numpy())
    with Device("sam_fp32", "model") as device:
        program = device.compile((Added(), (X, MASK)), fuse="full")
        assert {spec.name: spec.type for spec in program.inputs}["mask"] == "float64"
        assert "mask" not in {spec.name for launch in program.launches for spec in launch.inputs}
        for mask in (MASK, other, torch.zeros(5, 5), torch.full((5, 5), -torch.inf)):
            run = device.run(program, {"x": X.numpy(), "mask": mask.numpy()})
            assert device.verify(run).difference == ""
            expected = Added()(X, mask).numpy()
            np.testing.assert_allclose(run.outputs["result"], expected, atol=1e-5, rtol=0)
        for file in ("mask.npy", "mask.npz"):
            arguments = RunArguments(tensors={"mask": str(tmp_path / file)})
            given = inputs(program, workload((Added(), (X, MASK))), arguments)
            run = device.run(program, given)
            expected = Added()(X, other).numpy()
            np.testing.assert_allclose(run.outputs["result"], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("number", "shown"), [(1, "1"), (torch.inf, "inf"), (torch.nan, "nan")])
def test_other_numbers_in_a_mask_are_refused(number: float, shown: str) -> None:
    mask = MASK.clone()
    mask[3, 1] = number
    with Device("sam_fp32", "model") as device:
        program = device.compile((Added(), (X, MASK)))
        with refused(
            f"mask(3, 1) = {shown}: must be 0 or -inf, as in what the program was compiled for"
        ):
            device.run(program, {"x": X.numpy(), "mask": mask.numpy()})
        with refused("tensor x: entry 0: the value at (0, 0) = -inf: must be finite in float64"):
            device.run(program, {"x": MASK.flip(1)[:, 2:].numpy(), "mask": MASK.numpy()})


def test_a_text_with_a_mask() -> None:
    text = "p(i,j)=kept(m(i,j)); y(i)=sum[j](p(i,j)*x(j))"
    given = {"m": MASK.numpy(), "x": np.arange(5.0)}
    with Device("sam_fp32", "model") as device:
        run = device.run(device.compile((text, given)), given)
        assert device.verify(run).difference == ""
    np.testing.assert_array_equal(run.outputs["y"], [0, 1, 3, 6, 10])


def with_blocks(words: int, lanes: int = 1, rows: int = 1) -> Schedule:
    """All in one region, with blocks along the keys and along ``rows``, and lanes over the rows."""
    blocks = (("i", rows), ("k", words))
    return Schedule(
        regions=(
            Region(
                ("matmul", "mul", *(f"softmax{part}" for part in PARTS), "result"),
                blocks=tuple((index, count) for index, count in blocks if count > 1),
                lanes=(("i", lanes),) if lanes > 1 else (),
            ),
        )
    )


PARTS = ("_max", "_exp", "_sum", "")


def small_head(length: int = 16, block: int = 4, width: int = 4) -> tuple[Any, dict[str, Any]]:
    example = runpy.run_path(str(EXAMPLE))
    torch.manual_seed(0)
    inputs = tuple(torch.randn(length, width) for _ in range(3))
    module = example["Attention"](example["bigbird_mask"](length, block))
    arrays = (each.numpy() for each in inputs)
    return (module, inputs), dict(zip(("query", "key", "value"), arrays, strict=True))


@pytest.mark.parametrize(
    ("words", "lanes", "rows"), [(2, 1, 1), (4, 1, 1), (4, 4, 1), (4, 1, 4), (2, 2, 4)]
)
def test_blocks_along_keys(words: int, lanes: int, rows: int) -> None:
    source, given = small_head()
    with Device("sam_fp32", "model") as device:
        alone = device.run(device.compile(source, schedule=with_blocks(words)), given)
        run = device.run(device.compile(source, schedule=with_blocks(words, lanes, rows)), given)
        assert device.verify(run).difference == ""
        whole = device.run(device.compile(source, fuse="full"), given)
    module, inputs = source
    np.testing.assert_allclose(run.outputs["result"], module(*inputs), atol=1e-5, rtol=0)
    np.testing.assert_array_equal(run.outputs["result"], alone.outputs["result"])
    copies = 1 if lanes == rows == 1 else 2
    assert run.cycles < whole.cycles / (0.75 * words * copies)


def test_a_mask_that_is_not_of_whole_blocks_is_refused() -> None:
    source, given = small_head(block=2)
    with Device("sam_fp32", "model") as device:
        program = device.compile(source, schedule=with_blocks(4))
        with pytest.raises(WorkloadError, match="is in a block of 4 along k some of which have no"):
            device.run(program, given)


@pytest.mark.slow
def test_blocks_on_rtl() -> None:
    """Cycles and counters are those of the simulator. Its RTL takes two minutes to build; a
    smaller machine with blocks of values is in ``cocotb_tests/sam/machines.py``."""
    source, given = small_head()
    small = load_configuration("sam_fp32", ("array_words=1024", "accumulator_words=64"))
    with Device(small) as rtl, Device(small, "model") as model:
        program = rtl.compile(source, schedule=with_blocks(4, rows=2))
        run, expected = rtl.run(program, given), model.run(program, given)
        assert rtl.verify(run).bit_exact
        assert run.cycles == expected.cycles
        (one,), (other,) = run.launches, expected.launches
        assert one.finished.counters == other.finished.counters
        np.testing.assert_array_equal(run.outputs["result"], expected.outputs["result"])

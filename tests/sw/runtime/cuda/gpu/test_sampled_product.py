"""Sampled products on a driver without a GPU, see ``test_gpu``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from tests.support.cuda.fake_cuda import Call, fake_gpus, launches, live

TEXT = "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds"
POOLED = "X(i,j)=B(i,k)*C(k,j) -f=B:ds"


@pytest.fixture(scope="module")
def on_fake() -> Iterator[Call]:
    with fake_gpus() as call:
        yield call


def operands(rows: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(rows)
    samples = np.where(random.random((rows, 30)) < 0.3, 1.5, 0)
    left, right = (random.integers(-4, 5, (size, 20)) / 2 for size in (rows, 30))
    return {"B": samples, "C": left, "D": right}


def _run(rows: list[int]) -> tuple[list[str], list[dict[str, int]]]:
    """Differences of runs with so many rows, and their counters."""
    from gnarl import Device

    with Device("cuda_sm90", "cuda") as device:
        program = device.compile((TEXT, operands(1)))
        differences, counters = [], []
        for number in rows:
            result = device.run(program, operands(number))
            found = device.verify(result)
            assert found.bit_exact
            differences.append(found.difference)
            counters.append(dict(result.counters))
    return differences, counters


def _launches() -> list[dict[str, int]]:
    return list(launches)


def test_batches_of_any_size(on_fake: Call) -> None:
    differences, counters = on_fake(_run, [3, 200, 0, 40])
    assert differences == [""] * 4
    assert [one["blocks"] for one in counters] == [
        max(1, -(-int((operands(rows)["B"] != 0).sum()) // 64)) for rows in (3, 200, 0, 40)
    ]
    assert all(one["kernel_ns"] >= 0 for one in counters)
    kernels = {(one["kernel"], one["block"], one["shared"]) for one in on_fake(_launches)}
    assert kernels == {("gnarl_sampled_product", 128, 0)}


def _turns() -> list[bool]:
    """Expressions of both kinds, one after the other, on one device."""
    from gnarl import Device

    found = []
    pooled = {"B": operands(30)["B"], "C": operands(30)["D"]}
    with Device("cuda_sm90", "cuda") as device:
        programs = [device.compile((TEXT, operands(5))), device.compile((POOLED, pooled))]
        for _ in range(2):
            for program, given in zip(programs, (operands(5), pooled), strict=True):
                found.append(device.verify(device.run(program, given)).bit_exact)
    return found


def test_kinds_take_turns(on_fake: Call) -> None:
    assert on_fake(_turns) == [True] * 4


def _live() -> dict[str, int]:
    import gc

    gc.collect()
    return {what: live(what) for what in ("device memory", "streams", "events", "modules")}


def test_all_is_freed(on_fake: Call) -> None:
    on_fake(_run, [3])
    assert set(on_fake(_live).values()) == {0}


def _on_another_architecture() -> str:
    from gnarl import Device
    from gnarl.sw.runtime.target.configuration import load_configuration

    with Device(load_configuration("cuda_sm90", ["arch=sm_75"]), "cuda") as device:
        try:
            device.run(device.compile((TEXT, operands(5))), operands(5))
        except GnarlError as error:
            return str(error)
    return ""


def test_another_architecture_is_refused(on_fake: Call) -> None:
    assert "sm_75" in on_fake(_on_another_architecture)

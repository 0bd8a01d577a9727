"""The kernels of ``examples/pim``: gcc's bits in every place that takes them, and on RTL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.c.source import read_file
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.nests import c_kernels

pytest.importorskip("egglog")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")

FOLDER = Path(__file__).parents[5] / "examples" / "pim"
REFUSED = {
    "brightness": {"near"},
    "histogram": {"memory"},
    "kmeans": {"near"},
}
"""Places that do not take a kernel: results of bytes, and elements that data choose."""

PLACES = ("memory", "near", "core", "auto")
NAMES = sorted(path.stem for path in FOLDER.glob("*.c"))
SIZES = (1, 9)


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device("sram_b4", "model") as device:
        yield device


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device[Any]]:
    with Device("sram_b2", "rtl") as device:
        yield device


def case(
    name: str, size: int, folder: Path
) -> tuple[dict[str, np.ndarray], dict[str, int], Mapping[str, np.ndarray]]:
    """Inputs, sizes, and what gcc makes of them."""
    text, nest = (FOLDER / f"{name}.c").read_text(), read_file(FOLDER / f"{name}.c", name)
    sizes = {each.name: size + 2 * at for at, each in enumerate(nest.sizes)}
    given = c_kernels.values(nest, sizes, size, "small")
    library = c_kernels.compiled(folder, text)
    return given, sizes, c_kernels.results(library, text, nest, bind(nest, given, sizes))


def require_right(device: Device[Any], name: str, place: str, size: int, folder: Path) -> None:
    given, sizes, wanted = case(name, size, folder)
    program = device.compile(FOLDER / f"{name}.c", place=place)
    result = device.run(program, {**given, **sizes})
    for array, found in result.outputs.items():
        np.testing.assert_array_equal(found, wanted[array], err_msg=array)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_places(model: Device[Any], name: str, place: str, tmp_path: Path):
    if place in REFUSED.get(name, ()):
        with pytest.raises(GnarlError, match=rf"{name}\.c:\d+:\d+: "):
            require_right(model, name, place, max(SIZES), tmp_path)
        return
    for size in SIZES:
        folder = tmp_path / str(size)
        folder.mkdir()
        require_right(model, name, place, size, folder)


@pytest.mark.parametrize("name", NAMES)
def test_rtl(rtl: Device[Any], name: str, tmp_path: Path):
    require_right(rtl, name, "auto", 5, tmp_path)

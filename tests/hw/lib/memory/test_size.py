"""Names of memories' modules."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.memory.size import MemorySize


@pytest.mark.parametrize(
    "size, name",
    [(MemorySize(4096, 32, 1), "ram_4096x32"), (MemorySize(8, 1, 2), "two_port_ram_8x1")],
)
def test_there_and_back(size: MemorySize, name: str) -> None:
    assert size.module == name
    assert MemorySize.of_module(name) == size
    assert size.bits == size.rows * size.width


@pytest.mark.parametrize("name", ["ram", "ram_8", "my_ram_8x1", "ram_8x1_2", "three_port_ram_8x1"])
def test_other_modules(name: str) -> None:
    assert MemorySize.of_module(name) is None

"""Blocks of a group as one design, so that one build serves all their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cocotb_tests.sam.specs import Spec


class SideBySide(wiring.Component):
    """Port ``ref`` of the block called ``repeat`` is the port ``repeat__ref``."""

    def __init__(self, specs: Mapping[str, Spec]) -> None:
        self._blocks = {name: spec.make() for name, spec in specs.items()}
        super().__init__({name: Out(block.signature) for name, block in self._blocks.items()})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, block in self._blocks.items():
            m.submodules[f"{name}_block"] = block
            wiring.connect(m, block, wiring.flipped(getattr(self, name)))
        return m

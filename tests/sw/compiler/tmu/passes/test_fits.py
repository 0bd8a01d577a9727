"""Whether a configuration has room for a module of SLC."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.passes.fits import fits
from tests.support.tmu.messages import Messages

CONFIG = TmuConfig(lanes=4)


def test_layers_streams_and_the_programs_memory():
    """Four loops, and some 40 instructions."""
    module = Messages().after("prefetch_rows", CONFIG)
    assert fits(module, replace(CONFIG, layers=4, program_words=64))
    assert not fits(module, replace(CONFIG, layers=3))
    assert not fits(module, replace(CONFIG, streams=2))
    assert not fits(module, replace(CONFIG, program_words=16))

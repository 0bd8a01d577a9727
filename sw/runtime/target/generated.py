"""Targets whose hardware is generated."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from amaranth.lib import wiring

from gnarl.sw.program.paths import HARDWARE, SOFTWARE
from gnarl.sw.runtime.machine.machine import JobT
from gnarl.sw.runtime.target.contract import ConfigT, Target, WorkloadT


class GeneratedTarget(Target[ConfigT, WorkloadT, JobT]):
    """A target with a generator, whose Verilog ``gnarl.sw.runtime.target.verilog`` keeps."""

    @abstractmethod
    def build(self, config: ConfigT) -> wiring.Component:
        """The top of the hardware, with member ``host``."""

    def generator_sources(self) -> Sequence[Path]:
        """Folders of all source files that the Verilog depends on.

        By default ``hw`` and, for targets from elsewhere, the folder of their class.
        """
        own = Path(inspect.getfile(type(self))).resolve().parent
        is_ours = SOFTWARE in own.parents
        return [HARDWARE] if is_ours else [HARDWARE, own]

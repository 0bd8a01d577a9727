"""What generates hardware, and the hardware that it is of."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.sw.program.paths import HARDWARE, SOFTWARE
from gnarl.sw.runtime.machine.waves.view import Unit

if TYPE_CHECKING:  # targets without hardware run without it
    from amaranth.lib import wiring

GeneratedT = TypeVar("GeneratedT", bound=TargetConfig, contravariant=True)
ConfigT_co = TypeVar("ConfigT_co", bound=TargetConfig, covariant=True)


class Generator(ABC, Generic[GeneratedT]):
    """The part of a target whose hardware is generated; ``gnarl.sw.runtime.target.verilog`` keeps
    the Verilog.

    units
        what is below the core that views of waves have groups for, in their order; by default
        every instance that has streams.
    sizes
        by a field of ``gnarl.hw.fpga.family.Resources``: the configuration's fields that decide how
        much of it the hardware needs, for errors to name.
    """

    units: ClassVar[Sequence[Unit]] = (Unit("*", streams=("*",)),)
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {}

    @abstractmethod
    def build(self, config: GeneratedT) -> wiring.Component:
        """The top of the hardware, with member ``host``."""

    def sources(self) -> Sequence[Path]:
        """Folders of all source files that the Verilog depends on.

        By default ``hw`` and, for targets from elsewhere, the folder of their class.
        """
        own = Path(inspect.getfile(type(self))).resolve().parent
        is_ours = SOFTWARE in own.parents
        return [HARDWARE] if is_ours else [HARDWARE, own]


class Hardware(Protocol[ConfigT_co]):
    """A configuration and what to call it: a ``NamedConfiguration``, as parts of targets see it."""

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> ConfigT_co: ...

    @property
    def generator(self) -> Generator[Any]:
        """Raises ``ConfigError`` where the target has none."""

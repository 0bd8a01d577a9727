"""What finds other ways to compile a workload, for ``gnarl explore``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gnarl.hw.lib.configuration import TargetConfig


@dataclass(frozen=True)
class Estimated:
    """What a program is taken to do, without having run.

    blocks
        of its largest launch, which a machine must have; what has values of several words counts as
        so many.
    """

    cycles: int
    ops: int
    bytes: int
    blocks: int

    def to_json(self) -> dict[str, int]:
        """The object of a point's ``estimate``."""
        return {name: getattr(self, name) for name in ("cycles", "ops", "bytes", "blocks")}


@dataclass(frozen=True)
class Alternative:
    """A way to compile a workload.

    values
        what was chosen, by name, as people read it.
    schedule
        the text of a file that says all of it to the compiler.
    """

    values: Mapping[str, str]
    schedule: str
    estimate: Estimated


class Explorer(ABC):
    """A part of targets whose compilers have schedules.

    fields
        names of what is chosen, in order.
    suffix
        of the files of schedules.
    """

    fields: ClassVar[tuple[str, ...]]
    suffix: ClassVar[str]

    @abstractmethod
    def alternatives(
        self,
        workload: Any,
        config: TargetConfig,
        *,
        lanes: Sequence[int],
        words: Sequence[int],
        sparsities: Mapping[str, float] | None,
        advance: Callable[[float], None],
    ) -> list[Alternative]:
        """Ways to compile a workload for a configuration, each estimated, none twice.

        lanes
            numbers of them that loops may have.
        words
            of a value: numbers of neighbours along an index that may be one.
        sparsities
            shares of zeros of inputs by name, at random places, in place of the workload's values;
            ``None``: its own.

        Raises ``GnarlError`` for a workload that has no schedules, and one that is never compiled.
        """

    @abstractmethod
    def options(self, schedule: str, name: str) -> dict[str, Any]:
        """Options of the compiler that say what a schedule's text does, which errors call
        ``name``."""

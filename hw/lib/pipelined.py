"""What all arithmetic datapaths have in common."""

from __future__ import annotations

from typing import Any

from amaranth.lib import wiring
from gnarl.hw.lib.cut_points import check_stages


class Pipelined(wiring.Component):
    """A datapath that takes operands in every cycle, and gives their result ``stages`` later.

    Parameters: ``members`` of its signature; ``stages``, pipeline registers, at least ``least``.
    """

    def __init__(self, members: dict[str, Any], stages: int, least: int = 0) -> None:
        check_stages(stages, least)
        self._stages = stages
        super().__init__(members)

    @property
    def latency(self) -> int:
        """Cycles from operands to their result."""
        return self._stages

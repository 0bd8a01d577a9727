"""What a tool of an FPGA flow is at, from the lines that it prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from gnarl.sw.runtime.report.stages import Stages

_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\d+(?:\.\d+)?\. Executing (\w+) pass\b", "{0} pass"),
        (r"Info: Packing ", "packing"),
        (r"Info: +at initial placer iter (\d+),", "first placement, iteration {0}"),
        (r"Info: +at iteration #(\d+), type ", "placement, iteration {0}"),
        (r"Info: +at iteration #(\d+): temp ", "placement, refinement {0}"),
        (r"Info: (?:Setting up routing queue|Routing)\.", "routing"),
        (
            r"Info: +iter=(\d+) wires=\d+ overused=(\d+) ",
            "routing, iteration {0}, {1} wires overused",
        ),
        (r"Info: +\d+ \|(?: +\d+)+ \|(?: +\d+)+ \| +(\d+)\|", "routing, {0} arcs left"),
    )
)
"""Beginnings of lines of Yosys, of nextpnr's placers and of both its routers, and what they say."""


def step_of(line: str) -> str | None:
    """The step that a line says a tool has come to, if it does."""
    for pattern, text in _STEPS:
        if found := pattern.match(line):
            return text.format(*found.groups())
    return None


@contextmanager
def steps_shown(stages: Stages, stage: str) -> Iterator[Callable[[str], None]]:
    """Shows the steps of a tool inside of ``stage``, which has begun, as stages named after both.

    What the block gets is to be called with each line that the tool prints.
    """
    with ExitStack() as shown:
        last = ""

        def hear(line: str) -> None:
            nonlocal last
            step = step_of(line)
            if step is not None and step != last:
                last = step
                shown.close()
                shown.enter_context(stages(f"{stage}: {step}"))

        yield hear

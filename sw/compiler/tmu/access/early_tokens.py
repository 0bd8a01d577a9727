"""Tokens before their words, where the data queue has no room for all of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.hw.tmu.access_isa import Event, EventKind
from gnarl.hw.tmu.access_program import EventStep

Steps = list[EventStep]
Events = dict[Event, Steps]


def early_tokens(
    layers: Sequence[Mapping[Event, Steps]],
    iterations: int | None,
    lanes: int,
    data_words: int,
) -> list[Events]:
    """The events of layers, the outermost first, whose innermost has so many ``iterations``, if
    that is known.

    The execute unit takes words when it has their token. Behind more words than the queue holds,
    that never comes; before them, the execute unit waits for each. A token comes before the words
    of its event; or before the loop whose end it is, and what is queued ahead of that, if the loop
    queues words alone. Tokens and words keep their orders. O(steps).
    """
    earlier: list[Events] = [
        {event: list(steps) for event, steps in each.items()} for each in layers
    ]
    _before_loop(earlier, iterations, lanes, data_words)
    for events in earlier:
        for event, steps in events.items():
            events[event] = _before_words(steps, lanes, data_words)
    return earlier


def _before_loop(layers: list[Events], iterations: int | None, lanes: int, data_words: int) -> None:
    inner = layers[-1]
    loop = inner.get(Event.ITERATION, [])
    behind = inner.get(Event.END, [])
    begin = [*inner.get(Event.BEGIN, []), *loop]
    place = next((at for at, step in enumerate(behind) if step.kind == EventKind.TOKEN), None)
    if place is None or any(step.kind == EventKind.TOKEN for step in begin):
        return
    around, event = (layers[-2], Event.ITERATION) if len(layers) > 1 else (inner, Event.BEGIN)
    steps = around.get(event, [])
    first = 1 + max(
        (at for at, step in enumerate(steps) if step.kind == EventKind.TOKEN), default=-1
    )
    once = _words([*steps[first:], *behind[:place]], lanes)
    if iterations is None or once + iterations * _words(loop, lanes) > data_words:
        around[event] = [*steps[:first], behind[place], *steps[first:]]
        inner[Event.END] = [*behind[:place], *behind[place + 1 :]]


def _before_words(steps: Steps, lanes: int, data_words: int) -> Steps:
    reordered: Steps = []
    waiting: Steps = []
    for step in steps:
        if step.kind != EventKind.TOKEN:
            waiting.append(step)
            continue
        is_first = _words(waiting, lanes) > data_words
        reordered += [step, *waiting] if is_first else [*waiting, step]
        waiting = []
    return [*reordered, *waiting]


def _words(steps: Steps, lanes: int) -> int:
    """How many words steps put into the data queue."""
    widths = {EventKind.WORD: 1, EventKind.MASK: 1, EventKind.VECTOR: lanes}
    return sum(widths.get(step.kind, 0) for step in steps)

"""How a component takes from streams and gives to others: in steps.

A step looks at the heads of the inputs, gives at most one item to each of the outputs, takes the
heads that it has used, and changes the component's state, all at once: in the cycle in which the
last of its outputs accepts its item. Outputs that accept earlier are not offered theirs again, so
that what an output offers never depends on whether another one is ready.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal


class Step:
    """The step that a component is at. Made once in ``elaborate``, before ``send`` and ``take``.

    Use::

        step = Step(m, inputs=[self.row], outputs=[self.address])
        with m.If(self.row.valid):
            step.send(self.address, base + self.row.payload)  # in this step, at most once an output
            step.ready(self.row)                              # all that the step needs is there
        with m.If(step.done):
            m.d.sync += state.eq(...)

    What is sent must stay the same from the cycle in which ``ready`` is first set until ``done``:
    it may depend on heads of inputs, which stay until they are taken, and on state that changes
    with ``done`` only. ``done`` is a signal: 1 in the cycle in which the step ends.
    """

    def __init__(self, m: Module, *, inputs: list[Any], outputs: list[Any]) -> None:
        self._m = m
        self._outputs = outputs
        self._valid = Signal(name="step_valid")
        self.done = Signal(name="step_done")
        self._takes = [Signal(name=f"takes_{place}") for place in range(len(inputs))]
        self._gives = [Signal(name=f"gives_{place}") for place in range(len(outputs))]
        self._inputs = inputs
        self._items = []
        pending = []
        for place, output in enumerate(outputs):
            item = Signal.like(output.payload, name=f"item_{place}")
            given = Signal(name=f"given_{place}")
            offered = self._valid & self._gives[place] & ~given
            m.d.comb += [output.valid.eq(offered), output.payload.eq(item)]
            accepted = offered & output.ready
            pending.append(offered & ~output.ready)
            with m.If(self.done):
                m.d.sync += given.eq(0)
            with m.Elif(accepted):
                m.d.sync += given.eq(1)
            self._items.append(item)
        m.d.comb += self.done.eq(self._valid & ~Cat(pending).any())
        for stream, takes in zip(inputs, self._takes, strict=True):
            m.d.comb += stream.ready.eq(self.done & takes)

    def ready(self, *taken: Any) -> None:
        """Makes the step possible in this condition. It uses up the heads of the inputs
        ``taken``."""
        self.take(*taken)
        self._m.d.comb += self._valid.eq(1)

    def take(self, *streams: Any) -> None:
        """The step uses up the heads of these inputs."""
        for stream in streams:
            self._m.d.comb += self._takes[_place(self._inputs, stream)].eq(1)

    def send(self, output: Any, payload: Any) -> None:
        """The step gives ``payload`` to ``output``."""
        self._m.d.comb += self._give(output).eq(payload)

    def _give(self, output: Any) -> Any:
        """What the step gives to ``output``, to be driven in this condition."""
        place = _place(self._outputs, output)
        self._m.d.comb += self._gives[place].eq(1)
        return self._items[place]


def _place(streams: list[Any], wanted: Any) -> int:
    return next(place for place, stream in enumerate(streams) if stream is wanted)

"""How every block takes and gives tokens: in steps.

A step looks at the heads of the block's inputs, gives at most one token to each of its outputs,
takes the heads it has used, and changes the block's state, all at once: in the cycle in which the
last of its outputs accepts its token. Outputs that accept earlier are not offered theirs again, so
that what an output offers never depends on whether another one is ready.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.sam.token import Kind


class Step:
    """The step that a block is at. Made once in ``elaborate``, before ``give`` and ``take``.

    Use::

        step = Step(m, inputs=[self.ref], outputs=[self.crd])
        with m.If(self.ref.valid):
            step.give(self.crd, Kind.DATA, payload)     # in this step, at most once an output
            step.take(self.ref)
            step.ready()                                # all that the step needs is there
        with m.If(step.done):
            m.d.sync += state.eq(...)

    What is given must stay the same from the cycle in which ``ready`` is first set until ``done``:
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
        self._tokens = []
        pending = []
        for place, output in enumerate(outputs):
            token = Signal.like(output.payload, name=f"token_{place}")
            given = Signal(name=f"given_{place}")
            offered = self._valid & self._gives[place] & ~given
            m.d.comb += [output.valid.eq(offered), output.payload.eq(token)]
            accepted = offered & output.ready
            pending.append(offered & ~output.ready)
            with m.If(self.done):
                m.d.sync += given.eq(0)
            with m.Elif(accepted):
                m.d.sync += given.eq(1)
            self._tokens.append(token)
        m.d.comb += self.done.eq(self._valid & ~Cat(pending).any())
        for stream, takes in zip(inputs, self._takes, strict=True):
            m.d.comb += stream.ready.eq(self.done & takes)

    def ready(self) -> None:
        """In this condition the step can be made."""
        self._m.d.comb += self._valid.eq(1)

    def take(self, *streams: Any) -> None:
        """The step uses up the heads of these inputs."""
        for stream in streams:
            self._m.d.comb += self._takes[_place(self._inputs, stream)].eq(1)

    def give(self, output: Any, kind: Any, payload: Any = 0) -> None:
        """The step gives a token to ``output``."""
        place = _place(self._outputs, output)
        token = self._tokens[place]
        self._m.d.comb += [
            self._gives[place].eq(1),
            token.kind.eq(kind),
            token.payload.eq(payload),
        ]

    def send(self, output: Any, payload: Any) -> None:
        """The step gives ``payload`` to ``output``, a stream of anything, such as addresses."""
        place = _place(self._outputs, output)
        self._m.d.comb += [self._gives[place].eq(1), self._tokens[place].eq(payload)]

    def pass_on(self, output: Any, source: Any) -> None:
        """The step gives ``output`` the head of ``source`` as it is."""
        self.give(output, source.payload.kind, source.payload.payload)


def _place(streams: list[Any], wanted: Any) -> int:
    return next(place for place, stream in enumerate(streams) if stream is wanted)


def is_data(stream: Any) -> Value:
    """The head of ``stream`` is data or empty: what one repeats, counts, or looks up."""
    return (stream.payload.kind == Kind.DATA) | (stream.payload.kind == Kind.EMPTY)


def is_stop(stream: Any) -> Value:
    return stream.payload.kind == Kind.STOP


def is_done(stream: Any) -> Value:
    return stream.payload.kind == Kind.DONE


def raised(stream: Any) -> Value:
    """The level above that of the stop at the head of ``stream``."""
    return (stream.payload.payload + 1)[: len(stream.payload.payload)]


def level_after(stream: Any) -> Value:
    """Level of the stop that ends a fiber, by what comes after the fiber's parent in ``stream``.

    A stop there ends the parent's own fiber too, and is to be taken; else it is level 0.
    """
    return Mux(is_stop(stream), raised(stream), 0)

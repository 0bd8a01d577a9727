"""Who waits for whom in a machine in which nothing can move any more."""

from __future__ import annotations

from typing import NamedTuple

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.runtime.sam.simulator import layout
from gnarl.sw.runtime.sam.simulator.build import Laid


class DeadlockError(GnarlError):
    """A run in which no token can move from ``cycle`` on; ``waits``: who waits for what."""

    def __init__(self, cycle: int, waits: str) -> None:
        self.cycle = cycle
        super().__init__(f"deadlock: nothing moves from cycle {cycle} on: {waits}")


class _Wait(NamedTuple):
    """What a block waits for, in words, and the block that would have to do something."""

    text: str
    block: int


def waiting(graph: Graph, laid: Laid) -> str:
    """The blocks that wait for each other, and the full queues between them."""
    waits = _Waits(graph, laid)
    # From a block that offers a token, along what each one waits for, until one comes again.
    stalled = [b for b in laid.blocks.values() if laid.records[b + layout.STALLED]]
    b = stalled[0] if stalled else next(iter(laid.blocks.values()))
    chain: dict[int, str] = {}
    while b not in chain:
        wait = waits.of(b)
        if wait is None:
            break
        chain[b] = wait.text
        b = wait.block
    blocks = list(chain)
    return ", ".join(chain[b] for b in blocks[blocks.index(b) if b in chain else 0 :])


class _Waits:
    def __init__(self, graph: Graph, laid: Laid) -> None:
        self._s = laid.records
        self._names = {b: name for name, b in laid.blocks.items()}
        self._inputs = {q: reader for reader, q in laid.queues.items()}

    def of(self, b: int) -> _Wait | None:
        """What a block waits for; ``None`` if for nothing."""
        return self._room(b) if self._s[b + layout.STALLED] else self._token(b)

    def _room(self, b: int) -> _Wait | None:
        s = self._s
        for place in range(s[b + layout.OUTPUTS]):
            o = int(s[b + layout.OUT + place])
            if not s[b + layout.GIVES] >> place & 1:
                continue
            for reader in range(s[o + layout.READERS]):
                q = int(s[o + layout.FIRST_READER]) + reader * layout.QUEUE
                is_full = s[q + layout.COUNT] == s[q + layout.DEPTH]
                if is_full and not s[o + layout.GIVEN] >> reader & 1:
                    text = (
                        f"{self._names[b]} waits for room in the queue of {s[q + layout.DEPTH]} "
                        f"tokens before {'.'.join(self._inputs[q])}"
                    )
                    return _Wait(text, int(s[q + layout.READER]))
        return None

    def _token(self, b: int) -> _Wait | None:
        s = self._s
        queues = [int(s[b + layout.IN + place]) for place in range(s[b + layout.INPUTS])]
        # Where no first token is missing, it is a second one.
        for is_missing in (lambda q: not s[q + layout.HELD], lambda q: s[q + layout.LOOKS]):
            for q in filter(None, queues):
                if s[q + layout.COUNT] == 0 and is_missing(q):
                    source = int(s[q + layout.WRITER])
                    name = self._inputs[q][1]
                    text = (
                        f"{self._names[b]} waits for a token in {name} from {self._names[source]}"
                    )
                    return _Wait(text, source)
        return None

"""The arrays of a machine: ports of their blocks on one side, windows of the host on the other.

An array is a ``Window`` and whether its block writes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.stream.memory_ports import ReadPort, WritePort

Arrays = Iterable[tuple[Window, bool]]


def array_ports(arrays: Arrays, address_bits: int) -> wiring.Signature:
    """A port for each array, as the blocks see it, by the names of windows."""
    return wiring.Signature(
        {
            window.name: Out(
                WritePort(address_bits, window.word_bits, window.words)
                if writes
                else ReadPort(address_bits, window.word_bits, window.words)
            )
            for window, writes in arrays
        }
    )


def array_windows(arrays: Arrays) -> wiring.Signature:
    """A bus for each array, as the host port sees it, by the names of windows."""
    return wiring.Signature({window.name: Out(WindowSignature(window)) for window, _ in arrays})

"""What ends a run before its time, on any machine with the host port."""

from __future__ import annotations

from cocotb_tests.lib.host_port import CocotbPort
from gnarl.hw.lib.machine.memory_map import Register

_START, _STOP, _CLEAR = ([1 << 63 | Register.CONTROL << 32 | 1 << bit] for bit in range(3))

INTERRUPTIONS = ("reset", "stop", "clear")


async def interrupt(port: CocotbPort, interruption: str, after: int) -> None:
    """Starts a run, and ends it ``after`` so many cycles with one of ``INTERRUPTIONS``."""
    await port.exchange(_START)
    await port.step(after)
    if interruption == "reset":
        await port.reset()
    else:
        await port.exchange({"stop": _STOP, "clear": _CLEAR}[interruption])

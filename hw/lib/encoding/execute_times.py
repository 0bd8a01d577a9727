"""Numbers of the execute unit that decide when instructions issue: what models know of it, too."""

from __future__ import annotations

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.integer.digits import OTHER_CYCLES, cycles_for

WAITING = 4
"""Requests to memory that issue before the port has taken the first of them."""

INTEGER_CYCLES = 3
"""From the issue of an instruction to the cycle in which the lanes' integer result is written."""

BITS_PER_CYCLE = 2
"""Bits a cycle of quotients and roots."""

_FRACTION = FLOAT_FORMATS["float32"].fraction

QUOTIENT_CYCLES = cycles_for(_FRACTION + 3, BITS_PER_CYCLE) + OTHER_CYCLES
"""Latency of a divider."""

ROOT_CYCLES = cycles_for(_FRACTION + 2, BITS_PER_CYCLE) + OTHER_CYCLES
"""Latency of the unit of square roots."""

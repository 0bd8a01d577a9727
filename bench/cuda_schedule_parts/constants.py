"""The constants, fitted to recorded times of the design with blocks (see ``recorded``), and not
changed for what is modelled of others.

``memory_share`` and ``sharpness`` are the least certain: 0.92 of a copy's bandwidth fits nearly as
well as 0.73, and the design with warps depends on them most.
"""

from __future__ import annotations

from bench.cuda_schedule_parts.costs import Constants

CONSTANTS = Constants(
    l1_us=0.0704,
    l2_us=0.1516,
    memory_us=0.669,
    start_us=0.874,
    first_us=0.845,
    fresh_us=0.386,
    barrier_us=0.133,
    steal_us=1.90,
    instruction_us=0.0021,
    issues_per_cycle=3.95,
    port_bytes_per_cycle=63.5,
    sharpness=2.18,
    memory_share=0.732,
)

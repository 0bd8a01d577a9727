"""The constants, fitted to recorded times (see ``recorded``) before the design with warps was
modelled, and not changed for it."""

from __future__ import annotations

from bench.cuda_schedule_parts.costs import Constants

CONSTANTS = Constants(
    l1_us=0.0792,
    l2_us=0.2019,
    memory_us=0.6,
    start_us=1.05,
    first_us=0.9,
    fresh_us=0.349,
    barrier_us=0.015,
    steal_us=1.19,
    instruction_us=0.0024,
    issues_per_cycle=3.0,
    port_bytes_per_cycle=47.4,
    sharpness=3.0,
    memory_share=0.85,
)

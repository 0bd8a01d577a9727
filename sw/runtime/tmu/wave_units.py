"""What views of waves show of TMUs."""

from __future__ import annotations

from gnarl.sw.runtime.machine.waves.view import Unit

UNITS = (
    Unit(
        "access",
        bits=("done", "put", "put_vector", "waits_iteration", "waits_request", "waits_memory"),
        words=("put_data",),
        streams=("token", "store", "request", "answer"),
    ),
    Unit("access.generator_*", bits=("is_busy",), streams=("context", "steps")),
    Unit("queue", bits=("valid", "take", "take_vector"), numbers=("room",), words=("words",)),
    Unit("tokens", numbers=("room",), streams=("i", "o")),
    Unit(
        "execute",
        bits=("halted", "issued", "waits_data", "waits_token", "waits_memory", "waits_registers"),
        streams=("port__request", "port__response"),
    ),
    Unit("execute.sequencer", numbers=("pc",), streams=("token", "instruction")),
    Unit("hierarchy", bits=("idle", "hit", "miss"), streams=("access__*", "execute__*")),
)

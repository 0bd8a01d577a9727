"""What views of waves show of DPUs."""

from __future__ import annotations

from gnarl.sw.runtime.machine.waves.view import Unit

UNITS = (
    Unit(
        "fetch",
        bits=("run", "read_enable", "valid"),
        numbers=("row", "address"),
        words=("instruction",),
    ),
    Unit("issue", bits=("busy", "issue", "halt", "finished")),
    Unit(
        "decoder",
        bits=(
            *("is_exec", "is_copy", "is_load", "is_store", "is_nop", "is_halt"),
            *("read_enable", "load_enable", "store_enable"),
        ),
        numbers=("row",),
    ),
    Unit(
        "bank_0",
        bits=("read_enable", "write_enable", "valid_reset", "valid"),
        numbers=("read_address",),
        words=("word", "o"),
    ),
    Unit("tree_0", numbers=("operation",), words=("words", "results")),
    Unit(
        "data_memory",
        bits=("load_enable", "loaded", "store_enable"),
        numbers=("row",),
        words=("loads",),
    ),
)

"""Options of the compiler for in-SRAM computing."""

from __future__ import annotations

from sw.runtime.target import TargetOption

OPTIONS = (
    TargetOption(
        "--no-reassociate",
        "reassociate",
        commands=("compile",),
        flag_value=False,
        default=None,
        help="Add up in the source's order: no sums by halves, no common factors.",
    ),
)

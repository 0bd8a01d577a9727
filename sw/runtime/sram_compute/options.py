"""Options of the compiler for in-SRAM computing."""

from __future__ import annotations

from sw.runtime.target import reassociate_option

OPTIONS = (
    reassociate_option("Add up in the source's order: no sums by halves, no common factors."),
)

"""Options of the DPU's compiler."""

from __future__ import annotations

from gnarl.sw.runtime.target.option import reassociate_option

OPTIONS = (
    reassociate_option("Combine the operands of a sum or product from left to right, as given."),
)

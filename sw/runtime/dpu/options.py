"""Options of the DPU's compiler."""

from __future__ import annotations

from sw.runtime.target import TargetOption

OPTIONS = (
    TargetOption(
        "--no-reassociate",
        "reassociate",
        commands=("compile",),
        flag_value=False,
        default=None,
        help="Combine the operands of a sum or product from left to right, as given.",
    ),
)

"""How two-layer graph networks are fused, iterated and associated."""

from __future__ import annotations

from typing import Any

from gnarl.sw.compiler.sam.fuse.choices import GLOBAL
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule

NONE, LAYER, FULL = "none", "layer", "full"
LAYER_GLOBAL = "layer, global iteration"
ASSOCIATED, BEST = "associated, none", "associated, A·Y and ·W2 fused"

_PRODUCTS = ("adj*(x*conv1.weight)", "adj*(relu_0*conv2.weight)")
_SOFTMAX = ("softmax_max", "softmax_sub", "softmax_exp", "softmax_sum", "result")

VARIANTS: dict[str, dict[str, Any]] = {
    NONE: {"fuse": "none"},
    LAYER: {"fuse": "layer"},
    FULL: {"fuse": "full"},
    LAYER_GLOBAL: {"fuse": "layer", "iteration": GLOBAL},
    ASSOCIATED: {"fuse": "none", "schedule": Schedule(associate=_PRODUCTS)},
    BEST: {
        "schedule": Schedule(
            associate=_PRODUCTS,
            regions=(
                Region(("matmul",)),
                Region(("linear", "relu_0", "matmul_1")),
                Region(("linear_1", *_SOFTMAX)),
            ),
        )
    },
}
"""Options of the compiler by name: the paper's unfused, partially and fully fused models; partially
fused as Custard and Stardust iterate; and with the features' product first, unfused and in the best
regions."""

GCN, GRAPHSAGE = "gcn", "graphsage"

NETWORKS = {GCN: tuple(VARIANTS), GRAPHSAGE: (NONE, LAYER, FULL)}
"""Variants that are measured, by the example that has the network."""

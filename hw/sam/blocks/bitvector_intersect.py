"""Bitvector intersect: the coordinates that two bitvectors share."""

from __future__ import annotations

import operator

from hw.sam.blocks.bitvector_join import BitvectorJoin


class BitvectorIntersect(BitvectorJoin):
    """``BitvectorJoin`` of the ones in both lanes. Source: SAM, bitvector intersecter."""

    def __init__(self, width: int) -> None:
        super().__init__(width, operator.and_)

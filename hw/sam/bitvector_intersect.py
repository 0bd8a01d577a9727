"""Bitvector intersect: the coordinates that two bitvectors share."""

from __future__ import annotations

from amaranth.hdl import Value

from hw.sam.bitvector_join import BitvectorJoin


class BitvectorIntersect(BitvectorJoin):
    """``BitvectorJoin`` of the ones in both lanes. Source: SAM, bitvector intersecter."""

    def joined(self, word0: Value, word1: Value) -> Value:
        return word0 & word1

"""Bitvector union: the coordinates that either of two bitvectors has."""

from __future__ import annotations

from amaranth.hdl import Value

from hw.sam.bitvector_join import BitvectorJoin


class BitvectorUnion(BitvectorJoin):
    """``BitvectorJoin`` of the ones in either lane."""

    def joined(self, word0: Value, word1: Value) -> Value:
        return word0 | word1

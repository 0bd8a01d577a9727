"""Bitvector union: the coordinates that either of two bitvectors has."""

from __future__ import annotations

import operator

from hw.sam.blocks.bitvector_join import BitvectorJoin


class BitvectorUnion(BitvectorJoin):
    """``BitvectorJoin`` of the ones in either lane."""

    def __init__(self, width: int) -> None:
        super().__init__(width, operator.or_)

"""Kinds of blocks, as the machine's cycles tell them apart."""

from __future__ import annotations

(
    ROOT,
    RELAY,
    DENSE_LOOKUP,
    LOCATE,
    REPEAT,
    REPEAT_SIGNALS,
    INTERSECT,
    UNION,
    BITVECTOR_EXPAND,
    BITVECTOR_INTERSECT,
    BITVECTOR_UNION,
    DROP,
    HOLD,
    TO_POINTS,
    FROM_POINTS,
    DROP_VALUES,
    DEAL,
    DEAL_BY_CRD,
    COLLECT,
    COLLECT_VALUES,
    STEPS,
) = range(21)
"""Blocks that make steps; ``STEPS`` is how many."""

(
    PIPELINE,
    REDUCTION,
    ACCUMULATOR,
    VALUES,
    WORDS,
    LOOKUP,
    LEVEL_WRITER,
    BITVECTOR_WRITER,
) = range(STEPS, STEPS + 8)
"""Blocks with more inside."""

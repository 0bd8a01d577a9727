"""The golden model of stochastic rounding to float16, see ``gnarl/stochastic_rounding.cuh``."""

from __future__ import annotations

import numpy as np

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)


def philox(counter: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Philox4x32-10: uint32 [..., 4] of counters [..., 4] and one key [2]."""
    words = [counter[..., place].astype(np.uint64) for place in range(4)]
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    key = key.astype(np.uint32)
    for _ in range(10):
        first, second = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [
            second >> high ^ words[1] ^ np.uint64(key[0]),
            second & low,
            first >> high ^ words[3] ^ np.uint64(key[1]),
            first & low,
        ]
        key = key + np.array(_KEY_STEPS, np.uint32)
    return np.stack(words, axis=-1).astype(np.uint32)


def random_words(rows: np.ndarray, dim: int, table: int, words: np.ndarray) -> np.ndarray:
    """One for each element of the rows, uint32 [rows, dim].

    rows
        their numbers.
    words
        uint32 [3]: the iteration, and the two halves of the seed.
    """
    columns: np.ndarray = np.arange(dim, dtype=np.uint64)
    places: np.ndarray = rows.astype(np.uint64)[:, None] * np.uint64(dim) + columns
    fours = places // np.uint64(4)
    counter = np.empty((*places.shape, 4), np.uint32)
    counter[..., 0] = (fours & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    counter[..., 1] = (fours >> np.uint64(32)).astype(np.uint32)
    counter[..., 2] = table
    counter[..., 3] = words[0]
    found = philox(counter, words[1:])
    own = (places % np.uint64(4)).astype(np.int64)[..., None]
    return np.take_along_axis(found, own, axis=-1)[..., 0]


def round_stochastically(values: np.ndarray, random: np.ndarray) -> np.ndarray:
    """Float16 of float32, up or down by a random word each.

    What lies beyond the greatest float16, and NaN, is rounded to nearest. The mean over all words
    is the value; below 2^-14 to within 2^-24 of the distance of two float16 numbers.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    normal = (magnitude - np.uint32(0x38000000) + (random >> np.uint32(19))) >> np.uint32(13)
    small = magnitude < 0x38800000
    scaled = np.where(small, magnitude, np.uint32(0)).view(np.float32) * np.float32(2**24)
    whole = scaled.astype(np.uint32)
    up = (random >> np.uint32(8)).astype(np.float32) * np.float32(2**-24) < scaled - whole
    rounded = np.where(small, whole + up, normal) | bits >> np.uint32(16) & np.uint32(0x8000)
    with np.errstate(all="ignore"):
        nearest = values.astype(np.float16)
    return np.where(magnitude > 0x477FE000, nearest, rounded.astype(np.uint16).view(np.float16))

"""Elements of arrays by the tile and bitline that they lie in, and back."""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.sram_compute.tiles import Tiling


def spread(tiling: Tiling, values: np.ndarray) -> np.ndarray:
    """An array's elements, dimension 0 last, by tile and bitline; 0 where there is none."""
    padded = np.zeros(_padded(tiling), int)
    padded[tuple(slice(size) for size in tiling.shape[::-1])] = values
    pairs = zip(tiling.grid[::-1], tiling.tile[::-1], strict=True)
    split = padded.reshape([each for pair in pairs for each in pair])
    rank = len(tiling.shape)
    order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]
    return split.transpose(order).reshape(tiling.tiles, tiling.bitlines)


def gather(tiling: Tiling, found: np.ndarray) -> np.ndarray:
    """Inverse of ``spread``."""
    rank = len(tiling.shape)
    split = found.reshape([*tiling.grid[::-1], *tiling.tile[::-1]])
    order = [each for place in range(rank) for each in (place, rank + place)]
    padded = split.transpose(order).reshape(_padded(tiling))
    return padded[tuple(slice(size) for size in tiling.shape[::-1])]


def _padded(tiling: Tiling) -> list[int]:
    pairs = zip(tiling.grid[::-1], tiling.tile[::-1], strict=True)
    return [count * extent for count, extent in pairs]

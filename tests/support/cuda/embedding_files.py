"""Embedding models as the command line takes them, and values of one's own for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TABLES = ((50, 4), (20, 8), (30, 3))
BAGS = ("one-hot,1,1.0", "multi-hot-static,1,3,0.5", "multi-hot,1,5,2,9,0.8")
FEATURES = ("f0", "f1", "f2")


def write_model(folder: Path, name: str = "small") -> Path:
    """A model of three features: ``TABLES`` and ``BAGS``."""
    model = folder / name
    model.mkdir()
    (model / "table_config.txt").write_text("".join(f"{rows},{dim}\n" for rows, dim in TABLES))
    (model / "data_config.txt").write_text("".join(f"{line}\n" for line in BAGS))
    return model


def values() -> dict[str, np.ndarray]:
    """A batch of two samples and tables for ``write_model``'s: rows are their own numbers."""
    arrays: dict[str, np.ndarray] = {}
    for name, (rows, dim) in zip(FEATURES, TABLES, strict=True):
        arrays[f"{name}.indices"] = np.array([3, 1, 4])
        arrays[f"{name}.offsets"] = np.array([0, 1, 3])
        arrays[f"{name}.table"] = np.repeat(np.arange(rows, dtype=np.float32)[:, None], dim, 1)
    return arrays


def write_values(path: Path, **changed: np.ndarray | None) -> Path:
    """``values`` as a file, with arrays exchanged, or left out for ``None``.

    Keywords are names of arrays with ``_`` for the dot: ``f0_indices``.
    """
    arrays = values()
    for name, array in changed.items():
        key = name.replace("_", ".", 1)
        arrays.pop(key, None)
        if array is not None:
            arrays[key] = array
    np.savez(path, **arrays)
    return path

"""Small tensors in files, and expressions over them, for the ``gnarl`` command."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CONFIG = "sam_fp32"

HEADER = "%%MatrixMarket matrix coordinate real general\n"

PRODUCT = "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:ss -s=reorder(i,k,j)"

VECTOR = "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s"

COPY = "X(i,j)=B(i,j) -f=X:ss -f=B:ss"

B = np.array([[2.0, 0, 1, 0], [0, 4, 0, 0], [0, 0, 0, 5]])

C = np.array([[2.0, 0, 0], [0, 4, 0], [0, 3, 0], [0, 0, 5]])

VECTOR_C = np.array([2.0, 0, 4, 0])


def write_mtx(path: Path, matrix: np.ndarray) -> Path:
    places = np.argwhere(matrix)
    lines = [f"{i + 1} {j + 1} {matrix[i, j]!s}" for i, j in places.tolist()]
    rows, columns = matrix.shape
    path.write_text(f"{HEADER}{rows} {columns} {len(lines)}\n" + "\n".join(lines) + "\n")
    return path


def write_fibertree(folder: Path, name: str, **changes: str | None) -> Path:
    """``B`` compressed in a folder of the SAM tools; ``changes`` to its files, ``None``: left out.

    A file's name has no leading digit here: ``seg0`` is ``tensor_B_mode_0_seg``.
    """
    parts: dict[str, str | None] = {
        "seg0": "0\n3\n",
        "crd0": "0\n1\n2\n",
        "seg1": "0\n2\n3\n4\n",
        "crd1": "0\n2\n1\n3\n",
        "shape": "3\n4\n",
        "vals": "2\n1\n4\n5\n",
        **changes,
    }
    folder.mkdir(exist_ok=True)
    for part, text in parts.items():
        if text is not None:
            kind, mode = part.rstrip("01"), part[-1]
            file = f"{mode}_{kind}" if mode in "01" else part
            (folder / f"tensor_{name}_mode_{file}").write_text(text)
    return folder

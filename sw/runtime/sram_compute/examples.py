"""The demo's example of in-SRAM computing: heat along a rod."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gnarl.sw.program.atomic import atomic_path, write_text
from gnarl.sw.runtime.target.reader import Example

_POINTS = 4096
_SOURCE = f"""/* How heat spreads along a rod, in 16 steps of time. */

#define POINTS {_POINTS}

void heat(float a[POINTS], float b[POINTS]) {{
    for (int step = 0; step < 8; step++) {{
        for (int i = 1; i < POINTS - 1; i++)
            b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
        for (int i = 1; i < POINTS - 1; i++)
            a[i] = 0.25f * b[i - 1] + 0.5f * b[i] + 0.25f * b[i + 1];
    }}
}}
"""


def write_examples(folder: Path) -> list[Example]:
    """Writes a nest in C and its input to ``folder``. Returns it twice: where it takes the fewest
    cycles, which is on bitlines, and on the core beside them."""
    source, rod = folder / "heat.c", folder / "rod.npy"
    write_text(source, _SOURCE)
    temperatures = np.zeros(_POINTS, np.float32)
    temperatures[_POINTS // 4 : _POINTS // 2] = 100
    with atomic_path(rod) as temporary:
        np.save(temporary, temperatures)
    tensors = {"a": str(rod)}
    return [
        Example("heat", str(source), tensors),
        Example("heat_on_the_core", str(source), tensors, {"place": "core"}),
    ]

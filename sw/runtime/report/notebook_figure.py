"""Figures that notebooks show. To be imported when one is drawn: Matplotlib takes half a second."""

from __future__ import annotations

import io
import warnings
from typing import Any

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook shows once: it is none of ``pyplot``'s, which would add another."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()

    def savefig(self, *arguments: Any, **options: Any) -> None:
        with warnings.catch_warnings():
            # Names may have characters that no font has.
            warnings.filterwarnings("ignore", "Glyph")
            super().savefig(*arguments, **options)

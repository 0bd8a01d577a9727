"""Tables for consoles and for Markdown, from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True)
class Cells:
    """Texts: ``header`` [n], and ``body``, each of whose rows is [n]; the first ``names`` columns
    are names, the others figures."""

    header: Sequence[str]
    body: Sequence[Sequence[str]]
    names: int = 1

    def for_console(self, title: str) -> Table:
        """A table for consoles without markup."""
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for at, name in enumerate(self.header):
            table.add_column(name, justify="left" if at < self.names else "right")
        for row in self.body:
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        rule = ["---" if at < self.names else "---:" for at in range(len(self.header))]
        lines = [self.header, rule, *self.body]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

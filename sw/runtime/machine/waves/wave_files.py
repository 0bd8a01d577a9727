"""Wave files, and beside each what viewers show of it first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.atomic import atomic_path
from gnarl.sw.runtime.machine.waves.trace_names import cut_off, read_variables
from gnarl.sw.runtime.machine.waves.view import Group, Unit, view

_SAIF_END = b")\n"

GTKWAVE_SUFFIX, SURFER_SUFFIX = ".gtkw", ".sucl"


@dataclass(frozen=True)
class WaveFiles:
    """Files that a run with waves writes.

    trace
        the signals.
    gtkwave, surfer
        a save file of GTKWave and a command file of Surfer, which show some of them.
    """

    trace: Path
    gtkwave: Path
    surfer: Path

    @classmethod
    def beside(cls, trace: Path) -> WaveFiles:
        """Files that differ from the trace in their endings. Raises ``WorkloadError`` for a trace
        with one of these."""
        gtkwave, surfer = (trace.with_suffix(end) for end in (GTKWAVE_SUFFIX, SURFER_SUFFIX))
        if trace in (gtkwave, surfer):
            raise WorkloadError(
                f"{trace}: what viewers show of waves is written to {trace.suffix} files: waves "
                "must have another ending, such as .fst"
            )
        return cls(trace, gtkwave, surfer)

    @property
    def is_viewed(self) -> bool:
        """Whether the trace has waves: ``.saif`` files have not."""
        return self.trace.suffix != ".saif"

    def write_views(self, units: Sequence[Unit]) -> None:
        """Writes both views of a complete trace, if it has waves. Raises ``OSError``, also for a
        trace that is not whole."""
        if not self.is_viewed:
            _require_end(self.trace)
        else:
            groups = view(read_variables(self.trace), units)
            with atomic_path(self.gtkwave) as path:
                _write_gtkwave(groups, path)
            with atomic_path(self.surfer) as path:
                path.write_text("\n".join([*_surfer_commands(groups), ""]), encoding="utf-8")


@contextmanager
def whole_wave_files(trace: Path) -> Iterator[WaveFiles]:
    """Temporary files, which become those ``beside`` a trace if the block ends well; else none
    does. Raises ``OSError`` and ``WorkloadError`` before the block, as ``atomic_path`` does."""
    files = WaveFiles.beside(trace)
    with ExitStack() as stack:
        whole = stack.enter_context(atomic_path(files.trace))
        gtkwave, surfer = files.gtkwave, files.surfer
        if files.is_viewed:
            gtkwave, surfer = (stack.enter_context(atomic_path(path)) for path in (gtkwave, surfer))
        yield WaveFiles(whole, gtkwave, surfer)


def _require_end(path: Path) -> None:
    """Raises ``OSError`` for a SAIF file that is not whole."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, SEEK_END) - len(_SAIF_END)))
        if file.read() != _SAIF_END:
            raise cut_off(path)


def _write_gtkwave(groups: Sequence[Group], path: Path) -> None:
    # Not at the top: few runs need it.
    from vcd.gtkw import GTKWSave

    with path.open("w", encoding="utf-8") as file:
        save = GTKWSave(file)
        save.timestart(0)
        for scope in {shown.variable.scope: None for group in groups for shown in group.shown}:
            save.treeopen(".".join(scope))
        for group in groups:
            with save.group(group.name):
                for shown in group.shown:
                    name = f"{shown.variable.path}{shown.variable.bits}"
                    save.trace(name, datafmt=shown.radix)


def _surfer_commands(groups: Sequence[Group]) -> Iterator[str]:
    """A divider for each group, and then the signals that are not shown in Surfer's own radix,
    which is hexadecimal."""
    items: list[tuple[str, str]] = []
    for group in groups:
        yield f"divider_add {group.name}"
        items.append((group.name, "hex"))
        for shown in group.shown:
            yield f"variable_add {shown.variable.path}"
            items.append((shown.variable.path, shown.radix if shown.variable.bits else "hex"))
    for place, (name, radix) in enumerate(items):
        if radix != "hex":
            yield f"item_focus {_letters(place)}_{name}"
            yield f"item_set_format {_SURFER_FORMATS[radix]}"
    yield "item_unfocus"
    yield "zoom_fit"


_SURFER_FORMATS = {"bin": "Binary", "dec": "Unsigned"}


def _letters(place: int) -> str:
    """The letters by which Surfer calls the item at a place, digits of a number to the base 26."""
    letters = chr(ord("a") + place % 26)
    return letters if place < 26 else _letters(place // 26) + letters

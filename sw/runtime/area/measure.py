"""Measures what a configuration's hardware costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gnarl.hw.lib.memory.size import MemorySize
from gnarl.sw.runtime.area.activity import DEFAULT, Activity, output_signals, read_activity
from gnarl.sw.runtime.area.component import Component, build_tree
from gnarl.sw.runtime.area.liberty import CellLibrary, load_cells
from gnarl.sw.runtime.area.liberty_text import LibraryError
from gnarl.sw.runtime.area.macros import Macro, fit, load_macros
from gnarl.sw.runtime.area.netlist import parse_netlist
from gnarl.sw.runtime.area.report import AreaReport, Memory, Row, instance_names, make_rows
from gnarl.sw.runtime.area.synthesis import cost_of, synthesise
from gnarl.sw.runtime.area.timing import LongestPath, OpenSta
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.verilog import module_name, verilog


@dataclass(frozen=True)
class Measured:
    """What Verilog costs: its components, its memories, and the longest path of the whole.

    ``switching``: pins whose activity is that of a run, if it was given.
    """

    root: Row
    memories: Sequence[Memory]
    clock: LongestPath | None
    switching: int | None


def measure(
    configuration: NamedConfiguration,
    liberty: Path | None = None,
    macro_files: Sequence[Path] = (),
    activity_file: Path | None = None,
    stages: Stages = quiet,
) -> AreaReport:
    """What a configuration's hardware costs, with the cells of ``liberty`` and memories of macros.

    Seconds for a small DPU, minutes for a large one; netlists are cached. Raises ``LibraryError``
    for files that do not serve, ``ActivityError``, ``SynthesisError``, ``TimingError``.

    activity_file
        of a run, for the power; see ``read_activity``.
    """
    library = load_cells(liberty) if liberty else None
    macros = {path: load_macros(path) for path in macro_files}
    with stages("generate Verilog"):
        text = verilog(configuration)
    name = module_name(configuration)
    activity = read_activity(activity_file, name) if activity_file else None
    measured = measure_verilog(text, name, library, macros, activity, stages)
    return AreaReport(
        configuration.name,
        configuration.target.name,
        configuration.config.digest,
        configuration.overrides,
        measured.root,
        measured.memories,
        library,
        measured.clock,
        f"{activity_file}" if activity_file else "default",
        measured.switching,
        configuration.config.computing,
        configuration.config.compute_bits,
    )


def measure_verilog(
    verilog: str,
    top: str,
    library: CellLibrary | None,
    macros: Mapping[Path, Sequence[Macro]] = {},
    activity: Activity | None = None,
    stages: Stages = quiet,
) -> Measured:
    """Measures module ``top``, see ``measure``; paths and power where there are cells and
    OpenSTA."""
    with stages("synthesise"):
        netlist = synthesise(verilog, top, library)
    modules = parse_netlist(netlist)
    tree = build_tree(modules, top, lambda kind: cost_of(kind, library))
    memories = _memories(tree, macros)
    paths: dict[str, LongestPath] = {}
    power = None
    switching = None
    if library is not None and (activity is not None or OpenSta.is_installed()):
        outputs = output_signals(tree, modules, library)
        pins = dict.fromkeys(outputs, DEFAULT)
        if activity is not None:
            active = activity.of_pins(outputs)
            pins, switching = pins | active, len(active)
        sizes = {memory.size for memory in memories}
        sta = OpenSta(modules, library.path, sizes)
        with stages("longest paths"):
            paths = sta.longest_paths()
        if top in paths:
            with stages("power"):
                power = sta.power(top, paths[top].delay_ns, pins)
    root = make_rows(tree, paths, power, top)
    clock = _named(paths.get(top), instance_names(tree))
    return Measured(root, memories, clock, switching)


def _memories(tree: Component, macros: Mapping[Path, Sequence[Macro]]) -> list[Memory]:
    """The memories of a tree, equal ones at one place together.

    Raises ``LibraryError`` where a file has no macro for any of them.
    """
    every = [macro for found in macros.values() for macro in found]
    memories: list[Memory] = []

    def visit(component: Component, path: str, copies: int) -> None:
        if size := component.memory:
            memories.append(Memory(path, size, copies, fit(size, every)))
        for part in component.parts:
            visit(part, f"{path}/{part.name}" if path else part.name, copies * part.copies)

    visit(tree, "", 1)
    sizes = sorted({memory.size for memory in memories})
    for path, found in macros.items():
        if not any(fit(size, found) for size in sizes):
            raise LibraryError(f"{path}: no memory in it serves this design: must {_needed(sizes)}")
    return memories


def _needed(sizes: Sequence[MemorySize]) -> str:
    if not sizes:
        return "be left out, since the design has no memories"
    texts = (f"{size.rows} rows and {size.ports} ports" for size in sizes)
    return f"have at least {', or '.join(dict.fromkeys(texts))}"


def _named(path: LongestPath | None, names: Mapping[str, str]) -> LongestPath | None:
    """The path with components called as designers called them."""
    if path is None:
        return None
    return replace(path, start=names.get(path.start, path.start), end=names.get(path.end, path.end))

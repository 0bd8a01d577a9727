"""Where to find what targets of other packages import, or define, by names that are no more."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gnarl.hw.lib.errors import ConfigError, one_line
from gnarl.sw.program.paths import HARDWARE, SOFTWARE

_ROOTS = {"hw": HARDWARE, "sw": SOFTWARE}

_HERE = "sw.runtime.target"

_RENAMED = {
    "sw.targets": f"{_HERE}.registry",
    "sw.runtime.target": f"{_HERE}.contract",
    "sw.runtime.host_target": f"{_HERE}.host_executor",
    "sw.runtime.target.host_target": f"{_HERE}.host_executor",
    "sw.runtime.target.generated": f"{_HERE}.generator",
}
"""Modules that have another last name now, or were another's folder, as from ``gnarl``."""

_GUIDE = "see A target in docs/development.md"


class DerivedTargetError(ConfigError):
    """A class derived from ``Target``, which was the way to write one."""

    def __init__(self, kind: type, parts: Iterable[type]) -> None:
        """``parts``: classes that have methods now that were of ``Target``."""
        methods: dict[str, list[str]] = {}
        for name in vars(kind):
            part = next((each for each in parts if name in vars(each) and name[0] != "_"), None)
            if part is not None:
                methods.setdefault(f"{part.__module__}.{part.__name__}", []).append(name)
        shown = "; ".join(f"{', '.join(names)}: of a {part}" for part, names in methods.items())
        text = f"{kind.__name__}: a Target is made of parts, none may be derived from it"
        super().__init__([": ".join(filter(None, [text, shown, _GUIDE]))])


def new_names(error: BaseException) -> str:
    """What to import or to write instead where old names are the reason; empty otherwise."""
    if isinstance(error, DerivedTargetError):
        return str(error)
    if isinstance(error, TypeError) and f"{_HERE}.contract.Target'" in str(error):
        return f"a Target is made of parts, none may be derived from it: {_GUIDE}"
    if isinstance(error, TypeError) and re.match(r"Pass\w*\.__init__\(\) missing", str(error)):
        return f"{one_line(error)}: a Pass has texts and run: see A new pass in docs/development.md"
    if not isinstance(error, ImportError):
        return ""
    root = (error.name or "").partition(".")[0]
    place = _importer(error)
    if place is None or root not in (*_ROOTS, "gnarl"):
        return ""
    path = Path(place.filename)
    moves = [
        move
        for line, module, names in _imports(path)
        if (line == place.lineno if root == "gnarl" else module.partition(".")[0] in _ROOTS)
        for move in _moves(module, names)
    ]
    return f"{path.name}: {', '.join(dict.fromkeys(moves))}: {_GUIDE}" if moves else ""


def _importer(error: ImportError) -> traceback.FrameSummary | None:
    """The last place on the way to an error that is none of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [
        frame
        for frame in frames
        if Path(frame.filename).is_file()
        and not any(map(Path(frame.filename).resolve().is_relative_to, _ROOTS.values()))
    ]
    return outside[-1] if outside else None


def _imports(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Line, module and names of each import of a file."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module, [each.name for each in node.names]
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, each.name, []) for each in node.names)


def _moves(module: str, names: Sequence[str]) -> Iterator[str]:
    """Says where an old module is now, and names of it that are elsewhere."""
    inner = [name for name in names if _is_module(f"{module}.{name}".removeprefix("gnarl."))]
    for name in inner:
        yield from _moves(f"{module}.{name}", [])
    names = [name for name in names if name not in inner]
    if module == "gnarl" or (inner and not names):
        return
    home = _home(module.removeprefix("gnarl."))
    if home is None:
        yield f"{module} is no more"
        return
    if _name_of(home) != module:
        yield f"{module} is now {_name_of(home)}"
    for name in names:
        if not re.search(rf"\b{re.escape(name)}\b", home.read_text(encoding="utf-8")):
            beside = sorted(home.parent.glob("*.py"))
            yield from (f"{name} is in {_name_of(each)}" for each in beside if _has(each, name))


def _is_module(name: str) -> bool:
    """Whether a name that is imported from a package is a module of it, or was one."""
    root, *parts = name.split(".")
    is_one = root in _ROOTS and _ROOTS[root].joinpath(*parts).with_suffix(".py").is_file()
    return is_one or name in _RENAMED


def _home(module: str) -> Path | None:
    """The file of the module that an old one is now."""
    root, *parts = _RENAMED.get(module, module).split(".")
    if root not in _ROOTS:
        return None
    path = _ROOTS[root].joinpath(*parts)
    if not parts:
        return path / "__init__.py"
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    same = sorted(_ROOTS[root].rglob(f"{parts[-1]}.py"))
    below = [each for each in same if _ROOTS[root].joinpath(parts[0]) in each.parents]
    if len(below or same) == 1:
        return (below or same)[0]
    return path / "__init__.py" if path.is_dir() else None


def _has(path: Path, name: str) -> bool:
    """Whether a module defines a name."""
    pattern = rf"^(?:(?:class|def) {re.escape(name)}\b|{re.escape(name)}\b *[:=])"
    return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def _name_of(path: Path) -> str:
    root, folder = next(each for each in _ROOTS.items() if each[1] in path.parents)
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(["gnarl", root, *(each for each in parts if each != "__init__")])

"""Hardware configurations from TOML files, found by name or path, with fields overridden."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import (
    FEWER_DIGITS,
    ConfigError,
    Violation,
    damaged_as,
    has_too_many_digits,
    quoted,
)
from gnarl.hw.lib.text_lines import BLANKS, text_lines
from gnarl.sw.program.command_files import note_input
from gnarl.sw.program.paths import CONFIGURATIONS, files_in
from gnarl.sw.runtime.target.contract import NamedConfiguration
from gnarl.sw.runtime.target.registry import TARGETS, others


def configuration_files() -> dict[str, Path]:
    """The configurations that can be called by name, those of all targets; sorted by name."""
    folders = [target.configurations for target in others()[0].values()]
    files = {path.stem: path for folder in reversed(folders) for path in folder.glob("*.toml")}
    files |= _own_files()
    return {name: files[name] for name in sorted(files)}


def _own_files() -> dict[str, Path]:
    return {path.stem: path for path in files_in(CONFIGURATIONS, "*.toml")}


def configuration_notes() -> list[tuple[str, str, str]]:
    """Name, target and note of each of them; other fields are not checked.

    Raises ``ConfigError`` as ``load_configuration`` does.
    """
    notes = []
    for name, path in configuration_files().items():
        text, fields = _read(path)
        notes.append((name, _target(fields, text, path), _note(text)))
    return notes


def load_configuration(
    name: str | Path, overrides: Sequence[str] = (), swept: Sequence[str] = ()
) -> NamedConfiguration:
    """The configuration called ``name``, or in the TOML file ``name``.

    overrides
        texts ``field=value``; a value is TOML, or else taken as a string: ``format=float16``.
    swept
        such texts of one point of a sweep, of fields that are not among ``overrides``.

    Raises ``ConfigError`` that names file and line, or the override, of each bad field.
    """
    path = _find(str(name))
    with damaged_as(ConfigError, path):
        text, fields = _read(path)
    target = TARGETS[_target(fields, text, path)]
    with damaged_as(ConfigError, "--set"):
        changed = _overrides(overrides)
    # `--set` comes last: for the fields that it changes, it is the place to name.
    places = {field: f"{path}:{_line(text, field)}" for field in fields}
    places |= {field: "--set" for field in changed}
    for each in swept:
        field, value = parse_override(each, "--sweep")
        changed[field] = value
        places[field] = f"--sweep {each}"
    try:
        config = target.compiler.resolve(target.configuration.from_dict(fields | changed))
    except ConfigError as error:
        raise ConfigError([_placed(text, places, path) for text in error.violations]) from error
    return NamedConfiguration(path.stem, _note(text), target, config, changed)


def _find(name: str) -> Path:
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise ConfigError([f"{name}: no such file"])
        return Path(name)
    # Without loading targets of other packages, whose imports this machine may lack.
    own = _own_files()
    if name in own:
        return own[name]
    files = configuration_files()
    if name not in files:
        raise ConfigError(
            [
                f"{name}: no such configuration; there are {', '.join(files)}, and paths of .toml "
                "files"
            ]
        )
    return files[name]


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's text, and what it says."""
    note_input(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Errors of tomllib have the line only in their text, before Python 3.14.
        reason, place, column = str(error), "", ""
        if located := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", reason):
            reason, place, column = located[1], f":{located[2]}", f" at column {located[3]}"
        elif (end := " (at end of document)") in reason:
            reason, place = reason.removesuffix(end), f":{max(1, len(text_lines(text)))}"
        raise ConfigError([f"{path}{place}: not TOML: {reason}{column}"]) from error
    except ValueError as error:
        if not has_too_many_digits(error):
            raise
        place = f"{path}:{_long_number(text)}"
        raise ConfigError([f"{place}: a number has too many digits: {FEWER_DIGITS}"]) from None


def _long_number(text: str) -> int:
    """The line of the first number that ``tomllib`` refuses for its digits."""
    lines = text_lines(text)
    for number, line in enumerate(lines, 1):
        if len(line) > sys.get_int_max_str_digits():
            try:
                tomllib.loads("\n".join(lines[:number]))
            except tomllib.TOMLDecodeError:
                continue  # it may go on in the next line
            except ValueError:
                return number
    return len(lines)


def _target(fields: dict[str, Any], text: str, path: Path) -> str:
    """Removes the target's name from the fields, and returns it."""
    known = ", ".join(f'"{name}"' for name in TARGETS)
    if "target" not in fields:
        raise ConfigError([f"{path}: no target: must have a line target = one of {known}"])
    name = fields.pop("target")
    if not isinstance(name, str) or name not in TARGETS:
        place = f"{path}:{_line(text, 'target')}"
        raise ConfigError([f"{place}: target = {quoted(name)}: must be one of {known}"])
    return name


def _overrides(texts: Sequence[str]) -> dict[str, Any]:
    """Values by field, each given once."""
    overrides: dict[str, Any] = {}
    for text in texts:
        field, value = parse_override(text)
        if field in overrides:
            raise ConfigError([f"--set {text}: {field} is given twice: must be given once"])
        overrides[field] = value
    return overrides


def parse_override(text: str, option: str = "--set") -> tuple[str, Any]:
    """Field and value of a text ``field=value``. Raises ``ConfigError`` that names ``option``."""
    field, equals, value = text.partition("=")
    if not equals or not field.strip():
        raise ConfigError([f"{option} {text}: must be field=value"])
    try:
        values = tomllib.loads(f"value = {value}")
    except ValueError:
        values = {}
    return field.strip(), values["value"] if len(values) == 1 else value.strip()


def _line(text: str, field: str) -> int:
    """The line on which a top-level field is set; TOML allows it once."""
    pattern = re.compile(rf"""[ \t]*(?:\[[ \t]*)?["']?{re.escape(field)}["']?[ \t]*[=.\]]""")
    lines = text_lines(text)
    return next((at for at, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _placed(violation: str, places: dict[str, str], path: Path) -> str:
    """A violation after the place where its field was set."""
    place = places.get(violation.field, path) if isinstance(violation, Violation) else path
    return f"{place}: {violation}"


def _note(text: str) -> str:
    comments = []
    for line in text_lines(text):
        if not line.startswith("#"):
            break
        comments.append(line.lstrip(f"#{BLANKS}").rstrip(BLANKS))
    return " ".join(comments)

"""Damage to a command line."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.damage_text import NUMBERS, ODD, TEXT

_FIXED = "--backend="
"""Stays, and stays first: nothing is to be built."""

_NAMES = (
    *("$^{$", "$x$", "ünïcode", "a b", "new\nline", "tab\t", "-x", "--json", "名前", "🙂", "%s"),
    *("a" * 200, "\udcff", "\x1b[31m", "'", '"', "[red]x", "&amp;", "#", "a=b"),
    *(".hidden", "...", "~", "*", "{0}", "\\", "\u202eabc", "a,b", "out", "CON", ":", "_"),
)


def damage_words(command: list[str], random: Random) -> list[str]:
    places = [at for at, word in enumerate(command) if not word.startswith(_FIXED)]
    if not places:
        return command
    at, other = random.choice(places), random.choice(places)
    words = list(command)
    match random.choice(("text", "text", "text", "number", "odd", "drop", "double", "swap")):
        case "text":
            words[at] = random.choice(TEXT)(words[at], random)
        case "number":
            words[at] = random.choice(NUMBERS)
        case "odd":
            words[at] = random.choice((*ODD, ".", "\udcff"))
        case "drop":
            del words[at]
        case "double":
            words.insert(max(at, 2) + 1, words[at])
        case "swap":
            words[at], words[other] = words[other], words[at]
    # A command line ends its words with NUL, so that none can have one.
    return [word.replace("\0", "") for word in words]


def rename(folder: Path, path: Path, command: list[str], random: Random) -> list[str]:
    """A file by another name, with the same ending."""
    name = random.choice(_NAMES) + path.suffix
    path.rename(folder / name)
    return [name if word == path.name else word for word in command]

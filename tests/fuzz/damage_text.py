"""Damage to the words and lines of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Change = Callable[[str, Random], str]

NUMBERS = (
    *("-1", "0", "-0.0", "1", "2", "3.5", "007", "+1", "1_0", "0x10", "1e3", ".5", "5."),
    *(str(2**31 - 1), str(2**31), str(2**32), str(2**63 - 1), str(2**63), str(-(2**63) - 1)),
    *("1e39", "-1e39", "1e308", "1e309", "1e-46", "1e-320", "5e-324", "1" + "0" * 400),
    *("nan", "inf", "-inf", "Infinity", "NaN", "-nan", "", "9" * 5000, "²", "٣", "1e999999999"),
)
"""Spellings that readers may take for numbers, or should not."""

ODD = (
    *("", " ", "\t", "\n", "\r", "\x0b", "\x1b[31m", "\x7f", "\ufeff", "\u2028", "\u202e", "\x85"),
    *("ünïcode", "名前", "🙂", "a" * 40_000, "(" * 40_000, "[" * 40_000, "{" * 2000),
    *('"', "'", "\\", "$^{$", "%s%n", "{0}", "../x", "/dev/null", "#", "<!--", "]]>", "&a;", ";"),
    *("None", "true", "__import__('os')", "[]", "{}", "()", "=", ",", ":", "*", "+", "-"),
)

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]|\s")


def change_number(text: str, random: Random) -> str:
    return _replace(_NUMBER, text, random, lambda found: random.choice(NUMBERS))


def nudge_number(text: str, random: Random) -> str:
    """To another number of the same kind, which may well be right."""

    def near(found: str) -> str:
        if not found.lstrip("+-").isdecimal():
            return repr(float(found) * random.choice((-1.0, 0.5, 1.25)))
        return str(int(found) + random.choice((-1, 1, 2)))

    return _replace(_NUMBER, text, random, near)


def change_word(text: str, random: Random) -> str:
    words = _WORD.findall(text) or ["x"]
    return _replace(_WORD, text, random, lambda found: random.choice([*ODD, *words]))


def change_case(text: str, random: Random) -> str:
    return _replace(_WORD, text, random, str.swapcase)


def drop_token(text: str, random: Random) -> str:
    return _replace(_TOKEN, text, random, lambda found: "")


def double_token(text: str, random: Random) -> str:
    return _replace(_TOKEN, text, random, lambda found: found + random.choice(("", " ")) + found)


def insert_odd(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice((*ODD, "\0")) + text[at:]


def drop_line(text: str, random: Random) -> str:
    return _lines(text, random, lambda line: "")


def double_line(text: str, random: Random) -> str:
    return _lines(text, random, lambda line: line * random.choice((2, 2, 3, 1000)))


def cut_line(text: str, random: Random) -> str:
    return _lines(text, random, lambda line: line[: random.randrange(len(line) + 1)] + "\n")


def blank_line(text: str, random: Random) -> str:
    return _lines(text, random, lambda line: line + random.choice(("\n", " \n", "\t\n", "\f\n")))


def move_line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        line = lines.pop(random.randrange(len(lines)))
        lines.insert(random.randrange(len(lines) + 1), line)
    return "".join(lines)


def line_ends(text: str, random: Random) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\n\n", "\0", "")))


def spaces(text: str, random: Random) -> str:
    return text.replace(" ", random.choice(("  ", "\t", "\u00a0", "", " " * 1000)))


def _replace(
    pattern: re.Pattern[str], text: str, random: Random, change: Callable[[str], str]
) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + change(match[0]) + text[match.end() :]


def _lines(text: str, random: Random, change: Callable[[str], str]) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        at = random.randrange(len(lines))
        lines[at] = change(lines[at])
    return "".join(lines)


TEXT: tuple[Change, ...] = (
    *(change_number, change_number, change_number, nudge_number, nudge_number),
    *(change_word, change_word, change_case, drop_token, drop_token, double_token, insert_odd),
    *(drop_line, double_line, cut_line, blank_line, move_line, line_ends, spaces),
)
"""Some more often than others."""

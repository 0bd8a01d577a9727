"""Damage to a Python file that commands run."""

from __future__ import annotations

from random import Random

from tests.fuzz.damage_text import (
    blank_line,
    change_number,
    drop_line,
    drop_token,
    nudge_number,
)

_STATEMENTS = (
    *("raise ValueError", "raise ValueError('a\\nb')", "raise SystemExit(0)", "exit(3)", "1 / 0"),
    *("model = None", "model = []", "model.features = ()", "import nothing", "assert False"),
    *(
        "class E(Exception):\n    __str__ = None\nraise E",
        "raise BaseException",
        "def f(): f()\nf()",
    ),
    *("class E(Exception):\n    def __str__(self): raise self\nraise E", "\\", "("),
    *("del model", "raise OSError(2, 'gone', 'x')", "raise Warning"),
    *("raise ExceptionGroup('two', [OSError()])"),
    *("class E(BaseException):\n    def __repr__(self): 1 / 0\nraise E", "raise GeneratorExit"),
)


def insert_statement(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines) + 1)
    return "".join([*lines[:at], random.choice(_STATEMENTS) + "\n", *lines[at:]])


PYTHON = (
    *(insert_statement, insert_statement, insert_statement, change_number, nudge_number),
    *(drop_token, drop_line, blank_line),
)

"""Whole command lines: options of every verb, with hostile values."""

from __future__ import annotations

from random import Random

import click

from gnarl.sw.commands.main import main
from tests.fuzz.damage_text import NUMBERS, ODD

_NAMES = ("dpu_d1_b8", "sam_fp32", "tmu_l2", "sram_b2", "cuda_sm90", "graph.edgelist", "dpu.npz")
_FILES = ("B.mtx", "values.json", "nest.py", "cells.c", "dpu.toml", "small", "tree", "nothing", ".")
_PAIRS = ("B=B.mtx", "x=x.npy", "=", "a=", "=a", "a=b=c", "n=5", "n=0", "n=-1", "n=1e9", "depth=2")
_OUTPUTS = ("out.npz", "out", "nothing/out", "graph.edgelist", "/dev/full", ".", "")

_BUILDS = ("--backend", "--set", "--port", "--waves")
"""Options that may ask for hardware to be built, for which a case has neither time nor tools."""

_SHOWN = ("configs", "passes", "disasm")

VERBS = tuple(name for name in main.commands if name != "demo")
"""``demo`` runs all of its examples on the RTL."""


def add_options(command: list[str], random: Random) -> list[str]:
    """A command that is right, and options of its verb that may not be."""
    found = list(command)
    options = _options(command[0])
    for _ in range(random.choice((1, 1, 2, 3))):
        if not options:
            break
        option = random.choice(options)
        found += _spelled(option, random)
    return [word.replace("\0", "") for word in found]


def draw_line(command: list[str], random: Random) -> list[str]:
    """A verb, with words and options as they come: hardly ever right."""
    verb = random.choice(VERBS)
    words = [_value(random) for _ in range(random.randrange(4))]
    options = _options(verb)
    for _ in range(random.randrange(4)):
        if options:
            words += _spelled(random.choice(options), random)
    random.shuffle(words)
    backend = ["--backend=model"] if verb in ("run", "compare") else []
    return [verb, *backend, *(word.replace("\0", "") for word in words)]


def _options(verb: str) -> list[click.Option]:
    found = main.commands[verb]
    context = click.Context(found, info_name=verb)
    return [
        each
        for each in found.get_params(context)
        if isinstance(each, click.Option) and not {*each.opts} & {*_BUILDS, "--help"}
    ]


def _spelled(option: click.Option, random: Random) -> list[str]:
    name = random.choice(option.opts)
    if option.is_flag:
        return [name]
    value = _value(random)
    return [f"{name}={value}"] if name.startswith("--") and random.random() < 0.5 else [name, value]


def _value(random: Random) -> str:
    kinds = (_NAMES, _FILES, _PAIRS, _OUTPUTS, NUMBERS, ODD)
    return random.choice(random.choice(kinds))


OPTIONS = (add_options, add_options, draw_line)

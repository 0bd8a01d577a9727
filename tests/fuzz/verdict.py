"""Whether a command did with damaged input what commands do."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, Never

from tests.fuzz.cases import Case
from tests.fuzz.formats import OUTPUTS

State = Mapping[str, Any]

BAD_INPUT = 2
DIFFERENT = 1

_OUTPUT_OPTIONS = ("-o", "--output")
_LONGEST_LINE = 2500
_MEMORY = re.compile("MemoryError|out of memory", re.IGNORECASE)
_WARNING = re.compile(r"warning:|Exception ignored", re.IGNORECASE)
_OF_INPUT = re.compile(r"^gnarl: warning: \S+: entry .* is added to entry .*\n", re.MULTILINE)
"""What a command may warn of: entries of one place."""


def failure(case: Case, status: int, stdout: str, stderr: str, before: State, after: State) -> str:
    """What is wrong with a case that ended; nothing if it is as it should be.

    status
        of the process: minus the signal that ended it.
    before, after
        contents of its folder by path.
    """
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    if "Traceback" in stderr:
        return "Traceback on stderr"
    if status not in (0, DIFFERENT, BAD_INPUT):
        return f"exit status {status}"
    if status == BAD_INPUT:
        return _refusal(stdout, stderr) or _difference(before, after)
    if status == DIFFERENT and not case.format.computes:
        return "results differ from the golden model's"
    if found := _WARNING.search(_OF_INPUT.sub("", stderr)):
        return f"{found[0]} on stderr"
    if "--json" in case.command and (text := _not_json(stdout)):
        return text
    return _difference(before, after, written=case.command)


def _refusal(stdout: str, stderr: str) -> str:
    if stdout:
        return "refused, but something is on stdout"
    lines = stderr.count("\n")
    if lines != 1 or not stderr.endswith("\n"):
        return f"{lines} lines on stderr: must be one"
    if len(stderr) > _LONGEST_LINE:
        return f"{len(stderr)} characters on stderr: must be at most {_LONGEST_LINE}"
    if not stderr.startswith("gnarl"):
        return "the line on stderr does not begin with the command"
    if not stderr.rstrip("\n").isprintable():
        return "unprintable characters on stderr"
    if _MEMORY.search(stderr):
        return "out of memory"
    return ""


def _not_json(stdout: str) -> str:
    def refuse(constant: str) -> Never:
        raise ValueError(f"{constant} is no JSON")

    try:
        json.loads(stdout, parse_constant=refuse)
    except ValueError as error:
        return f"stdout with --json: {error}"
    return ""


def _difference(before: State, after: State, written: Collection[str] | None = None) -> str:
    """What has happened to the folder; ``written`` are words of a command that may write."""
    words = [part for word in written or () for part in word.split("=", 1)]
    outputs = {name for option, name in pairwise(words) if option in _OUTPUT_OPTIONS}
    for path in sorted({*before, *after}):
        top = path.split("/")[0]
        if path in before and path in after and path in outputs:
            continue
        if top in OUTPUTS and path in before:  # a journal, which commands go on with
            continue
        if written is not None and path not in before and top in {*OUTPUTS, *words}:
            continue
        if path not in after:
            return f"{path!r} was removed"
        if path not in before:
            return f"{path!r} was left"
        if before[path] != after[path]:
            return f"{path!r} was changed"
    return ""

"""Random functions in C whose results hang on the types of numbers: decimal, octal, hexadecimal and
unsigned ones at the edges of types, behind minus signs, in macros, beside elements of all types."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.machine.tools import run_tool

TYPES = {
    "t": ("int", np.int32),
    "w": ("unsigned", np.uint32),
    "c": ("int8_t", np.int8),
    "h": ("uint16_t", np.uint16),
    "x": ("float", np.float32),
}
"""Arrays that functions read, by name: types of C and NumPy."""

RESULTS = {
    "r": ("int", np.int32),
    "q": ("unsigned", np.uint32),
    "b": ("uint8_t", np.uint8),
    "y": ("float", np.float32),
}
COUNT = 8
"""Elements of an array."""

_EDGES = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1)
_MACROS = {"LOW": "-5", "HIGH": "0xffffffff", "MANY": "3000000000u", "LEAST": "(-2147483648)"}
_HEAD = "#include <stdint.h>\n#include <stdlib.h>\n" + "".join(
    f"#define {name} {number}\n" for name, number in _MACROS.items()
)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def parameters() -> str:
    given = [f"const {kind} {name}[n]" for name, (kind, _) in TYPES.items()]
    return ", ".join(
        ["int n", *given, *(f"{kind} {name}[n]" for name, (kind, _) in RESULTS.items())]
    )


def function(random: Random, name: str) -> str:
    """A definition, of one statement for each result."""
    lines = "".join(f"    {each}[i] = {_value(random, 3)};\n" for each in RESULTS)
    return f"void {name}({parameters()}) {{\n  for (int i = 0; i < n; i++) {{\n{lines}  }}\n}}\n"


def source(functions: Sequence[str]) -> str:
    return _HEAD + "".join(functions)


def _value(random: Random, depth: int) -> str:
    """An expression of whole numbers."""
    if depth == 0 or random.random() < 0.15:
        return random.choice((_number(random), f"{random.choice('twch')}[i]"))

    def part() -> str:
        return _value(random, depth - 1)

    match random.randrange(9):
        case 0:
            return f"({_condition(random, depth - 1)} ? {part()} : {part()})"
        case 1:
            return f"(- {part()})"
        case 2:
            kind = random.choice(("int", "unsigned", "int8_t", "uint16_t", "short", "bool"))
            return f"({kind.replace('bool', '_Bool')})({part()})"
        case 3:
            return f"({_condition(random, depth - 1)})"
        case 4:
            return f"({part()} {random.choice('/%')} {random.choice(('2', '3u', '07', '0x10'))})"
        case 5:
            return f"({part()} {random.choice(('<<', '>>'))} {random.randrange(31)})"
        case _:
            return f"({part()} {random.choice('+-*')} {part()})"


def _condition(random: Random, depth: int) -> str:
    left, right = _value(random, depth), _value(random, depth)
    if random.random() < 0.2:
        left = f"x[{random.choice(('i', '0'))}]"
    operator = random.choice(_COMPARISONS)
    found = f"{left} {operator} {right}"
    return f"!({found})" if random.random() < 0.1 else found


def _number(random: Random) -> str:
    if random.random() < 0.15:
        return random.choice(list(_MACROS))
    number = random.choice(_EDGES) if random.random() < 0.8 else random.getrandbits(32)
    digits = random.choice((f"{number}", f"{number:#x}", f"0{number:o}"))
    suffix = random.choice(("", "", "u"))
    return f"{random.choice(('', '', '-'))}{digits}{suffix}"


def values(random: Random) -> dict[str, np.ndarray]:
    """Edges of types among others; floats that whole numbers are near."""
    drawn = np.random.default_rng(random.getrandbits(32))
    found = {}
    for name, (_, dtype) in TYPES.items():
        if dtype is np.float32:
            found[name] = drawn.choice([-1.5, 0.0, 1.0, 127.5, 2.0**31, -(2.0**31)], COUNT)
        else:
            info = np.iinfo(dtype)
            edges = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
            wide = drawn.integers(info.min, info.max + 1, COUNT)
            found[name] = np.where(drawn.random(COUNT) < 0.7, drawn.choice(edges, COUNT), wide)
        found[name] = found[name].astype(dtype)
    return found


def compiled(folder: Path, text: str) -> ctypes.CDLL:
    """Functions that the system's compiler compiles, with integers that wrap."""
    path, library = folder / "numbers.c", folder / "numbers.so"
    path.write_text(text)
    flags = ("-O0", "-w", "-fwrapv", "-shared", "-fPIC")
    command = ["gcc", *flags, str(path), "-o", str(library)]
    made = run_tool(command, folder, "functions to compare with", WorkloadError)
    assert made.returncode == 0, made.stdout
    return ctypes.CDLL(str(library))


def results(
    library: ctypes.CDLL, name: str, given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What a function of the library leaves in arrays of zeros."""
    found = {each: np.zeros(COUNT, dtype) for each, (_, dtype) in RESULTS.items()}
    arrays = [*(given[each] for each in TYPES), *found.values()]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    getattr(library, name)(ctypes.c_int(COUNT), *pointers)
    return found

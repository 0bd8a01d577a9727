"""Machine code of a kernel as ``nvdisasm`` prints it: instructions, and the lines of source that
each is of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.machine.tools import run_tool

_PACKAGE = "nvidia-cuda-nvdisasm"
_NEED = f"machine code is read through it: pip install {_PACKAGE}"

_LINE = re.compile(r'//## File "(?P<file>[^"]+)", line (?P<line>\d+)(?P<inlined> inlined at)?')
_LABEL = re.compile(r"(?P<label>\.L_\w+|\$[\w$]+):")
_INSTRUCTION = re.compile(
    r"/\*(?P<address>[0-9a-f]+)\*/ +(?:@(?P<predicate>!?U?P\w+) +)?"
    r"(?P<opcode>[A-Z][\w.]*) *(?P<operands>[^;]*?) *;"
)
_TARGET = re.compile(r"\.L_\w+")
_REGISTER = re.compile(r"\b(?P<file>U?R)(?P<number>\d+)(?P<wide>\.64)?")
_PREDICATE = re.compile(r"U?P(\d|T)")

_NO_RESULT = {
    *("BAR", "BRA", "BREAK", "BRX", "BSSY", "BSYNC", "CALL", "DEPBAR", "EXIT", "NANOSLEEP"),
    *("RET", "WARPSYNC", "DSETP", "FSETP", "HSETP2", "ISETP", "PLOP3", "UISETP", "UPLOP3"),
}
"""Instructions whose first register is read, or that write predicates only; those that begin with
an address in memory are no others."""


class DisassemblyError(GnarlError):
    """``nvdisasm`` is not installed, refused the machine code, or printed no such kernel."""


@dataclass(frozen=True)
class Location:
    """A line of a source."""

    file: Path
    line: int


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    label
        of its address, empty where nothing branches to it.
    predicate
        ``P0``, ``!P0``; empty where it is always executed.
    opcode, operands
        ``LDG.E.64.CONSTANT``, ``R36, desc[UR10][R4.64]``.
    places
        the line that it is of; the call that this line is inlined at; and so on. Empty where the
        machine code does not say.
    """

    label: str
    predicate: str
    opcode: str
    operands: str
    places: tuple[Location, ...] = ()

    @property
    def name(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.partition(".")[0]

    @property
    def targets(self) -> list[str]:
        """Labels that it may branch to."""
        return _TARGET.findall(self.operands) if self.name in ("BRA", "BRX") else []

    @property
    def goes_on(self) -> bool:
        """Whether the next instruction may follow it."""
        if self.name not in ("BRA", "BRX", "EXIT", "RET"):
            return True
        # BRA P0, `(.L_x_1) is conditional, too
        return self.predicate not in ("", "PT") or "," in self.operands.partition("`")[0]

    @property
    def writes(self) -> frozenset[str]:
        """Registers: ``R4``, ``UR4``; no predicates."""
        result = self._result
        if result is None:
            return frozenset()
        return frozenset(_registers(result, self._width))

    @property
    def reads(self) -> frozenset[str]:
        """Registers: ``R4``, ``UR4``; no predicates."""
        registers: set[str] = set()
        operands = _split(self.operands)
        if (result := self._result) is not None:
            operands.remove(result)
        for at, operand in enumerate(operands):
            last = at == len(operands) - 1
            stored = self.name in ("ST", "STG", "STL", "STS") and last
            wide = ".WIDE" in self.opcode and last
            registers.update(_registers(operand, self._width if stored or wide else 1))
        return frozenset(registers)

    @property
    def _result(self) -> str | None:
        if self.name in _NO_RESULT:
            return None
        for operand in _split(self.operands):
            if _PREDICATE.fullmatch(operand):
                continue
            return operand if _REGISTER.fullmatch(operand) else None
        return None

    @property
    def _width(self) -> int:
        """Registers of the result, or of what is stored."""
        modifiers = self.opcode.split(".")[1:]
        if "128" in modifiers:
            return 4
        return 2 if {"64", "WIDE"} & {*modifiers} or self.opcode == "CS2R" else 1


def disassemble(cubin: bytes, kernel: str) -> list[Instruction]:
    """The instructions of a kernel of a module.

    Raises ``DisassemblyError`` where ``nvdisasm`` is not installed or does not read the module, and
    where it has no such kernel.
    """
    program = nvdisasm()
    if program is None:
        raise DisassemblyError(f"nvdisasm is not installed: {_NEED}")
    with TemporaryDirectory() as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        command = [program, "--print-code", "--print-line-info-inline", "kernel.cubin"]
        done = run_tool(command, Path(folder), _NEED, DisassemblyError)
    if done.returncode:
        raise DisassemblyError(f"nvdisasm: {' '.join(done.stdout.split())}")
    return parse(done.stdout, kernel)


def nvdisasm() -> str | None:
    """The program, of its package on PyPI or of a CUDA toolkit on ``PATH``; ``None`` without."""
    try:
        of_package = [path for path in files(_PACKAGE) or () if path.stem == "nvdisasm"]
    except PackageNotFoundError:
        of_package = []
    return str(of_package[0].locate()) if of_package else shutil.which("nvdisasm")


def parse(text: str, kernel: str) -> list[Instruction]:
    """Instructions of a kernel in what ``nvdisasm`` printed, in the order of their addresses.

    Raises ``DisassemblyError`` where it is not in there.
    """
    found = list(_instructions(text.splitlines(), f".text.{kernel}:"))
    if not found:
        raise DisassemblyError(f"nvdisasm: no kernel {kernel}: is it in the source?")
    return found


def _instructions(lines: Sequence[str], section: str) -> Iterator[Instruction]:
    inside, label, whole = False, "", True
    places: list[Location] = []  # of the next instruction, and those after it
    for line in map(str.strip, lines):
        if line.startswith(".text."):
            inside = line == section
        if not inside:
            continue
        if matched := _LABEL.fullmatch(line):
            label = matched["label"]
        elif matched := _LINE.match(line):
            if whole:
                places = []
            places.append(Location(Path(matched["file"]), int(matched["line"])))
            whole = not matched["inlined"]
        elif matched := _INSTRUCTION.match(line):
            predicate, opcode, operands = matched.group("predicate", "opcode", "operands")
            yield Instruction(label, predicate or "", opcode, operands, tuple(places))
            label = ""


def _split(operands: str) -> list[str]:
    return [operand.strip() for operand in operands.split(",")]


def _registers(operand: str, width: int) -> Iterator[str]:
    """Names of the registers in an operand: the one, or ``width`` consecutive ones from it on."""
    for registers in _REGISTER.finditer(operand):
        first = int(registers["number"])
        for number in range(first, first + (2 if registers["wide"] else width)):
            yield f"{registers['file']}{number}"

"""What the graph of a DOT file computes: what the file says, held to the graph, or what is found.

``einsum`` has the text of a program of one kernel: an index means the same in all of its
statements. ``longest``, as ``i=64,k=16``, has how many coordinates of an index a fiber may have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.agreement import require_agreement
from gnarl.sw.compiler.sam.describe import describe
from gnarl.sw.compiler.sam.dot_syntax import DotGraph
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.text_file import whole_number


def plan_in(syntax: DotGraph, graph: Graph, formats: Mapping[str, TensorFormat]) -> Plan:
    """The verified graph of a file with what it computes. ``formats``: those of its comment.

    Raises ``WorkloadError`` that begins with the attribute.
    """
    text = syntax.attributes.get("einsum")
    if text is None:
        plan = Plan.of_statement(graph, describe(graph, formats))
    else:
        with _in_attribute("einsum"):
            kernel = _kernel(text, formats)
            require_agreement(graph, kernel)
        plan = Plan(graph, kernel, program_text(kernel.program), True)
    with _in_attribute("longest"):
        bounds = syntax.attributes.get("longest", "")
        return replace(plan, longest=_longest(bounds, plan.kernel))


@contextmanager
def _in_attribute(name: str) -> Iterator[None]:
    """Errors inside begin with the attribute."""
    try:
        yield
    except WorkloadError as error:
        raise WorkloadError(f"{name}: {error}") from error


def _kernel(text: str, formats: Mapping[str, TensorFormat]) -> Kernel:
    """What a text says, its loops without an order in the one that this means."""
    program = parse_program(text)
    if moved := program.rearrangements:
        raise WorkloadError(
            f"statement {moved[0].name}: moves elements, which no graph does: must be left out"
        )
    statements = (replace(each, order=each.order or each.indices) for each in program.einsums)
    kernel = Kernel(replace(program, statements=tuple(statements)))
    _check_indices(kernel)
    for tensor in (*program.inputs, *program.results):
        if tensor not in formats:
            raise WorkloadError(f"tensor {tensor}: must be in the comment of the digraph")
    for tensor, format in formats.items():
        if tensor not in kernel.formats:
            there = ", ".join(kernel.formats)
            raise WorkloadError(
                f"must have tensor {short(tensor)}, as the comment of the digraph: it has {there}"
            )
        if kernel.formats[tensor] != format:
            raise WorkloadError(
                f"tensor {tensor} is stored {kernel.formats[tensor]}: must be {format}, as the "
                "comment of the digraph says"
            )
    return kernel


def _check_indices(kernel: Kernel) -> None:
    """Checks that the program is one of a kernel."""
    _ = kernel.order
    program = kernel.program
    for statement in program.statements:
        for access in statement.operands:
            if access.tensor in program and access != program[access.tensor].result:
                raise WorkloadError(
                    f"statement {statement.name}: {access}: must be "
                    f"{program[access.tensor].result}, as it is computed: an index means the same "
                    "in all statements"
                )


def _longest(text: str, kernel: Kernel) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in filter(None, text.split(",")):
        index, _, number = entry.partition("=")
        if index not in kernel.order or index in found:
            there = ", ".join(kernel.order)
            raise WorkloadError(f"{quoted(entry)}: must have each of {there} once at most")
        found[index] = whole_number(number, index)
        if found[index] < 1:
            raise WorkloadError(f"{index} = {found[index]}: must be at least 1")
    return found

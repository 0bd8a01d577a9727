"""PyTorch modules as graphs of operators, with the tensors that go in."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Container, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import GnarlError, WorkloadError, one_line
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.archive import read_archive
from gnarl.sw.workloads.pytorch.geometric import (
    GEOMETRIC,
    WITHOUT_NORMALISATION,
    raised_in_normalisation,
)
from gnarl.sw.workloads.pytorch.results import result_names
from gnarl.sw.workloads.pytorch.saved_graph import SavedGraph, saved_graph

SUFFIX = ".pt2"
"""The suffix of what ``torch.export.save`` writes."""


@dataclass(frozen=True, eq=False)
class Exported:
    """A graph of ATen operators without side effects.

    nodes
        ``torch.fx.Node``, in order.
    data
        a tensor or a number for each placeholder, by name of its node.
    names
        what users call placeholders, by name of their nodes: ``bag.weight``.
    results
        what results are called, in the order of the output's nodes.
    state
        what users call parameters, buffers and constants: placeholders that are no arguments of
        ``forward``.
    """

    name: str
    nodes: list[Any]
    data: dict[str, Any]
    names: dict[str, str]
    results: list[str]
    state: frozenset[str]

    @property
    def start(self) -> Location:
        """The location where there is no operator."""
        return Location(self.name, 1, 1)


def export(module: Any, inputs: Any, known: Container[str] = ()) -> Exported:
    """A ``torch.nn.Module`` with a tuple of arguments of its ``forward``, or a dictionary of them.

    known
        names of operators that need not be decomposed.

    Raises ``WorkloadError`` with what ``torch.export`` says.
    """
    torch = require_torch()
    arguments, named = ((), inputs) if isinstance(inputs, dict) else (tuple(inputs), {})
    name = type(module).__name__
    with _refusals(f"{name}: torch.export"):
        program = torch.export.export(module, arguments, named)
        # Decompositions trace it once more, in several times the time.
        is_final = all(_is_final(node, known) for node in program.graph.nodes)
        return _exported(name, program if is_final else program.run_decompositions({}))


def load(path: str | Path) -> Exported:
    """Reads a file that ``torch.export.save`` wrote; its inputs are those of its export. Nothing of
    it is executed, see ``archive`` and ``saved_graph``.

    Raises ``WorkloadError`` naming the file.
    """
    require_torch()
    file = Path(path)
    if not file.is_file():
        raise WorkloadError(f"{path}: {'not a' if file.exists() else 'no such'} file")
    with _refusals(f"{path}: cannot be read"):
        try:
            saved = saved_graph(read_archive(file))
        except WorkloadError as error:
            raise WorkloadError(f"{path}: {error}") from error
        return _exported(file.stem, saved.program.run_decompositions({}), saved)


def is_module(value: Any) -> bool:
    """Whether it is a ``torch.nn.Module``; asks PyTorch only if somebody else has imported it."""
    return any(
        f"{each.__module__}.{each.__qualname__}" == "torch.nn.modules.module.Module"
        for each in type(value).__mro__
    )


def operator_name(node: Any) -> str:
    """The name of what a node calls: ``aten.add.Tensor``, or that of a function of Python."""
    name: str = node.target.__name__
    return name if name == "getitem" else str(node.target)


def _is_final(node: Any, known: Container[str]) -> bool:
    """Whether decompositions would leave a node as it is: its operator is known and changes
    nothing that it is given, and something takes its result."""
    if node.op in ("placeholder", "output"):
        return True
    schema = getattr(node.target, "_schema", None)
    is_pure = schema is None or not schema.is_mutable
    is_known = node.op == "call_function" and operator_name(node) in known
    return is_known and is_pure and bool(node.users)


def place_of(node: Any, start: Location) -> Location:
    """The line of the user's that made the node, or ``start``."""
    torch = Path(require_torch().__file__).parent
    libraries = tuple(f"{torch.parent / name}/" for name in (torch.name, GEOMETRIC))
    for line in reversed(text_lines(node.meta.get("stack_trace") or "")):
        file, _, rest = line.strip().removeprefix('File "').partition('", line ')
        number = rest.partition(",")[0]
        if number.isdecimal() and not file.startswith(libraries):
            return Location(Path(file).name, int(number), 1)
    return start


def modules_of(node: Any) -> tuple[str, ...]:
    """Paths of the modules that the node is in, outermost first, without the root: ``conv1``, or
    ``conv1@1`` where it is called once more."""
    around = (node.meta.get("nn_module_stack") or {}).items()
    return tuple(path + "".join(key.partition("@")[1:]) for key, (path, _) in around if path)


def require_torch() -> Any:
    try:
        import torch
        import torch.export
    except ImportError as error:
        raise GnarlError(
            "PyTorch modules need the extra 'torch': pip install 'gnarl[torch]'"
        ) from error
    return torch


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """PyTorch raises exceptions of many types, warns of itself, and logs and prints what it
    raises."""
    logged = logging.root.manager.disable
    logging.disable()
    printed = StringIO()
    try:
        with warnings.catch_warnings(), redirect_stderr(printed):
            warnings.simplefilter("ignore")
            yield
        sys.stderr.write(printed.getvalue())
    except WorkloadError:
        raise
    except Exception as error:
        problem, _, _ = one_line(error).partition(" While executing %")
        if isinstance(error, LookupError):
            problem = f"{type(error).__name__}: {problem}"
        if raised_in_normalisation(error.__traceback__):
            problem = WITHOUT_NORMALISATION
        raise WorkloadError(f"{what}: {problem}") from error
    finally:
        logging.disable(logged)


def _exported(name: str, program: Any, saved: SavedGraph | None = None) -> Exported:
    from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
    from torch.utils._pytree import tree_leaves

    examples = iter(tree_leaves(program.example_inputs))
    called = iter(saved.inputs if saved else ())
    tensors = saved.tensors if saved else {}
    data, names, state = {}, {}, set()
    for spec in program.graph_signature.input_specs:
        key = spec.arg.name
        if spec.target:
            names[key] = tensors.get(spec.target, spec.target)
        else:
            names[key] = next(called, key)
        if spec.kind == InputKind.USER_INPUT:
            value = next(examples)
            data[key] = spec.arg.value if isinstance(spec.arg, ConstantArgument) else value
            continue
        state.add(names[key])
        if spec.target in program.state_dict:
            data[key] = program.state_dict[spec.target].detach()
        else:
            data[key] = program.constants[spec.target]
    for spec in program.graph_signature.output_specs:
        if spec.kind != OutputKind.USER_OUTPUT:
            raise WorkloadError(
                f"{name}: changes {names.get(spec.target, tensors.get(spec.target, spec.target))}: "
                "forward must change nothing"
            )
    nodes = list(program.graph.nodes)
    if saved is None:
        results = result_names(program.call_spec.out_spec)
        return Exported(name, nodes, data, names, results, frozenset(state))
    for node in nodes:
        own = node.meta.get("stack_trace")
        node.meta["stack_trace"] = saved.traces.get(own, "")
        around = saved.modules.get(own, ())
        node.meta["nn_module_stack"] = {str(at): (path, "") for at, path in enumerate(around)}
    return Exported(name, nodes, data, names, saved.results, frozenset(state))

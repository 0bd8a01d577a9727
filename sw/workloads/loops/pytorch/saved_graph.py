"""The graph of a file of ``torch.export.save``, built anew of operators of PyTorch's own.

No text of the file reaches PyTorch, which makes Python source of names in graphs: nodes, tensors
and lines of stack traces have names made here, and are known by these. Operators are those of
``aten`` that take tensors and numbers alone, so none that reads or writes a file. Shapes and types
follow from the operators, whatever the file says of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hw.lib.errors import WorkloadError, quoted, short
from sw.workloads.loops.pytorch.archive import DTYPES, SavedProgram

_OPERATOR = re.compile(r"torch\.ops\.(aten)\.(\w+)\.(\w+)", re.ASCII)
_WITHOUT_GRADIENTS = "torch.ops.higher_order.wrap_with_set_grad_enabled"
_TAKEN = frozenset(
    "Tensor Int SymInt Float Bool Number None DeviceObj ScalarType Layout MemoryFormat".split()
)
"""Types of arguments of operators that are taken, or lists of these."""

_LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 7: "strided"}
_MEMORY_FORMATS = {
    1: "contiguous_format",
    2: "channels_last",
    3: "channels_last_3d",
    4: "preserve_format",
}
_FLOATS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_PLAIN = {"as_int": int, "as_float": float, "as_bool": bool}
_CONTAINERS = ("builtins.tuple", "builtins.list", "builtins.dict")


@dataclass(frozen=True)
class SavedGraph:
    """``program``: a ``torch.export.ExportedProgram``. ``inputs``: what the file calls its inputs,
    in order; ``tensors``: parameters, buffers and constants, by their names here. ``results``: what
    results are called. ``traces``: stack traces of the file, by those here."""

    program: Any
    inputs: list[str]
    tensors: dict[str, str]
    results: list[str]
    traces: dict[str, str]


def saved_graph(saved: SavedProgram) -> SavedGraph:
    """Raises ``WorkloadError``, and what Python and PyTorch raise where the file is damaged."""
    return _Builder(saved).build()


@dataclass
class _Builder:
    saved: SavedProgram
    inputs: list[str] = field(default_factory=list)
    tensors: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import torch

        module = self.saved.graph["graph_module"]
        self._module = module
        self._graph = torch.fx.Graph()
        self._nodes: dict[str, Any] = {}
        self._parts: dict[str, tuple[Any, int]] = {}
        self._state: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}

    def build(self) -> SavedGraph:
        from torch.export import graph_signature as signature

        if self.saved.graph.get("range_constraints"):
            raise WorkloadError("has dynamic shapes: all must be known")
        specs, values = self._placeholders(signature)
        self._operators(self._module["graph"]["nodes"])
        outputs = [self._output(each) for each in self._module["signature"]["output_specs"]]
        self._graph.output(tuple(outputs))
        argument = [
            signature.TensorArgument(each.name)
            if hasattr(each, "name")
            else signature.ConstantArgument("", each)
            for each in outputs
        ]
        made = [
            signature.OutputSpec(signature.OutputKind.USER_OUTPUT, each, None) for each in argument
        ]
        program = self._program(signature.ExportGraphSignature(specs, made), values, len(outputs))
        entry = self._module["module_call_graph"][0]["signature"]
        results = _results(entry["out_spec"])
        if len(results) != len(outputs):
            raise WorkloadError(f"out_spec: {len(results)} results: must be {len(outputs)}")
        return SavedGraph(program, self.inputs, self.tensors, results, self.traces)

    def _placeholders(self, signature: Any) -> tuple[list[Any], list[Any]]:
        """Specs of inputs, and their values."""
        import torch

        given, kinds = iter(self.saved.inputs), signature.InputKind
        specs, values = [], []
        for number, spec in enumerate(self._module["signature"]["input_specs"]):
            ((kind, entry),) = spec.items()
            own, target, persistent = f"input_{number}", None, None
            if kind == "user_input":
                value, made = next(given, self), kinds.USER_INPUT
                if value is self:
                    raise WorkloadError("sample inputs: too few: must be as many as the graph's")
                wanted = entry["arg"].get("as_tensor", {}).get("name", f"input_{number}")
            elif kind == "constant_input":
                value, made, wanted = next(given, None), kinds.USER_INPUT, str(entry["name"])
            elif kind in ("parameter", "buffer", "tensor_constant"):
                wanted, target = str(entry[f"{kind}_name"]), f"tensor_{number}"
                if wanted not in self.saved.tensors:
                    raise WorkloadError(f"{kind} {quoted(wanted)}: has no tensor: must have one")
                value = self.saved.tensors[wanted]
                made = {
                    "parameter": kinds.PARAMETER,
                    "buffer": kinds.BUFFER,
                    "tensor_constant": kinds.CONSTANT_TENSOR,
                }[kind]
                persistent = bool(entry["persistent"]) if kind == "buffer" else None
                is_state = kind == "parameter" or persistent
                if kind == "parameter":
                    value = torch.nn.Parameter(value, requires_grad=False)
                (self._state if is_state else self._constants)[target] = value
                self.tensors[target] = wanted
            else:
                raise WorkloadError(f"{short(kind)}: not supported: must be a tensor or a number")
            node = self._graph.placeholder(own)
            is_tensor = isinstance(value, torch.Tensor)
            argument = (
                signature.TensorArgument(own)
                if is_tensor
                else signature.ConstantArgument(own, value)
            )
            if is_tensor:
                self._define(entry["arg"], node)
            if target is None:
                self.inputs.append(str(wanted))
            specs.append(signature.InputSpec(made, argument, target, persistent))
            values.append(value)
        if next(given, None) is not None:
            raise WorkloadError("sample inputs: too many: must be as many as the graph's")
        return specs, values

    def _define(self, argument: Mapping[str, Any], node: Any) -> None:
        name = argument.get("as_tensor", argument)["name"]
        if name in self._nodes or name in self._parts:
            raise WorkloadError(f"graph: {quoted(name)} is given twice: names must differ")
        self._nodes[name] = node

    def _operators(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        for node in nodes:
            if node["target"] == _WITHOUT_GRADIENTS:
                self._inlined(node)
            else:
                self._operator(node)

    def _inlined(self, node: Mapping[str, Any]) -> None:
        """What is around ``torch.no_grad``."""
        _, graph, *given = (each["arg"] for each in node["inputs"])
        inner, values = graph["as_graph"]["graph"], [self._value(each) for each in given]
        outer = self._nodes, self._parts
        self._nodes, self._parts = {}, {}
        for argument, value in zip(inner["inputs"], values, strict=True):
            if "as_tensor" in argument:
                self._define(argument, value)
        self._operators(inner["nodes"])
        results = [self._value(each) for each in inner["outputs"]]
        self._nodes, self._parts = outer
        outputs = node["outputs"]
        if len(outputs) == 1 and "as_tensors" in outputs[0]:
            outputs = [{"as_tensor": each} for each in outputs[0]["as_tensors"]]
        for output, value in zip(outputs, results, strict=True):
            if "as_tensor" in output:
                self._define(output, value)

    def _operator(self, node: Mapping[str, Any]) -> None:
        target = str(node["target"])
        trace = str(node.get("metadata", {}).get("stack_trace", ""))
        operator = _aten(target)
        if operator is None:
            raise WorkloadError(
                f"{short(target.removeprefix('torch.ops.'))}: not supported: must be an operator "
                "of aten on tensors and numbers"
            )
        known = {each.name: each for each in operator._schema.arguments}
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for at, each in enumerate(node["inputs"]):
            name, value = each["name"], self._value(each["arg"])
            if name not in known:
                raise WorkloadError(f"{target}: has no argument {quoted(name)}")
            in_order = at < len(known) and [*known][at] == name and len(positional) == at
            if in_order and not known[name].kwarg_only and each.get("kind") != 2:
                positional.append(value)
            else:
                named[name] = value
        made = self._graph.call_function(operator, tuple(positional), named)
        own = f"line {len(self.traces)}"
        self.traces[own] = trace
        made.meta["stack_trace"] = own
        outputs = node["outputs"]
        if len(outputs) == 1 and "as_tensors" in outputs[0]:
            outputs = outputs[0]["as_tensors"]
        elif len(outputs) == 1 and len(operator._schema.returns) == 1:
            if "as_tensor" in outputs[0]:
                self._define(outputs[0], made)
            return
        for at, output in enumerate(outputs):
            name = output.get("as_tensor", output).get("name")
            if name is not None:
                if name in self._nodes or name in self._parts:
                    raise WorkloadError(f"graph: {quoted(name)} is given twice: names must differ")
                self._parts[name] = made, at

    def _tensor(self, argument: Mapping[str, Any]) -> Any:
        import operator

        name = argument["name"]
        if name in self._parts:
            of, at = self._parts.pop(name)
            self._nodes[name] = self._graph.call_function(operator.getitem, (of, at))
            self._nodes[name].meta["stack_trace"] = of.meta["stack_trace"]
        if name not in self._nodes:
            raise WorkloadError(f"graph: {quoted(name)} is used and not computed before")
        return self._nodes[name]

    def _output(self, spec: Mapping[str, Any]) -> Any:
        ((kind, entry),) = spec.items()
        if kind != "user_output":
            changed = next(
                (each for key, each in entry.items() if key.endswith("_name")), short(kind)
            )
            raise WorkloadError(f"changes {short(changed)}: forward must change nothing")
        return self._value(entry["arg"])

    def _value(self, argument: Mapping[str, Any]) -> Any:
        """An argument of an operator."""
        import torch

        ((kind, value),) = argument.items()
        match kind:
            case "as_none":
                return None
            case "as_tensor":
                return self._tensor(value)
            case "as_tensors":
                return [self._tensor(each) for each in value]
            case "as_optional_tensor":
                return self._value(value)
            case "as_optional_tensors" | "as_sym_ints" | "as_sym_floats" | "as_sym_bools":
                return [self._value(each) for each in value]
            case "as_nested_tensors":
                return [[self._tensor(each) for each in row] for row in value]
            case "as_int" | "as_float" | "as_bool":
                return _number(_PLAIN[kind], value)
            case "as_ints" | "as_floats" | "as_bools":
                return [_number(_PLAIN[kind[:-1]], each) for each in value]
            case "as_int_lists" | "as_float_lists":
                return [[_number(_PLAIN[kind[:-6]], each) for each in row] for row in value]
            case "as_sym_int" | "as_sym_float" | "as_sym_bool":
                return self._value(value)
            case "as_name":
                raise WorkloadError(f"{short(value)}: depends on values: must be known")
            case "as_scalar_type":
                return getattr(torch, DTYPES[value])
            case "as_layout":
                return getattr(torch, _LAYOUTS[value])
            case "as_memory_format":
                return getattr(torch, _MEMORY_FORMATS[value])
            case "as_device":
                return torch.device("cpu")
        raise WorkloadError(f"graph: an argument {short(kind)}: must be a tensor or a number")

    def _program(self, signature: Any, values: Sequence[Any], results: int) -> Any:
        """With the shapes and types that the operators give."""
        import torch
        from torch._export.verifier import TrainingIRVerifier
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.export import ExportedProgram
        from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
        from torch.fx.passes.fake_tensor_prop import FakeTensorProp
        from torch.utils._pytree import tree_structure

        mode = FakeTensorMode(allow_fallback_kernels=False)
        fake = [
            mode.from_tensor(each, static_shapes=True) if isinstance(each, torch.Tensor) else each
            for each in values
        ]
        root = torch.fx.GraphModule({}, self._graph)
        with torch.no_grad():
            FakeTensorProp(root, mode).propagate_dont_convert_inputs(*fake)
        for node, value in zip(self._graph.nodes, fake, strict=False):
            node.meta["val"] = value
        given = tuple(
            value
            for value, spec in zip(values, signature.input_specs, strict=True)
            if spec.target is None
        )
        in_spec = tree_structure((given, {}))
        out_spec = tree_structure(tuple(range(results)))
        call = ModuleCallSignature([], [], in_spec, out_spec)
        return ExportedProgram(
            root,
            self._graph,
            signature,
            self._state,
            {},
            [ModuleCallEntry("", call)],
            (given, {}),
            self._constants,
            verifiers=[TrainingIRVerifier],
        )


def _aten(target: str) -> Any:
    """The operator, if it is one of ``aten`` that takes nothing but tensors and numbers."""
    import torch

    found = _OPERATOR.fullmatch(target)
    if found is None:
        return None
    operator = getattr(getattr(torch.ops.aten, found[2], None), found[3], None)
    if not isinstance(operator, torch._ops.OpOverload):
        return None
    return operator if all(_is_taken(each.type) for each in operator._schema.arguments) else None


def _is_taken(type: Any) -> bool:
    kind = type.kind().removesuffix("Type")
    if kind in ("List", "Optional"):
        return _is_taken(type.getElementType())
    return kind in _TAKEN


def _number(kind: type, value: Any) -> Any:
    if kind is float:
        return _FLOATS[value] if isinstance(value, str) else float(value)
    if type(value) is not kind:
        raise WorkloadError(f"graph: {short(value)}: must be {kind.__name__}")
    return value


def _results(text: str) -> list[str]:
    """Keys of dictionaries, fields and numbers of tuples, as ``result0``, joined by _."""
    version, tree = json.loads(text)
    if version != 1:
        raise WorkloadError(f"out_spec: version {short(version)}: must be 1")
    return [*_names(tree, (), "")]


def _names(tree: Mapping[str, Any], path: tuple[str, ...], start: str) -> Sequence[str]:
    kind, children = tree["type"], tree["children_spec"]
    if kind is None:
        return ["result" * (start != "builtins.dict") + "_".join(path)]
    if kind not in _CONTAINERS:
        raise WorkloadError(f"a result is a {short(kind)}: must be a tensor, tuple, list or dict")
    keys: list[Any] = [*range(len(children))]
    if kind == "builtins.dict":
        keys = json.loads(tree["context"])
    found: list[str] = []
    for key, child in zip(keys, children, strict=True):
        found += _names(child, (*path, str(key)), start or kind)
    return found

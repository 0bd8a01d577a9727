"""The graph of a file of ``torch.export.save``, built anew of operators of PyTorch's own.

No text of the file reaches PyTorch, which makes Python source of names in graphs: nodes, tensors
and lines of stack traces have names made here, and are known by these. Operators are those of
``aten`` that take tensors and numbers alone, so none that reads or writes a file. Shapes and types
follow from the operators, whatever the file says of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.sw.workloads.pytorch.archive import GRAPH, SavedProgram
from gnarl.sw.workloads.pytorch.results import result_names, saved_structure
from gnarl.sw.workloads.pytorch.saved_arguments import argument_value
from gnarl.sw.workloads.pytorch.saved_fields import reading

_OPERATOR = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)", re.ASCII)
_PATH = re.compile(r"\w[\w.]{0,200}(@[0-9]+)?", re.ASCII)
_WITHOUT_GRADIENTS = "torch.ops.higher_order.wrap_with_set_grad_enabled"
_TAKEN = frozenset(
    "Tensor Int SymInt Float Bool Number None DeviceObj ScalarType Layout MemoryFormat".split()
)
"""Types of arguments of operators that are taken, or lists of these."""

_CALLED = ("user_input", "constant_input")
"""Kinds of inputs that callers give."""

_STATE = {"parameter": "PARAMETER", "buffer": "BUFFER", "tensor_constant": "CONSTANT_TENSOR"}
"""Kinds of inputs that the module has, and what PyTorch calls these in memory."""


@dataclass(frozen=True)
class SavedGraph:
    """A saved graph, with the names that its file has.

    program
        a ``torch.export.ExportedProgram``.
    inputs
        what the file calls its inputs, in order.
    tensors
        parameters, buffers and constants, by their names here.
    results
        what results are called.
    traces
        stack traces of the file, by those here.
    modules
        paths of the modules that operators are in, outermost first, by stack traces here.
    """

    program: Any
    inputs: list[str]
    tensors: dict[str, str]
    results: list[str]
    traces: dict[str, str]
    modules: dict[str, tuple[str, ...]]


def saved_graph(saved: SavedProgram) -> SavedGraph:
    """Raises ``WorkloadError``, and what PyTorch's operators raise for what they are given."""
    with reading(GRAPH):
        if saved.graph.get("range_constraints"):
            raise WorkloadError("has dynamic shapes: all must be known")
        module = saved.graph["graph_module"]
    return _Builder(saved, module).build()


class _Builder:
    def __init__(self, saved: SavedProgram, module: Mapping[str, Any]) -> None:
        import torch

        self._module = module
        self._given, self._tensors = saved.inputs, saved.tensors
        self._graph = torch.fx.Graph()
        self._nodes: dict[str, Any] = {}
        self._parts: dict[str, tuple[Any, int]] = {}
        self._state: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        # What the file calls things, see ``SavedGraph``.
        self._input_names: list[str] = []
        self._tensor_names: dict[str, str] = {}
        self._traces: dict[str, str] = {}
        self._modules: dict[str, tuple[str, ...]] = {}

    def build(self) -> SavedGraph:
        from torch.export import graph_signature as signature

        with reading(f"{GRAPH}: graph_module"):
            graph, specs = self._module["graph"]["nodes"], self._module["signature"]
            input_specs, wanted = list(specs["input_specs"]), list(specs["output_specs"])
            entry = self._module["module_call_graph"][0]["signature"]
        inputs, values = self._placeholders(input_specs, signature)
        with reading(f"{GRAPH}: graph_module.graph.nodes"):
            self._operators(graph)
        results = []
        for number, spec in enumerate(wanted):
            with reading(f"{GRAPH}: output_specs[{number}]"):
                results.append(self._result(spec))
        self._graph.output(tuple(results))
        outputs = []
        for each in results:
            argument: Any = signature.ConstantArgument("", each)
            if hasattr(each, "name"):
                argument = signature.TensorArgument(each.name)
            kind = signature.OutputKind.USER_OUTPUT
            outputs.append(signature.OutputSpec(kind, argument, None))
        program = self._program(signature.ExportGraphSignature(inputs, outputs), values)
        with reading(f"{GRAPH}: module_call_graph[0].signature.out_spec"):
            names = result_names(saved_structure(entry["out_spec"]))
        if len(names) != len(results):
            raise WorkloadError(f"out_spec: {len(names)} results: must be {len(results)}")
        return SavedGraph(
            program, self._input_names, self._tensor_names, names, self._traces, self._modules
        )

    def _placeholders(self, given: list[Any], signature: Any) -> tuple[list[Any], list[Any]]:
        """Specs of inputs, and their values."""
        inputs = []
        for number, spec in enumerate(given):
            with reading(f"{GRAPH}: input_specs[{number}]"):
                inputs.append(_only(spec))
        wanted = sum(kind in _CALLED for kind, _ in inputs)
        if len(self._given) != wanted:
            what = "few" if len(self._given) < wanted else "many"
            raise WorkloadError(f"sample inputs: too {what}: must be as many as the graph's")
        values = iter(self._given)
        placeholders = []
        for number, (kind, entry) in enumerate(inputs):
            with reading(f"{GRAPH}: input_specs[{number}]"):
                placeholders.append(self._placeholder(number, kind, entry, values, signature))
        return [spec for spec, _ in placeholders], [value for _, value in placeholders]

    def _placeholder(
        self, number: int, kind: str, entry: Mapping[str, Any], given: Iterator[Any], signature: Any
    ) -> tuple[Any, Any]:
        """Spec and value of an input; of those that callers give ``given`` has the next."""
        import torch

        own, target, persistent = f"input_{number}", None, None
        if kind in _CALLED:
            called = entry if kind == "constant_input" else entry["arg"].get("as_tensor", {})
            self._input_names.append(str(called.get("name", own)))
            value = next(given)
        else:
            target = f"tensor_{number}"
            persistent = bool(entry["persistent"]) if kind == "buffer" else None
            value = self._state_of(kind, entry, target)
        node = self._graph.placeholder(own)
        argument: Any = signature.ConstantArgument(own, value)
        if isinstance(value, torch.Tensor):
            self._define(entry["arg"], node)
            argument = signature.TensorArgument(own)
        made = signature.InputKind[_STATE.get(kind, "USER_INPUT")]
        return signature.InputSpec(made, argument, target, persistent), value

    def _state_of(self, kind: str, entry: Mapping[str, Any], target: str) -> Any:
        """The tensor of a parameter, buffer or constant, which is called ``target`` here."""
        import torch

        if kind not in _STATE:
            raise WorkloadError(f"{short(kind)}: not supported: must be a tensor or a number")
        name = str(entry[f"{kind}_name"])
        if name not in self._tensors:
            raise WorkloadError(f"{kind} {quoted(name)}: has no tensor: must have one")
        value = self._tensors[name]
        if kind == "parameter":
            value = torch.nn.Parameter(value, requires_grad=False)
        is_state = kind == "parameter" or (kind == "buffer" and entry["persistent"])
        (self._state if is_state else self._constants)[target] = value
        self._tensor_names[target] = name
        return value

    def _define(self, argument: Mapping[str, Any], node: Any) -> None:
        self._nodes[self._new_name(argument)] = node

    def _new_name(self, argument: Mapping[str, Any]) -> str:
        name: str = argument.get("as_tensor", argument)["name"]
        if name in self._nodes or name in self._parts:
            raise WorkloadError(f"graph: {quoted(name)} is given twice: names must differ")
        return name

    def _operators(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        for number, node in enumerate(nodes):
            with reading(f"{GRAPH}: nodes[{number}]"):
                if node["target"] == _WITHOUT_GRADIENTS:
                    self._inlined(node)
                else:
                    self._operator(node)

    def _inlined(self, node: Mapping[str, Any]) -> None:
        """What is around ``torch.no_grad``."""
        _, graph, *arguments = (each["arg"] for each in node["inputs"])
        inner, values = graph["as_graph"]["graph"], [self._value(each) for each in arguments]
        outer = self._nodes, self._parts
        self._nodes, self._parts = {}, {}
        for argument, value in zip(inner["inputs"], values, strict=True):
            if "as_tensor" in argument:
                self._define(argument, value)
        self._operators(inner["nodes"])
        results = [self._value(each) for each in inner["outputs"]]
        self._nodes, self._parts = outer
        for output, value in zip(_outputs(node), results, strict=True):
            if "as_tensor" in output:
                self._define(output, value)

    def _operator(self, node: Mapping[str, Any]) -> None:
        target = str(node["target"])
        operator = _aten(target)
        if operator is None:
            raise WorkloadError(
                f"{short(target.removeprefix('torch.ops.'))}: not supported: must be an operator "
                "of aten on tensors and numbers"
            )
        made = self._graph.call_function(operator, kwargs=self._arguments(operator, node))
        made.meta["stack_trace"] = own = f"line {len(self._traces)}"
        metadata = node.get("metadata", {})
        self._traces[own] = str(metadata.get("stack_trace", ""))
        self._modules[own] = _modules(str(metadata.get("nn_module_stack", "")))
        is_one = len(operator._schema.returns) == len(node["outputs"]) == 1
        if is_one and "as_tensors" not in node["outputs"][0]:
            if "as_tensor" in node["outputs"][0]:
                self._define(node["outputs"][0], made)
            return
        for at, output in enumerate(_outputs(node)):
            if "as_tensor" in output:
                self._parts[self._new_name(output)] = made, at

    def _arguments(self, operator: Any, node: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, including those that the file has by their order."""
        known = {each.name for each in operator._schema.arguments}
        arguments: dict[str, Any] = {}
        for each in node["inputs"]:
            name = each["name"]
            if name not in known:
                raise WorkloadError(f"{node['target']}: has no argument {quoted(name)}")
            if name in arguments:
                raise WorkloadError(f"{node['target']}: {quoted(name)} is given twice")
            arguments[name] = self._value(each["arg"])
        return arguments

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

    def _result(self, spec: Mapping[str, Any]) -> Any:
        kind, entry = _only(spec)
        if kind != "user_output":
            changed = next(
                (each for key, each in entry.items() if key.endswith("_name")), short(kind)
            )
            raise WorkloadError(f"changes {short(changed)}: forward must change nothing")
        return self._value(entry["arg"])

    def _value(self, argument: Mapping[str, Any]) -> Any:
        return argument_value(argument, self._tensor)

    def _program(self, signature: Any, values: Sequence[Any]) -> Any:
        """Builds the program with the shapes and types that the operators give."""
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
        inputs = tuple(self._given)
        in_spec = tree_structure((inputs, {}))
        out_spec = tree_structure(tuple(range(len(signature.output_specs))))
        call = ModuleCallSignature([], [], in_spec, out_spec)
        return ExportedProgram(
            root,
            self._graph,
            signature,
            self._state,
            {},
            [ModuleCallEntry("", call)],
            (inputs, {}),
            self._constants,
            verifiers=[TrainingIRVerifier],
        )


def _modules(stack: str) -> tuple[str, ...]:
    """Paths of modules, from ``KEY,PATH,CLASS;KEY,PATH,CLASS``, with what keys have behind @; none
    of what is no path."""
    entries = [entry.split(",") for entry in stack.split(";") if "," in entry]
    paths = [path + "".join(key.partition("@")[1:]) for key, path, *_ in entries]
    return tuple(path for path in paths if _PATH.fullmatch(path))


def _only(spec: Mapping[str, Any]) -> tuple[str, Any]:
    """Kind and entry of an input's or output's spec."""
    (found,) = spec.items()
    return found


def _outputs(node: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What a node gives, one by one."""
    outputs: Sequence[Mapping[str, Any]] = node["outputs"]
    if len(outputs) == 1 and "as_tensors" in outputs[0]:
        return [{"as_tensor": each} for each in outputs[0]["as_tensors"]]
    return outputs


def _aten(target: str) -> Any:
    """The operator, if it is one of ``aten`` that takes nothing but tensors and numbers."""
    import torch

    matched = _OPERATOR.fullmatch(target)
    if matched is None:
        return None
    operator = getattr(getattr(torch.ops.aten, matched[1], None), matched[2], None)
    if not isinstance(operator, torch._ops.OpOverload):
        return None
    return operator if all(_is_taken(each.type) for each in operator._schema.arguments) else None


def _is_taken(type: Any) -> bool:
    kind = type.kind().removesuffix("Type")
    if kind in ("List", "Optional"):
        return _is_taken(type.getElementType())
    return kind in _TAKEN

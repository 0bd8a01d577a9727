"""What dumps say besides modules, from which compilation goes on: the attribute ``gnarl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.tmu.meaning import TEXTS, Meaning, meaning_of
from gnarl.sw.compiler.tmu.pipeline import SCF_PASSES
from gnarl.sw.compiler.tmu.steps import ANY_CONFIGURATION, PASSES_OF, Manner, Step, in_order
from gnarl.sw.compiler.tmu.text import from_text, level_of, to_text

ATTRIBUTE = "gnarl"

_TYPES = {"float32": "f32", "int32": "i32"}


@dataclass(frozen=True)
class DumpedWorkload:
    """A dump: what each launch of a program was behind one pass.

    file
        for messages.
    name
        what reports call the program.
    digest
        of the configuration that it was compiled for.
    """

    file: str
    name: str
    digest: str
    steps: tuple[Step, ...]


def dumped(name: str, steps: Sequence[Step], config: TmuConfig) -> str:
    """The text of a dump. Inverse of ``read_dump``; ``name`` is the program's."""
    modules = []
    for step in steps:
        module = copied(step.module)
        module.attributes[ATTRIBUTE] = _record(name, step, config)
        modules.append(module)
    return to_text(modules[0] if len(modules) == 1 else ModuleOp(list(modules)))


def is_dump(module: ModuleOp) -> bool:
    """Whether it has the attribute, or its modules have."""
    inner = [each for each in module.body.block.ops if isinstance(each, ModuleOp)]
    return all(ATTRIBUTE in each.attributes for each in inner or [module])


def read_dump(text: str, file: str) -> DumpedWorkload:
    """Raises ``WorkloadError`` naming the file for text that is no dump."""
    module = from_text(text, file)
    if not is_dump(module):
        raise WorkloadError(
            f"{file}: no attribute {ATTRIBUTE}: must be what gnarl compile --dump has written"
        )
    return dump_of(module, file)


def dump_of(module: ModuleOp, file: str) -> DumpedWorkload:
    """A module that ``is_dump``. Raises ``WorkloadError`` naming the file."""
    modules = [each for each in module.body.block.ops if isinstance(each, ModuleOp)] or [module]
    with damaged_as(WorkloadError, f"{file}: attribute {ATTRIBUTE}"):
        records = [_plain(each.attributes[ATTRIBUTE]) for each in modules]
        try:
            steps = [_step(*each) for each in zip(records, modules, strict=True)]
        except WorkloadError as error:
            raise WorkloadError(f"{file}: {error}") from error
        first = records[0]
        if any(each[key] != first[key] for each in records for key in ("workload", "pass")):
            raise WorkloadError(f"{file}: modules must be of one program, behind the same pass")
        steps = in_order(steps)
        names = {
            spec.name
            for each in steps
            for spec in each.inputs
            if spec.name in each.given or spec.name not in each.earlier
        }
        if any({*each.given} != names for each in steps):
            raise WorkloadError(f"{file}: inputs: must be {', '.join(sorted(names))}")
        return DumpedWorkload(file, str(first["workload"]), str(first["digest"]), tuple(steps))


def check_configuration(dump: DumpedWorkload, config: TmuConfig) -> None:
    """Raises ``WorkloadError`` where passes that depend on it were for another one."""
    if dump.digest != config.digest and dump.steps[0].name not in ANY_CONFIGURATION:
        raise WorkloadError(
            f"{dump.file}: its passes up to {dump.steps[0].name} were for another configuration: "
            f"must be for this one, or a dump of {', '.join(ANY_CONFIGURATION)}"
        )


@contextmanager
def as_passes_leave(dump: DumpedWorkload) -> Iterator[None]:
    """Around passes on a dump, which may have been changed by hand to what no pass makes: raises
    ``WorkloadError`` for what a pass trips over."""
    try:
        with damaged_as(WorkloadError, dump.file):
            yield
    except AssertionError as error:
        made = dump.steps[0].name
        raise WorkloadError(f"{dump.file}: must be a module as pass {made} makes them") from error


def _record(name: str, step: Step, config: TmuConfig) -> DictionaryAttr:
    meaning, manner = step.meaning, step.manner
    numbers = {
        "level": manner.level,
        "coupled": int(manner.coupled),
        "reassociate": int(manner.reassociate),
        "share": step.share,
    }
    texts = {
        "workload": name,
        "launch": step.launch,
        "pass": step.name,
        "digest": config.digest,
        **meaning.texts,
    }
    attributes: dict[str, Attribute] = {key: StringAttr(text) for key, text in texts.items()}
    attributes |= {key: IntegerAttr(number, i64) for key, number in numbers.items()}
    attributes["sizes"] = ArrayAttr([IntegerAttr(number, i64) for number in meaning.numbers])
    for key, names in (("inputs", step.given), ("temporaries", sorted(step.temporaries))):
        attributes[key] = ArrayAttr([StringAttr(each) for each in names])
    return DictionaryAttr(attributes)


def _plain(attribute: Attribute) -> Any:
    match attribute:
        case DictionaryAttr():
            return {key: _plain(each) for key, each in attribute.data.items()}
        case ArrayAttr():
            return [_plain(each) for each in attribute.data]
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            return attribute.value.data
    raise ValueError(f"{attribute}: must be a string, a number, or several")


def _step(record: Mapping[str, Any], module: ModuleOp) -> Step:
    meaning = meaning_of({name: record[name] for name in TEXTS}, tuple(record["sizes"]))
    manner = Manner(record["level"], bool(record["coupled"]), bool(record["reassociate"]))
    names = PASSES_OF[manner.coupled]
    if record["pass"] not in names:
        raise WorkloadError(f"pass = {record['pass']!r}: must be one of {', '.join(names)}")
    is_scf = manner.coupled or record["pass"] in ("scf", *SCF_PASSES)
    wanted = "SCF" if is_scf else "DLC" if record["pass"] == "lower" else "SLC"
    if level_of(module) != wanted:
        raise WorkloadError(
            f"pass = {record['pass']!r}: the module is {level_of(module)}: must be {wanted}"
        )
    module = copied(module)
    del module.attributes[ATTRIBUTE]
    _check_arguments(module, meaning)
    return Step(
        record["pass"],
        module,
        record["launch"],
        meaning,
        record["inputs"],
        manner,
        temporaries=record["temporaries"],
        share=record["share"],
    )


def _check_arguments(module: ModuleOp, meaning: Meaning) -> None:
    """Raises ``WorkloadError`` unless the function's arguments are the nest's arrays."""
    functions = [each for each in module.body.block.ops if isinstance(each, func.FuncOp)]
    if len(functions) != 1:
        raise WorkloadError("must have one func.func in a module")
    (function,) = functions
    names = function.attributes.get("names")
    types = [str(each.type) for each in function.body.block.args]
    wanted = [
        "memref<" + "".join(f"{size}x" for size in spec.shape) + f"{_TYPES[spec.type]}>"
        for spec in meaning.specs.values()
    ]
    if names != StringAttr(",".join(meaning.specs)) or types != wanted:
        listed = ", ".join(map(" ".join, zip(meaning.specs, wanted, strict=True)))
        raise WorkloadError(f"the arguments of func.func must be those of its nest: {listed}")

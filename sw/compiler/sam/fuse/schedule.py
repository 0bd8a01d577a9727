"""Schedules: what of a model shares a graph, in which order of loops, and how it is stored.

A schedule is a TOML file. ``--schedule-out`` writes the one that a compilation used, whole. Source:
FuseFlow, section 4.2, "scheduling language".
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.hw.sam.value_shape import BLOCK_WORDS
from gnarl.sw.compiler.sam.fuse.association import associate
from gnarl.sw.compiler.sam.fuse.barriers import needed_before
from gnarl.sw.compiler.sam.fuse.choices import FACTORED, FUSIONS, ITERATIONS
from gnarl.sw.compiler.sam.fuse.regions import (
    Fusion,
    LoweredRegion,
    Region,
    connected,
    copied_program,
    regions_of,
)
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.stored_maxima import check_where_stored
from gnarl.sw.workloads.tensor.lanes import ALLOWED_LANES, ways_of
from gnarl.sw.workloads.tensor.options import ALLOWED_WORDS, parse_format
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.text_file import read_text

DEFAULT_FUSION = "layer"

_FIELDS = ("model", "associate", "formats", "region")
_REGION_FIELDS = ("statements", "order", "before", "iteration", "longest", "lanes", "blocks")


@dataclass(frozen=True)
class Schedule:
    """What a schedule's file says.

    model
        the name of the model that it is for; empty: any.
    associate
        products with parentheses, see ``association``.
    formats
        by users' names of tensors, in the notation of expressions: ``dd:1,0``.
    regions
        empty: by ``--fuse``.
    """

    model: str = ""
    associate: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()


def chosen(
    model: SamModel,
    *,
    fuse: str | None = None,
    iteration: str | None = None,
    schedule: str | Path | Schedule | None = None,
    copies: bool | None = None,
) -> Fusion:
    """What of a model shares a graph.

    fuse, iteration
        of ``FUSIONS`` and ``ITERATIONS``; not together with a schedule that has regions.
    schedule
        the path of a file, or what it says.
    copies
        whether a tensor may be stored once more where loops walk it in another order; by default
        it may.

    Raises ``WorkloadError`` naming the field of a schedule that does not fit the model.
    """
    for name, value, known in (("fuse", fuse, FUSIONS), ("iteration", iteration, ITERATIONS)):
        if value is not None and value not in known:
            raise WorkloadError(f"{name} = {value}: must be {' or '.join(known)}")
    if isinstance(schedule, str | Path):
        read, place = read_schedule(schedule), f"{schedule}: "
    else:
        read, place = schedule or Schedule(), ""
    try:
        fusion = _applied(model, read, fuse, iteration)
    except WorkloadError as error:
        raise WorkloadError(f"{place}{error}") from error
    placed = (replace(each, place=f"{place}{each.place}") for each in fusion.regions)
    return replace(fusion, regions=tuple(placed), may_copy=copies is not False)


def read_schedule(path: str | Path) -> Schedule:
    """The schedule of a file. Raises ``WorkloadError`` naming file and field."""
    return parse_schedule(read_text(path), path)


def parse_schedule(text: str, path: str | Path) -> Schedule:
    """What a schedule's file says, which errors call ``path``; see ``read_schedule``."""
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorkloadError(f"{path}: {error}") from error
    try:
        _require_known(fields, _FIELDS, "")
        formats = _field(fields, "formats", dict, {})
        regions = _field(fields, "region", list, [])
        return Schedule(
            _field(fields, "model", str, ""),
            _texts(fields, "associate"),
            {name: _field(formats, name, str, "") for name in formats},
            tuple(_region(each, number) for number, each in enumerate(regions, 1)),
        )
    except WorkloadError as error:
        raise WorkloadError(f"{path}: {error}") from error


def schedule_text(model: SamModel, fusion: Fusion, regions: Sequence[LoweredRegion]) -> str:
    """The schedule's file with all that was chosen."""
    return "".join(f"{line}\n" for line in _lines(model, fusion, regions))


def _lines(model: SamModel, fusion: Fusion, regions: Sequence[LoweredRegion]) -> Iterator[str]:
    yield f"model = {_toml(model.name)}"
    if fusion.associations:
        yield f"associate = {_toml(list(fusion.associations))}"
    yield ""
    yield "[formats]"
    formats: dict[str, TensorFormat] = {}
    copied = {copy.name: copy for region in regions for copy in region.copies}
    for region in regions:
        formats |= region.formats
    for name, format in formats.items():
        if name not in copied:
            yield f"{_toml(model.names.get(name, name))} = {_toml(format.notation)}"
    for each in copied_program(fusion.program, regions).rearrangements:
        yield f"# {copied[each.name] if each.name in copied else f'the host makes {each}'}"
    for region in regions:
        yield ""
        yield "[[region]]"
        yield f"statements = {_toml(list(region.region.statements))}"
        yield f"order = {_toml(list(region.order))}"
        yield f"iteration = {_toml(region.region.iteration)}"
        if region.cut:
            yield f"# cut here: {region.cut}"
        if region.region.longest:
            bounds = ", ".join(f"{index} = {n}" for index, n in region.region.longest.items())
            yield f"longest = {{ {bounds} }}"
        if region.region.lanes:
            lanes = ", ".join(f"{index} = {n}" for index, n in region.region.lanes)
            yield f"lanes = {{ {lanes} }}"
        if region.region.blocks:
            blocks = ", ".join(f"{index} = {n}" for index, n in region.region.blocks)
            yield f"blocks = {{ {blocks} }}"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _applied(
    model: SamModel, schedule: Schedule, fuse: str | None, iteration: str | None
) -> Fusion:
    if schedule.model and schedule.model != model.name:
        raise WorkloadError(
            f"model = {quoted(schedule.model)}: the schedule is for another model than {model.name}"
        )
    called = {own: name for name, own in model.names.items()}
    program = model.program
    for text in schedule.associate:
        program = associate(program, text, called)
    formats, fixed = dict(program.formats), set()
    for name, text in schedule.formats.items():
        tensor = called.get(name, name)
        formats[tensor] = _format(program, tensor, name, text)
        fixed.add(tensor)
    program = replace(program, formats=formats)
    try:
        check_where_stored(program)
    except WorkloadError as error:
        raise WorkloadError(f"formats: {error}") from error
    if not schedule.regions:
        regions = regions_of(program, fuse or DEFAULT_FUSION, iteration or FACTORED)
    elif fuse is not None or iteration is not None:
        option = "fuse" if fuse is not None else "iteration"
        raise WorkloadError(f"{option}: the schedule has regions: must be left out")
    else:
        regions = _checked(program, schedule.regions)
    return Fusion(
        program,
        tuple(regions),
        frozenset(fixed),
        not schedule.regions,
        schedule.associate,
        whole=model.whole,
    )


def _format(program: EinsumProgram, tensor: str, name: str, text: str) -> TensorFormat:
    orders = {
        access.tensor: len(access.indices)
        for each in program.statements
        for access in (each.result, *each.operands)
    }
    if tensor not in orders:
        raise WorkloadError(f"formats: {quoted(name)}: the model has no such tensor")
    try:
        return parse_format(f"{tensor}:{text}", 1, {tensor: orders[tensor]})[1]
    except WorkloadError as error:
        problem = str(error).partition(": ")[2]
        raise WorkloadError(f"formats: {quoted(name)}: {problem}") from error


def _checked(program: EinsumProgram, regions: Sequence[Region]) -> list[Region]:
    """The regions, each with its statements in the program's order."""
    place: dict[str, int] = {}
    barriers = {each.name: each for each in program.rearrangements}
    for number, region in enumerate(regions, 1):
        for name in region.statements:
            if name in barriers:
                raise WorkloadError(
                    f"region {number}: {name} is a {barriers[name].how.kind}, which the host makes "
                    "between regions: must be in none"
                )
            if name not in program:
                there = ", ".join(each.name for each in program.einsums)
                raise WorkloadError(
                    f"region {number}: statement {quoted(name)}: the model has {there}"
                )
            if place.setdefault(name, number) != number:
                raise WorkloadError(f"region {number}: {name} is in region {place[name]} already")
    missing = [each.name for each in program.einsums if each.name not in place]
    if missing:
        raise WorkloadError(f"region: no region has {', '.join(missing)}")
    before = needed_before(program)
    for statement in program.einsums:
        own = place[statement.name]
        for access in statement.operands:
            if place.get(access.tensor, 0) > own:
                raise WorkloadError(
                    f"region {own}: {statement.name} takes {access.tensor}, which region "
                    f"{place[access.tensor]} computes later"
                )
            for name in sorted(before.get(access.tensor, ())):
                if place[name] >= own:
                    raise WorkloadError(
                        f"region {own}: {statement.name} takes {access.tensor}, which the host "
                        f"makes of {name} behind region {place[name]}: must be in a later one"
                    )
    for number, region in enumerate(regions, 1):
        first, *others = connected(program, region.statements)
        if others:
            raise WorkloadError(
                f"region {number}: {others[0][0]} shares no tensor with {first[0]}, nor with what "
                "does: must be in a region of its own"
            )
    by_program = {each.name: number for number, each in enumerate(program.statements)}
    return [
        replace(region, statements=tuple(sorted(region.statements, key=by_program.__getitem__)))
        for region in regions
    ]


def _region(fields: Any, number: int) -> Region:
    try:
        if not isinstance(fields, dict):
            raise WorkloadError("must be a table")
        _require_known(fields, _REGION_FIELDS, "")
        statements = _texts(fields, "statements")
        if not statements:
            raise WorkloadError("statements: must name at least one")
        iteration = _field(fields, "iteration", str, FACTORED)
        if iteration not in ITERATIONS:
            raise WorkloadError(
                f"iteration = {quoted(iteration)}: must be {' or '.join(ITERATIONS)}"
            )
        before = _field(fields, "before", list, [])
        chains = tuple(_texts({"before": each}, "before") for each in before)
        names, order = tuple(dict.fromkeys(statements)), _texts(fields, "order")
        longest, lanes, blocks = _longest(fields), _lanes(fields), _blocks(fields)
        place = f"region {number}: "
        return Region(names, order, chains, iteration, longest, lanes, blocks, place)
    except WorkloadError as error:
        raise WorkloadError(f"region {number}: {error}") from error


def _longest(fields: Mapping[str, Any]) -> dict[str, int]:
    bounds = _field(fields, "longest", dict, {})
    for index, bound in bounds.items():
        if type(bound) is not int or bound < 1:
            raise WorkloadError(
                f"longest.{index} = {bound!r}: must be a whole number of at least 1"
            )
    return bounds


def _lanes(fields: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    lanes = _field(fields, "lanes", dict, {})
    for index, number in lanes.items():
        if type(number) is not int or not ways_of(number):
            raise WorkloadError(
                f"lanes.{index} = {number!r}: must be a whole number, {ALLOWED_LANES}"
            )
    return tuple(lanes.items())


def _blocks(fields: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    blocks = _field(fields, "blocks", dict, {})
    for index, words in blocks.items():
        if type(words) is not int or words not in BLOCK_WORDS[1:]:
            raise WorkloadError(f"blocks.{index} = {words!r}: must be {ALLOWED_WORDS}")
    return tuple(blocks.items())


def _require_known(fields: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for name in fields:
        if name not in known:
            raise WorkloadError(
                f"{place}unknown field {quoted(name)}: must be {' or '.join(known)}"
            )


def _field(fields: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = fields.get(name, default)
    if not isinstance(value, kind):
        wanted = {"str": "text", "list": "a list", "dict": "a table"}[kind.__name__]
        raise WorkloadError(f"{name} = {quoted(str(value))}: must be {wanted}")
    return value


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _field(fields, name, list, [])
    for value in values:
        if not isinstance(value, str):
            raise WorkloadError(f"{name}: {quoted(str(value))}: must be text")
    return tuple(values)

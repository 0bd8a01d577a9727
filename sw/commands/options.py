"""Arguments and options that several ``gnarl`` commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.commands.boundary import BoundedGroup
from gnarl.sw.commands.path_types import InputFile, OutputPath
from gnarl.sw.program.command_files import check_output, note_input
from gnarl.sw.program.python_files import python_allowed, split_name
from gnarl.sw.runtime.target.contract import AnyTarget
from gnarl.sw.runtime.target.option import Choice, FilePath, TargetOption, WholeNumber
from gnarl.sw.runtime.target.registry import command_lines

Callback = TypeVar("Callback", bound=Callable[..., Any])


_SIZE_DIGITS = 40
"""Digits of numbers that may be sizes; how large these may be depends on what they are sizes of."""


class GnarlCommand(click.Command):
    """A command that does not overwrite what it reads, nor one output with another; no argument
    is an empty text."""

    def invoke(self, ctx: click.Context) -> Any:
        given = dict(ctx.params)
        given |= given.pop("own", {})
        params = self.get_params(ctx)
        for each in params:
            value: Any = given.get(str(each.name))
            if isinstance(each, click.Argument) and "" in (value if each.nargs < 0 else [value]):
                raise click.BadArgumentUsage(
                    f"{each.make_metavar(ctx)}: an empty text: must name something.", ctx
                )
        written = [each.name for each in params if isinstance(each.type, OutputPath)]
        outputs = [given[name] for name in written if name and given.get(name) is not None]
        for name, value in given.items():
            if name in written:
                continue
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, str | Path):
                    note_input(split_name(each)[0])
        for at, path in enumerate(outputs):
            check_output(path)
            if os.path.realpath(path) in map(os.path.realpath, outputs[:at]):
                raise WorkloadError(f"{path}: given for two outputs: must be two files")
        return super().invoke(ctx)


class GnarlGroup(BoundedGroup):
    command_class = GnarlCommand


class TargetCommand(GnarlCommand):
    """A command with the targets' own options for it, which its callback gets as ``own``."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found, at = super().get_params(ctx), len(self.params)
        return [*found[:at], *self._own(), *found[at:]]  # --help stays last

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        given = {str(option.name): ctx.params.pop(str(option.name)) for option in self._own()}
        ctx.params["own"] = {
            name: value
            for name, value in given.items()
            if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
        }
        return rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Shows what each target's workloads are in the place of ``WORKLOADS``."""
        shown = copy(self)
        own = [f"For {name}, {line.workloads}." for name, line in command_lines().items()]
        shown.help = cleandoc(self.help or "").replace("WORKLOADS", "\n\n".join(own))
        super(TargetCommand, shown).format_help_text(ctx, formatter)

    def _own(self) -> list[click.Option]:
        """Options of all targets; those of one name are the first target's, with the names of all
        targets that have it in its help."""
        options_by_name: dict[str, TargetOption] = {}
        users: dict[str, list[str]] = {}
        for target, own in command_lines().items():
            for option in _options(own.options, str(self.name)):
                options_by_name.setdefault(option.name, option)
                users.setdefault(option.name, []).append(target)
        return [_click_option(option, users[name]) for name, option in options_by_name.items()]


class SharedOption(click.Option):
    """An option that has a meaning for some targets, which help names in the place of ``{}``.

    ``between``: what is there between one meaning and the next.
    """

    def __init__(self, *names: Any, between: str = "; ", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.between = between

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        users: dict[str, list[str]] = {}
        for target, own in command_lines().items():
            for text in own.shared.get(self.opts[0], ()):
                users.setdefault(text, []).append(target)
        meanings = [f"{text} ({', '.join(names)})".lstrip() for text, names in users.items()]
        shown = copy(self)
        shown.help = (self.help or "").format(self.between.join(meanings))
        return super(SharedOption, shown).get_help_record(ctx)


def own_options(target: AnyTarget, command: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The target's options among those given; refuses options of other targets."""
    refuse_foreign([target], command, own)
    return dict(own)


def refuse_foreign(targets: Sequence[AnyTarget], command: str, own: Mapping[str, Any]) -> None:
    """Refuses options that none of ``targets`` has."""
    known = {
        each.name for target in targets for each in _options(target.command_line.options, command)
    }
    names = dict.fromkeys(target.name for target in targets)
    for each in command_lines().values():
        for option in _options(each.options, command):
            if option.name in own and option.name not in known:
                raise click.UsageError(
                    f"{option.flag}: not supported by target {' or '.join(names)}."
                )


def require_limits(targets: Sequence[AnyTarget], max_cycles: int | None) -> None:
    """Refuses ``--max-cycles`` where none of ``targets`` has it."""
    if max_cycles is not None and not any(target.executor.limits_cycles for target in targets):
        names = dict.fromkeys(target.name for target in targets)
        raise click.UsageError(f"--max-cycles: not supported by target {' or '.join(names)}.")


def _options(options: Sequence[TargetOption], command: str) -> list[TargetOption]:
    """What is run has to be compiled first: commands that run have both kinds of options. The
    points of ``explore`` would all write one file."""
    wanted = {"run", "compile"} if command in ("run", "compare", "explore") else {command}
    found = [each for each in options if wanted.intersection(each.commands)]
    if command != "explore":
        return found
    return [each for each in found if each.type is not FilePath.WRITTEN]


def _click_option(option: TargetOption, users: Sequence[str]) -> click.Option:
    """The option as commands have it, with the names of its targets in its help."""
    own: dict[str, Any] = {"default": option.default, "type": _click_type(option)}
    if option.is_flag:
        own = {"is_flag": True} if option.flag_value else {"flag_value": False, "default": None}
    return click.Option(
        [option.flag, option.name],
        show_default=True,
        metavar=option.metavar,
        help=f"{option.help.rstrip('.')} ({', '.join(users)}).",
        **own,
    )


def _click_type(option: TargetOption) -> click.ParamType | type:
    match option.type:
        case Choice(texts):
            return click.Choice(texts)
        case WholeNumber(least, most):
            return click.IntRange(least, most)
        case FilePath.READ:
            return InputFile()
        case FilePath.WRITTEN:
            return OutputPath(dir_okay=False)
    return option.type


def _named(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Texts ``NAME=PATH`` by name."""
    paths: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{text}: must be NAME=PATH.", context, parameter)
        if name in paths:
            raise click.BadParameter(f"{text}: {name} is given twice.", context, parameter)
        paths[name] = path
    return paths


def _sizes(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int]:
    """Texts ``NAME=NUMBER`` by name."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        is_number = number.isascii() and number.isdigit() and len(number) < _SIZE_DIGITS
        if not (name and is_number and int(number)):
            raise click.BadParameter(
                f"{short(text)}: must be NAME=NUMBER, a whole number of at least 1.",
                context,
                parameter,
            )
        if name in sizes:
            raise click.BadParameter(f"{text}: {name} is given twice.", context, parameter)
        sizes[name] = int(number)
    return sizes


def _allow_python(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.with_resource(python_allowed())


def output_option(*names: str, **attributes: Any) -> Callable[[Callback], Callback]:
    return click.option(*names, type=OutputPath(dir_okay=False), **attributes)


def folder_option(*names: str, **attributes: Any) -> Callable[[Callback], Callback]:
    return click.option(*names, type=OutputPath(file_okay=False), **attributes)


input_file = InputFile()
configuration_argument = click.argument("config")
overrides_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field of the configuration; may be given again.",
)
allow_python_option = click.option(
    "--allow-python",
    cls=SharedOption,
    is_flag=True,
    expose_value=False,
    callback=_allow_python,
    help="Execute WORKLOAD where it is a model's .py file; FILE.py:NAME may be without {}.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For the compiler's choices, and input values that the workload's file lacks.",
)
tensors_option = click.option(
    "--tensor",
    "tensors",
    cls=SharedOption,
    multiple=True,
    metavar="NAME=PATH",
    callback=_named,
    help="{}.",
)
sizes_option = click.option(
    "--size",
    "sizes",
    cls=SharedOption,
    multiple=True,
    metavar="NAME=NUMBER",
    callback=_sizes,
    help="A size of a loop nest that no given array has; may be given again {}.",
)
values_option = click.option(
    "--values",
    type=input_file,
    help="New input values: JSON or .npz of names and numbers, or a workload of the same structure;"
    " for models an .npz file of FEATURE.indices, .offsets, .weights and .table.",
)
max_cycles_option = click.option(
    "--max-cycles",
    cls=SharedOption,
    type=click.IntRange(min=1),
    metavar="N",
    help="End a run that takes more cycles with an error {}.  [default: more than "
    "any right program of its kind takes]",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of the page."
)

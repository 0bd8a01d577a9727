"""Arguments and options that several ``gnarl`` commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sw.runtime.configuration import NamedConfiguration

Command = TypeVar("Command", bound=Callable[..., Any])


def _writable(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuses a file whose folder is not there before any work is done for it."""
    if path is not None and not path.parent.is_dir():
        raise click.BadParameter(f"{path.parent}: no such folder.", context, parameter)
    return path


def _named(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Texts ``NAME=PATH`` by name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.BadParameter(f"{text}: must be NAME=PATH.", context, parameter)
        if name in found:
            raise click.BadParameter(f"{text}: {name} is given twice.", context, parameter)
        found[name] = path
    return found


def output_option(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option(*names, type=kind, callback=_writable, **attributes)


input_file = click.Path(path_type=Path, exists=True, dir_okay=False)
configuration_argument = click.argument("config")
overrides_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field of the configuration; may be given again.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For the compiler's choices, and input values that the workload's file lacks.",
)
no_reassociate_option = click.option(
    "--no-reassociate",
    is_flag=True,
    help="Combine the operands of a sum or product from left to right, as they stand (dpu).",
)
tensors_option = click.option(
    "--tensor",
    "tensors",
    multiple=True,
    metavar="NAME=PATH",
    callback=_named,
    help="A tensor of an expression: .mtx, .tns, .npz, .npy, or a fibertree's FOLDER (sam).",
)
schedules_option = click.option(
    "--schedules",
    type=input_file,
    help="Schedules that `gnarl tune` found; without, the cost model chooses (cuda).",
)


def target_options(
    configuration: NamedConfiguration, no_reassociate: bool = False, **given: Any
) -> dict[str, Any]:
    """The target's own options among those given; refuses the others."""
    target = configuration.target
    if no_reassociate and "reassociate" not in target.options:
        raise click.UsageError(f"--no-reassociate: target {target.name} never reorders.")
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in target.options:
            raise click.UsageError(f"--{name}: target {target.name} has no use for it.")
    return options | ({"reassociate": False} if no_reassociate else {})

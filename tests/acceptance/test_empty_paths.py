"""Empty texts in place of arguments and paths, which Python takes for the current folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gnarl.sw.commands.main import main
from gnarl.sw.commands.path_types import InputFile, OutputPath
from tests.support.commands import refusal


def parameters(kind: type[click.Parameter]) -> Iterator[tuple[str, click.Parameter]]:
    """Parameters of all commands, with the command's name."""
    for name, command in main.commands.items():
        with click.Context(command) as context:
            for each in command.get_params(context):
                if isinstance(each, kind):
                    yield name, each


OPTIONS = [
    pytest.param(name, each, id=f"{name} {each.opts[0]}")
    for name, each in parameters(click.Option)
    if isinstance(each.type, click.Path)
]
ARGUMENTS = [
    pytest.param(name, each, id=f"{name} {each.name}") for name, each in parameters(click.Argument)
]


def test_every_path_is_of_a_type_that_has_a_name() -> None:
    assert len(OPTIONS) > 15
    for _, each in (*parameters(click.Option), *parameters(click.Argument)):
        assert not isinstance(each.type, click.Path) or isinstance(
            each.type, InputFile | OutputPath
        ), each.name


def filled(command: str, folder: Path, empty: click.Parameter | None = None) -> list[str]:
    """Arguments and required options, all but ``empty`` of a file ``x`` or a new one."""
    (folder / "x").touch()
    given = []
    for each in main.commands[command].params:
        if isinstance(each, click.Argument):
            given += ["" if each is empty else "x"] + ["x"] * (each.nargs < 0)
        elif each.required:
            given += [each.opts[0], str(folder / "y")]
    return given


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_empty_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: click.Option
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(option.type, click.Path)
    kind = "folder" if not option.type.file_okay else "file"
    kind += " or folder" * (option.type.file_okay and option.type.dir_okay)
    names = " / ".join(f"'{each}'" for each in option.opts)
    others = [] if option.required else filled(command, tmp_path)
    for name in option.opts:
        arguments = [f"{name}="] if name.startswith("--") else [name, ""]
        assert refusal(tmp_path, command, *others, *arguments) == (
            f"gnarl {command}: Invalid value for {names}: an empty path: must name a {kind}. See "
            f"gnarl {command} --help"
        )


@pytest.mark.parametrize(("command", "argument"), ARGUMENTS)
def test_an_empty_argument_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, argument: click.Argument
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refusal(tmp_path, command, *filled(command, tmp_path, argument))
    wanted = "an empty path" if isinstance(argument.type, InputFile) else "an empty text"
    assert wanted in line


def test_outputs_and_tensors_may_lie_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refusal(tmp_path, "run", "sam_fp32", "x(i)=b(i)", "--tensor", "b=")
    assert "b=: must be NAME=PATH" in line
    line = refusal(tmp_path, "run", "sam_fp32", "x(i)=b(i)", "--tensor", "b=.", "-o", ".")
    assert "empty" not in line

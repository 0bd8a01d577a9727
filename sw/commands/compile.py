"""The commands of the compilers: ``gnarl compile``, ``passes`` and ``disasm``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from gnarl.sw.commands.options import (
    GnarlCommand,
    SharedOption,
    TargetCommand,
    allow_python_option,
    configuration_argument,
    folder_option,
    input_file,
    output_option,
    overrides_option,
    own_options,
    seed_option,
    sizes_option,
    tensors_option,
)
from gnarl.sw.commands.output import print_table, stderr, workload_of
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.compiler.passes import StoppedError, Trace
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.command_files import check_output
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.registry import TARGETS


@click.command("compile", cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False)
@allow_python_option
@tensors_option
@sizes_option
@output_option("-o", "--output", help="The program file to write.")
@output_option(
    "--dot", cls=SharedOption, between=", or ", help="Write the program's graph as DOT: {}."
)
@folder_option(
    "--dump",
    help="Folder to write what each pass made to, as text and, where it is a graph, as DOT.",
)
@click.option(
    "--dump-after",
    multiple=True,
    metavar="PASS",
    help="With --dump, only what this pass made; may be given again. See gnarl passes.",
)
@click.option("--stop-after", metavar="PASS", help="End after this pass, without a program.")
@click.option(
    "--time-passes",
    is_flag=True,
    help="Print how long each pass took, and how often it ran.",
)
@overrides_option
@seed_option
def compile_(
    config: str,
    workload: str | None,
    tensors: dict[str, str],
    sizes: dict[str, int],
    output: Path | None,
    dot: Path | None,
    dump: Path | None,
    dump_after: tuple[str, ...],
    stop_after: str | None,
    time_passes: bool,
    overrides: tuple[str, ...],
    seed: int,
    own: dict[str, Any],
) -> None:
    """Compile a workload to a program file, which `gnarl run` takes with new input values.

    WORKLOAD is what CONFIG's target takes; it may be left out where CONFIG names one.

    WORKLOADS

    Example: gnarl compile dpu_d3_b64 circuit.psdd -o circuit.npz

    Example: gnarl compile dpu_d3_b64 circuit.psdd --dump passes --stop-after binarise

    Example: gnarl compile sram_b4 examples/vec_add.c -o vec_add.npz
    """
    from gnarl.sw.runtime.run.device import Device

    if output is None and dot is None and stop_after is None:
        raise click.UsageError("Missing option '-o' / '--output', '--dot' or '--stop-after'.")
    if dump_after and dump is None:
        raise click.UsageError("--dump-after needs --dump FOLDER.")
    configuration = load_configuration(config, overrides)
    target = configuration.target
    passes = [each.name for each in target.compiler.passes]
    _check_passes("--dump-after", dump_after, passes)
    _check_passes("--stop-after", () if stop_after is None else (stop_after,), passes)
    source = workload_of(configuration, workload)
    options = own_options(target, "compile", own)
    trace = Trace(
        write=_writer(dump, passes) if dump is not None else None,
        only=dump_after or None,
        stop_after=stop_after or "",
    )
    device = Device(configuration, stages=ConsoleStages(stderr()))
    program = None
    with suppress(StoppedError):
        sized = target.reader.sized_source(target.reader.source(source, tensors), sizes)
        program = device.compile(sized, seed=seed, trace=trace, **options)
    if time_passes:
        print_table(("pass", "seconds", "share", "runs"), _times(trace, passes))
    if program is not None and stop_after is not None:
        why = "the workload does not need it, or is what a later one left"
        click.echo(f"gnarl: pass {stop_after} did not run: {why}", err=True)
    if program is None or stop_after is not None:
        return
    drawn = target.presenter.dot(program) if dot is not None else ""
    if output is not None:
        program.save(output)
    if dot is not None:
        write_text(dot, drawn)


def _check_passes(option: str, names: Sequence[str], passes: Sequence[str]) -> None:
    for name in names:
        if name not in passes:
            raise click.UsageError(f"{option} {name}: must be one of {', '.join(passes)}.")


def _times(trace: Trace, passes: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    """A row for each of ``passes`` that ran, in their order, and one for all."""
    times = [(name, trace.times[name]) for name in passes if name in trace.times]
    total = sum(each.seconds for _, each in times)
    for name, (seconds, runs) in times:
        yield name, f"{seconds:9.4f}", f"{seconds / total:6.1%}", f"{runs:4}"
    yield "total", f"{total:9.4f}", "", ""


def _writer(folder: Path, passes: Sequence[str]) -> Callable[[str, Mapping[str, str]], None]:
    """What writes a pass's texts to files there, which it may write over."""
    dumps = {name: f"{number:02}_{name}" for number, name in enumerate(passes, 1)}
    for path in [path for name in dumps.values() for path in folder.glob(f"{name}.*")]:
        check_output(path)

    def write(name: str, texts: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in texts.items():
            write_text(folder / f"{dumps[name]}.{ending}", text)

    return write


@click.command(cls=GnarlCommand)
@configuration_argument
def passes(config: str) -> None:
    """List the passes of a configuration's compiler, in order.

    `gnarl compile --dump FOLDER` writes what each makes.

    Example: gnarl passes dpu_d3_b64
    """
    passes = load_configuration(config).target.compiler.passes
    print_table(("pass", "what it does"), [(each.name, each.does) for each in passes])


@click.command(cls=GnarlCommand)
@click.argument("program", type=input_file)
@click.option(
    "--config",
    metavar="CONFIG",
    help="Lower a program for any sizes (sram) as this configuration runs it.",
)
@overrides_option
@tensors_option
@sizes_option
def disasm(
    program: Path,
    config: str | None,
    overrides: tuple[str, ...],
    tensors: dict[str, str],
    sizes: dict[str, int],
) -> None:
    """Print the instructions of a program file, or its CUDA source.

    A program of a loop nest for in-SRAM computing has no sizes and no commands yet: without
    --config, its nest and tensor dataflow graphs are printed, else the commands for the sizes of
    --tensor and --size, 16 where these do not say.

    Example: gnarl disasm circuit.npz

    Example: gnarl disasm vec_add.npz --config sram_b4 --size n=64
    """
    for option, given in (("--set", overrides), ("--tensor", tensors), ("--size", sizes)):
        if given and config is None:
            raise click.UsageError(f"{option} needs --config CONFIG.")
    if config is None:
        loaded = load_program(program)
    else:
        configuration = load_configuration(config, overrides)
        loaded = configuration.target.compiler.at_sizes(
            load_program(program, configuration), configuration.config, tensors, sizes
        )
    for line in TARGETS[loaded.target].presenter.listing(loaded):
        click.echo(line)

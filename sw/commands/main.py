"""The ``gnarl`` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gnarl import __version__
from gnarl.sw.commands.area import area
from gnarl.sw.commands.boundary import DIFFERENT, refuse
from gnarl.sw.commands.compare import compare
from gnarl.sw.commands.compile import compile_, disasm, passes
from gnarl.sw.commands.fpga import fpga
from gnarl.sw.commands.opt import opt
from gnarl.sw.commands.options import (
    GnarlGroup,
    TargetCommand,
    allow_python_option,
    configuration_argument,
    folder_option,
    json_option,
    max_cycles_option,
    output_option,
    overrides_option,
    own_options,
    require_limits,
    seed_option,
    sizes_option,
    tensors_option,
    values_option,
)
from gnarl.sw.commands.output import hardware, page, print_result, print_table, stderr, workload_of
from gnarl.sw.commands.path_types import OutputPath
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.target.configuration import (
    NamedConfiguration,
    configuration_notes,
    load_configuration,
)
from gnarl.sw.runtime.target.contract import AnyTarget
from gnarl.sw.runtime.target.registry import loaded, others


@click.group("gnarl", cls=GnarlGroup, invoke_without_command=True)
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Accelerators for irregular computation, and their compilers.

    CONFIG is a name that `gnarl configs` lists, or the path of a .toml file.

    Exit status: 0 when results match, 1 when they differ, 2 for bad input, 3 for an error of Gnarl
    itself, 130 when interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return
    for error in others()[1]:
        refuse(f"gnarl: {error}")


main.add_command(area)
main.add_command(compare)
main.add_command(compile_)
main.add_command(disasm)
main.add_command(fpga)
main.add_command(opt)
main.add_command(passes)


@main.command()
def configs() -> None:
    """List the configurations that can be called by name.

    Example: gnarl configs
    """
    print_table(("name", "target", "what it is"), configuration_notes())


@main.command()
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
@folder_option("-o", "--output", "folder", help="Folder to write to; by default build/NAME.")
def rtl(config: str, workload: str | None, overrides: tuple[str, ...], folder: Path | None) -> None:
    """Write a configuration's Verilog, and beside it all of its fields as JSON.

    Where a target's hardware is made for its workload, WORKLOAD says for which.

    Example: gnarl rtl dpu_d3_b64 --set registers=64 -o build/more_registers
    """
    from gnarl.sw.runtime.target.verilog import verilog

    configuration = hardware(config, overrides, workload)
    folder = folder or Path("build") / configuration.name
    folder.mkdir(parents=True, exist_ok=True)
    with ConsoleStages(stderr())("generate Verilog"):
        text = verilog(configuration)
    for extension, content in (
        (".v", text),
        (".json", json.dumps(configuration.to_dict(), indent=2) + "\n"),
    ):
        path = folder / f"{configuration.name}{extension}"
        write_text(path, content)
        click.echo(path)


@main.command()
@configuration_argument
@click.argument("workload", required=False)
@overrides_option
def lint(config: str, workload: str | None, overrides: tuple[str, ...]) -> int:
    """Check a configuration's Verilog with verilator --lint-only -Wall.

    Prints what is wrong, if anything; then the exit status is 1.

    Example: gnarl lint dpu_d3_b64
    """
    from gnarl.sw.runtime.machine.verilate import lint as findings
    from gnarl.sw.runtime.target.verilog import module_name, verilog

    configuration = hardware(config, overrides, workload)
    stages = ConsoleStages(stderr())
    with stages("generate Verilog"):
        text = verilog(configuration)
    with stages("lint"):
        messages = findings(text, module_name(configuration))
    for line in messages:
        click.echo(line)
    return DIFFERENT if messages else 0


@main.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False, metavar="[WORKLOAD|PROGRAM]")
@allow_python_option
@tensors_option
@sizes_option
@overrides_option
@click.option(
    "--backend",
    metavar="BACKEND",
    help="What to run on: rtl, the simulated hardware, model, the interpreter of its programs, or "
    "fpga, a board; for cuda a GPU (cuda) or its emulation on the CPU. By default rtl, or a GPU if "
    "there is one.",
)
@click.option(
    "--port",
    metavar="PORT",
    help="With --backend fpga: the serial port of a board with CONFIG's bitstream, e.g. "
    "/dev/ttyUSB0.",
)
@click.option(
    "--baud",
    type=click.IntRange(min=1),
    help="With --backend fpga: the board's baud rate.  [default: as `gnarl fpga` builds it]",
)
@values_option
@seed_option
@max_cycles_option
@json_option
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    help="Write all outputs: an .npz file of arrays by name, or a folder of fibertree files.",
)
@output_option(
    "--waves",
    help="Write the RTL's signals to this file, in FST format; to a .saif file, how often they "
    "change.",
)
@output_option(
    "--timeline",
    help="Draw what the machine does, cycle by cycle (cuda: block by block), to this PNG file.",
)
def run(
    config: str,
    workload: str | None,
    tensors: dict[str, str],
    sizes: dict[str, int],
    overrides: tuple[str, ...],
    backend: str | None,
    port: str | None,
    baud: int | None,
    values: Path | None,
    seed: int,
    max_cycles: int | None,
    as_json: bool,
    output: Path | None,
    waves: Path | None,
    timeline: Path | None,
    own: dict[str, Any],
) -> int:
    """Run a workload, or a program file with --values, and compare with the golden model.

    WORKLOAD is what CONFIG's target takes; it may be left out where CONFIG names one.

    WORKLOADS

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png

    Example: gnarl run sam_fp32 "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s" --tensor B=b.mtx
    --tensor c=c.tns -o x.npz

    Example: gnarl run tmu_l8 embedding_bag:rm1 --opt 3

    Example: gnarl run sram_b4 examples/vec_add.c --size n=64

    Example: gnarl run sram_b4_512 vec_add.npz --tensor a=a.npy --tensor b=b.npy

    Example: gnarl run cuda_sm90 examples/embedding_model.py:model --batch 256

    Example: gnarl run cuda_sm90 "X(i,j)=B(i,k)*C(k,j) -f=B:ds" --tensor B=b.mtx --tensor C=c.npy
    """
    from gnarl.sw.runtime.report.output_files import check_output_path
    from gnarl.sw.runtime.run.session import run_once

    configuration = load_configuration(config, overrides)
    target = configuration.target
    _check_run(target, backend, waves, timeline)
    require_limits([target], max_cycles)
    source = workload_of(configuration, workload)
    if output is not None:
        check_output_path(output)
    report = run_once(
        configuration,
        source,
        backend=backend,
        values=values,
        tensors=tensors,
        sizes=sizes,
        seed=seed,
        options=own_options(target, "run", own),
        max_cycles=max_cycles,
        waves=waves,
        port=port,
        baud=baud,
        timeline=timeline,
        output=output,
        stages=ConsoleStages(stderr()),
    )
    if as_json:
        print_result(json.dumps(report.to_json(), allow_nan=False) + "\n")
    else:
        print_result(page(report.print))
    return 0 if report.matches else DIFFERENT


def _check_run(
    target: AnyTarget, backend: str | None, waves: Path | None, timeline: Path | None
) -> None:
    """That a target runs on the backend, which shows what is asked for."""
    backends = target.executor.backends
    if backend is not None and backend not in backends:
        raise click.UsageError(
            f"--backend {backend}: target {target.name} runs on {' or '.join(backends)}."
        )
    if waves and (backend or backends[0]) != "rtl":
        raise click.UsageError(
            f"--waves shows the RTL: not for --backend {backend or backends[0]}."
        )
    if timeline is not None and not target.presenter.draws:
        raise click.UsageError(f"--timeline: not supported by target {target.name}.")


@main.command(cls=TargetCommand)
@configuration_argument
@click.argument("workload")
@allow_python_option
@output_option("-o", "--output", required=True, help="The schedules' file to write.")
@overrides_option
@seed_option
def tune(
    config: str,
    workload: str,
    output: Path,
    overrides: tuple[str, ...],
    seed: int,
    own: dict[str, Any],
) -> None:
    """Find the compiler's best choices for WORKLOAD, for `gnarl run --schedules` (cuda).

    Measures on all GPUs; where there is none, the cost model's choice is written, and the file says
    so. Interrupted, it goes on where it was when called again.

    Example: gnarl tune cuda_sm90 examples/embedding_model.py:model -o schedules.json
    """
    configuration = load_configuration(config, overrides)
    summary = configuration.target.compiler.tune(
        configuration,
        workload,
        output,
        seed=seed,
        stages=ConsoleStages(stderr()),
        **own_options(configuration.target, "tune", own),
    )
    click.echo(f"{output}: {summary}")


@main.command()
@click.option(
    "--config",
    "names",
    multiple=True,
    help="Configuration to run its target's examples on, by default one of each target; may be "
    "given again.",
)
@folder_option(
    "-o",
    "--output",
    "folder",
    default=Path("build/demo"),
    show_default=True,
    help="Folder for the workloads and pictures.",
)
def demo(names: tuple[str, ...], folder: Path) -> int:
    """Generate workloads for each target, run them on the RTL, and draw their timelines.

    Example: gnarl demo --config dpu_d2_b16
    """
    from gnarl.sw.runtime.run.warm_up import running_ahead

    shown = names or [target.demo for target in loaded().values() if target.demo]
    configurations = [load_configuration(name) for name in shown]
    folder.mkdir(parents=True, exist_ok=True)
    with running_ahead(shown):
        matches = [_show_examples(configuration, folder) for configuration in configurations]
    return 0 if all(matches) else DIFFERENT


def _show_examples(configuration: NamedConfiguration, folder: Path) -> bool:
    """Whether all results are as they must be."""
    from gnarl.sw.runtime.run.session import run_once

    matches = True
    for example in configuration.target.reader.examples(folder):
        picture = folder / f"{example.name}.png" if configuration.target.presenter.draws else None
        report = run_once(
            configuration,
            example.source,
            tensors=example.tensors,
            options=example.options,
            timeline=picture,
            stages=ConsoleStages(stderr()),
        )
        print_result(page(report.print) + (f"timeline: {picture}\n\n" if picture else "\n"))
        matches = matches and report.matches
    return matches

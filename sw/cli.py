"""The ``gnarl`` command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from sw.cli_area import area
from sw.cli_boundary import DIFFERENT, refuse
from sw.cli_compare import compare
from sw.cli_fpga import fpga
from sw.cli_opt import opt
from sw.cli_options import (
    GnarlGroup,
    TargetCommand,
    allow_python_option,
    configuration_argument,
    folder_option,
    input_file,
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
from sw.cli_shared import hardware, page, print_result, print_table, stderr
from sw.compiler.passes import StoppedError, Trace
from sw.program.atomic import write_text
from sw.program.command_files import check_output
from sw.progress import ConsoleStages
from sw.runtime.configuration import NamedConfiguration, configuration_notes, load_configuration
from sw.runtime.output_path import OutputPath
from sw.runtime.programs import load_program
from sw.targets import TARGETS, loaded, others


def _version() -> str:
    """Of what is installed; the repository alone does not say."""
    try:
        return version("gnarl")
    except PackageNotFoundError:
        return "unknown"


@click.group("gnarl", cls=GnarlGroup, invoke_without_command=True)
@click.version_option(_version())
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
main.add_command(fpga)
main.add_command(opt)


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
    from sw.runtime.verilog import verilog

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
    from sw.runtime.verilate import lint as findings
    from sw.runtime.verilog import module_name, verilog

    configuration = hardware(config, overrides, workload)
    stages = ConsoleStages(stderr())
    with stages("generate Verilog"):
        text = verilog(configuration)
    with stages("lint"):
        found = findings(text, module_name(configuration))
    for line in found:
        click.echo(line)
    return DIFFERENT if found else 0


@main.command("compile", cls=TargetCommand)
@configuration_argument
@click.argument("workload", required=False)
@allow_python_option
@tensors_option
@sizes_option
@output_option("-o", "--output", help="The program file to write.")
@output_option(
    "--dot",
    help="Write the program's graph as DOT: in the dialect of the SAM tools (sam), or its tensor "
    "dataflow graphs (sram).",
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
    overrides: tuple[str, ...],
    seed: int,
    own: dict[str, Any],
) -> None:
    """Compile a workload to a program file, which `gnarl run` takes with new input values.

    WORKLOAD is a file; for sam, an expression; for tmu, the name of an operation, an expression,
    a .py file of a loop nest, a model's folder or .py file, or a dump's .mlir file; for cuda, a
    model's folder or .py file, or an expression, whose kernel is made for the sizes of its tensors.
    It may be left out where CONFIG names one.

    For tmu it may also be a PyTorch module: a .pt2 file that torch.export.save wrote.

    For sram, the program of a loop nest (.py, .c) is for any sizes, and runs on any configuration.

    Example: gnarl compile dpu_d3_b64 circuit.psdd -o circuit.npz

    Example: gnarl compile dpu_d3_b64 circuit.psdd --dump passes --stop-after binarise

    Example: gnarl compile sram_b4 examples/vec_add.c -o vec_add.npz
    """
    from sw.runtime.device import Device

    if output is None and dot is None and stop_after is None:
        raise click.UsageError("Missing option '-o' / '--output', '--dot' or '--stop-after'.")
    if dump_after and dump is None:
        raise click.UsageError("--dump-after needs --dump FOLDER.")
    configuration = load_configuration(config, overrides)
    target = configuration.target
    passes = [each.name for each in target.passes]
    for option, names in (("--dump-after", dump_after), ("--stop-after", (stop_after,))):
        for name in names:
            if name is not None and name not in passes:
                raise click.UsageError(f"{option} {name}: must be one of {', '.join(passes)}.")
    source = _workload(configuration, workload)
    options = own_options(target, "compile", own)
    dumps = {name: f"{number:02}_{name}" for number, name in enumerate(passes, 1)}
    if dump is not None:
        for path in [path for name in dumps.values() for path in dump.glob(f"{name}.*")]:
            check_output(path)

    def write(name: str, texts: Mapping[str, str]) -> None:
        assert dump is not None
        dump.mkdir(parents=True, exist_ok=True)
        for ending, text in texts.items():
            write_text(dump / f"{dumps[name]}.{ending}", text)

    trace = Trace(
        write=write if dump is not None else None,
        only=dump_after or None,
        stop_after=stop_after or "",
    )
    device = Device(configuration, stages=ConsoleStages(stderr()))
    try:
        found = target.sized_source(target.source(source, tensors), sizes)
        program = device.compile(found, seed=seed, trace=trace, **options)
    except StoppedError:
        return
    if stop_after is not None:  # a pass that this workload does not need
        return
    drawn = target.dot(program) if dot is not None else ""
    if output is not None:
        program.save(output)
    if dot is not None:
        write_text(dot, drawn)


@main.command()
@configuration_argument
def passes(config: str) -> None:
    """List the passes of a configuration's compiler, in order.

    `gnarl compile --dump FOLDER` writes what each makes.

    Example: gnarl passes dpu_d3_b64
    """
    print_table(("pass", "what it does"), load_configuration(config).target.passes)


@main.command()
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
        found = load_program(program)
    else:
        configuration = load_configuration(config, overrides)
        found = configuration.target.at_sizes(
            load_program(program, configuration), configuration.config, tensors, sizes
        )
    for line in TARGETS[found.target].listing(found):
        click.echo(line)


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

    WORKLOAD is a file; for sam, an expression or a .gv graph, with a --tensor for each of its
    operands; for tmu, the name of an operation, an expression, or a .py file of a loop nest or a
    dump's .mlir file, with a --tensor for each of its arrays; for cuda, an expression; for tmu and
    cuda, a model: a folder of table_config.txt and data_config.txt, or a .py file. It may be left
    out where CONFIG names one.

    For tmu it may also be a PyTorch module: a .pt2 file that torch.export.save wrote.

    For sram it is a loop nest: a .c or .py file, with :FUNCTION behind it where there are several,
    whose arrays are given by --tensor or made up, results as zeros; or a .sram file of commands.

    Example: gnarl run dpu_d3_b64 circuit.psdd --timeline circuit.png

    Example: gnarl run sam_fp32 "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s" --tensor B=b.mtx
    --tensor c=c.tns -o x.npz

    Example: gnarl run tmu_l8 embedding_bag:rm1 --opt 3

    Example: gnarl run sram_b4 examples/vec_add.c --size n=64

    Example: gnarl run sram_b4_512 vec_add.npz --tensor a=a.npy --tensor b=b.npy

    Example: gnarl run cuda_sm90 examples/embedding_model.py:model --batch 256

    Example: gnarl run cuda_sm90 "X(i,j)=B(i,k)*C(k,j) -f=B:ds" --tensor B=b.mtx --tensor C=c.npy
    """
    from sw.runtime.output_files import check_output_path
    from sw.runtime.session import run_once

    configuration = load_configuration(config, overrides)
    target = configuration.target
    if backend is not None and backend not in target.backends:
        raise click.UsageError(
            f"--backend {backend}: target {target.name} runs on {' or '.join(target.backends)}."
        )
    if waves and (backend or target.backends[0]) != "rtl":
        raise click.UsageError(
            f"--waves shows the RTL: not for --backend {backend or target.backends[0]}."
        )
    if timeline is not None and not target.draws:
        raise click.UsageError(f"--timeline: not supported by target {target.name}.")
    require_limits([target], max_cycles)
    source = _workload(configuration, workload)
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
    found = configuration.target.tune(
        configuration,
        workload,
        output,
        seed=seed,
        stages=ConsoleStages(stderr()),
        **own_options(configuration.target, "tune", own),
    )
    click.echo(f"{output}: {found}")


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
    from sw.runtime.session import run_once

    shown = names or [target.demo for target in loaded().values() if target.demo]
    configurations = [load_configuration(name) for name in shown]
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for configuration in configurations:
        for example in configuration.target.examples(folder):
            picture = folder / f"{example.name}.png" if configuration.target.draws else None
            report = run_once(
                configuration,
                example.source,
                tensors=example.tensors,
                options=example.options,
                timeline=picture,
                stages=ConsoleStages(stderr()),
            )
            print_result(page(report.print) + (f"timeline: {picture}\n\n" if picture else "\n"))
            status = max(status, 0 if report.matches else DIFFERENT)
    return status


def _workload(configuration: NamedConfiguration, given: str | None) -> str:
    """The workload on the command line, or else the one that the configuration names."""
    field = configuration.target.own_workload
    own = getattr(configuration.config, field) if field else ""
    if given is None and not own:
        raise click.UsageError(f"Missing argument 'WORKLOAD': {configuration.name} names none.")
    return own if given is None else given

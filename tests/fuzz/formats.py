"""What is damaged: small files that are right, and the commands that read them."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.tmu.compile import PASSES
from tests.support.sam.files import COPY, VECTOR

OUTPUTS = ("out.npz", "out", "out.gv", "out.json", "out.json.journal", "out.png")
"""What commands may write to their folder."""

JOURNALLED = (
    *("tune", "cuda_sm90", "small", "--set", "workers=blocks"),  # which has more to measure
    *("--batches", "1", "--candidates", "2", "-o", "out.json"),
)
"""Goes on from a journal, on GPUs that are simulated."""

Command = tuple[str, ...]

# First, so that no damage to other words leaves it to the RTL.
_MODEL = ("run", "--backend=model")
_RTL = ("run", "--backend=rtl")
_LIMITED = ("--max-cycles", "20000")
_EMULATION = ("run", "--backend=emulation")
_SAVED = ("--json", "-o", "out.npz")


@dataclass(frozen=True)
class Format:
    """Files of one format, and commands that succeed on them.

    kind
        of damage, see ``tests.fuzz.cases``.
    files
        patterns of those to damage.
    commands
        that read them, in the folder of ``tests.fuzz.valid_files``.
    computes
        whether a file says what is computed, so that damage can make results differ.
    """

    name: str
    kind: str
    files: tuple[str, ...]
    commands: tuple[Command, ...]
    computes: bool = False


def _dpu(name: str, file: str, kind: str = "text") -> Format:
    commands = (
        (*_MODEL, "dpu_d1_b8", file, *_SAVED),
        (*_MODEL, "dpu_d1_b8", file, "--set", "format=float16"),
        ("compile", "dpu_d1_b8", file, "-o", "out.npz"),
    )
    return Format(name, kind, (file,), commands)


def _values(name: str, file: str, kind: str = "text") -> Format:
    command = (*_MODEL, "dpu_d1_b8", "dpu.npz", "--values", file, *_SAVED)
    return Format(name, kind, (file,), (command,))


def _tensor(name: str, file: str, kind: str = "text") -> Format:
    run = (*_MODEL, "sam_fp32", COPY, "--tensor", f"B={file}")
    return Format(name, kind, (file,), ((*run, *_SAVED), (*run, "-o", "out")))


def _program(file: str, *run: str) -> Format:
    commands = (*run, *_SAVED), ("disasm", file)
    return Format(f"program {file}", "archive", (file,), commands, computes=True)


def _rows(file: str, *words: str) -> Format:
    """A program whose rows are damaged field by field, on the model and on the RTL."""
    commands = tuple((*run, *words, *_LIMITED, *_SAVED) for run in (_MODEL, _MODEL, _RTL))
    return Format(f"rows of {file}", "rows", (file,), commands, computes=True)


def _on_rtl(file: str, *words: str) -> Format:
    command = (*_RTL, *words, *_LIMITED, *_SAVED)
    return Format(f"{file} on RTL", "archive", (file,), (command,), computes=True)


def _configuration(file: str, *workload: str) -> Format:
    commands = ("passes", file), ("compile", file, *workload, "-o", "out.npz")
    return Format(f"configuration {file}", "text", (file,), commands)


def _overrides(config: str, workload: str, *overrides: str) -> Format:
    options = [word for each in overrides for word in ("--set", each)]
    commands = (("compile", config, workload, *options, "-o", "out.npz"),)
    return Format(f"overrides of {config}", "words", (), commands)


_OPERANDS = ("--tensor", "B=B.mtx", "--tensor", "c=c.tns")
NEST_ARRAYS = ("--tensor", "x=x.npy", "--tensor", "at=at.npy")
CELLS = ("--tensor", "a=cells.npy")
DUMPS = tuple(
    f"dump/{number:02}_{each.name}.mlir"
    for number, each in enumerate(PASSES, 1)
    if each.name in ("scf", "vectorize", "lower")
)
_LANES = f"{SUITE['matmul_ikj']} -s=parallelize(i,2)"

FORMATS = (
    _dpu("psdd", "circuit.psdd"),
    _dpu("triangular matrix", "lower.mtx"),
    _dpu("graphml", "graph.graphml"),
    _dpu("gml", "graph.gml"),
    _dpu("node-link", "graph.json", "json"),
    _dpu("edge list", "graph.edgelist"),
    _values("values by name", "values.json", "json"),
    _values("values of a workload", "values.edgelist"),
    _tensor("Matrix Market", "B.mtx"),
    _tensor("FROSTT", "B.tns"),
    *(
        _tensor(f"sparse {kind}", f"{kind}.npz", "archive")
        for kind in ("csr", "csc", "coo", "bsr", "dia", "empty")
    ),
    _tensor("dense array", "B.npy", "npy"),
    Format(
        "fibertree",
        "text",
        ("tree/*",),
        tuple(
            (*_MODEL, "sam_fp32", COPY, "--tensor", f"B={path}", *_SAVED)
            for path in ("tree", "tree/tensor_B")
        ),
    ),
    Format(
        "DOT graph",
        "text",
        ("graph.gv",),
        (
            (*_MODEL, "sam_fp32", "graph.gv", *_OPERANDS, *_SAVED),
            ("compile", "sam_fp32", "graph.gv", "--dot", "out.gv"),
        ),
        computes=True,
    ),
    Format(
        "expression",
        "words",
        (),
        (
            ("compile", "sam_fp32", VECTOR, "-o", "out.npz"),
            ("compile", "sam_fp32", _LANES, "--dot", "out.gv"),
            ("compile", "sam_fabric_small", VECTOR, "-o", "out.npz"),
            (*_MODEL, "sam_fp32", VECTOR, *_OPERANDS, *_SAVED),
        ),
    ),
    Format(
        "embedding model",
        "text",
        ("small/*",),
        (
            ("compile", "cuda_sm90", "small", "-o", "out.npz"),
            ("tune", "cuda_sm90", "small", "--strategy", "cost-model", "-o", "out.json"),
        ),
    ),
    Format(
        "model in Python",
        "python",
        ("model.py",),
        (("compile", "cuda_sm90", "model.py", "--allow-python", "-o", "out.npz"),),
    ),
    Format(
        "embedding values",
        "archive",
        ("values.npz",),
        ((*_EMULATION, "cuda_sm90", "small", "--values", "values.npz", *_SAVED),),
    ),
    Format(
        "schedules",
        "json",
        ("schedules.json",),
        (("compile", "cuda_sm90", "small", "--schedules", "schedules.json", "-o", "out.npz"),),
    ),
    Format(
        "loop nest",
        "python",
        ("nest.py",),
        (
            (*_MODEL, "tmu_l2", "nest.py", *NEST_ARRAYS, *_SAVED),
            ("compile", "tmu_l2", "nest.py", *NEST_ARRAYS, "-o", "out.npz"),
        ),
        computes=True,
    ),
    Format(
        "array of a loop nest",
        "npy",
        ("x.npy", "at.npy"),
        ((*_MODEL, "tmu_l2", "tmu.npz", *NEST_ARRAYS, *_SAVED),),
    ),
    Format(
        "dump",
        "text",
        DUMPS,
        tuple(("compile", "tmu_l2", name, "-o", "out.npz") for name in DUMPS),
    ),
    Format(
        "loop nest in C",
        "text",
        ("cells.c",),
        (
            (*_MODEL, "sram_b2", "cells.c", *CELLS, *_SAVED),
            ("compile", "sram_b2", "cells.c", "-o", "out.npz", "--dot", "out.gv"),
        ),
        computes=True,
    ),
    Format(
        "commands",
        "text",
        ("cells.sram",),
        (
            (*_MODEL, "sram_b2", "cells.sram", *CELLS, *_SAVED),
            ("compile", "sram_b2", "cells.sram", "-o", "out.npz"),
        ),
    ),
    Format(
        "PyTorch module",
        "module",
        ("bag.pt2",),
        (
            (*_MODEL, "tmu_l2", "bag.pt2", *_SAVED),
            ("compile", "tmu_l2", "bag.pt2", "-o", "out.npz"),
        ),
        computes=True,
    ),
    Format(
        "operation",
        "words",
        (),
        (
            (*_MODEL, "tmu_l2", "spmm:tiny", "--opt", "2", *_SAVED),
            (*_MODEL, "tmu_l2", "embedding_bag:tiny:L1", "--seed", "3", *_SAVED),
            ("compile", "tmu_l2", "matrix_sum:tiny", "--coupled", "-o", "out.npz"),
        ),
    ),
    Format(
        "text of a compiler's level",
        "text",
        DUMPS,
        tuple(
            ("opt", name, "--config", "tmu_l2", "-p", passes)
            for name, passes in zip(DUMPS, ("select,hoist", "bufferize", ""), strict=True)
        ),
    ),
    Format(
        "passes",
        "words",
        (),
        (
            ("opt", DUMPS[0], "--config", "tmu_l2", "-p", "select,hoist,decouple"),
            ("opt", DUMPS[1], "--config", "tmu_l2", "-p", "bufferize"),
        ),
    ),
    Format(
        "comparison",
        "text",
        ("graph.edgelist",),
        (("compare", "--backend=model", "graph.edgelist", "dpu_d1_b8", "dpu.toml", "--json"),),
    ),
    Format(
        "comparison's words",
        "words",
        (),
        (
            ("compare", "--backend=model", "graph.edgelist", "dpu_d1_b8", "dpu.toml", "--json"),
            ("compare", "--backend=model", "spmm:tiny", "tmu_l2", "tmu.toml", "--chart", "out.png"),
        ),
    ),
    Format("journal", "lines", ("out.json.journal",), (JOURNALLED,)),
    _program("dpu.npz", *_MODEL, "dpu_d1_b8", "dpu.npz", "--values", "values.json"),
    _program("sam.npz", *_MODEL, "sam_fp32", "sam.npz", *_OPERANDS),
    _program("fabric.npz", *_MODEL, "sam_fabric_small", "fabric.npz", *_OPERANDS),
    _program("cuda.npz", *_EMULATION, "cuda_sm90", "cuda.npz", "--values", "values.npz"),
    _program("tmu.npz", *_MODEL, "tmu_l2", "tmu.npz", *NEST_ARRAYS),
    _program("sram.npz", *_MODEL, "sram_b2", "sram.npz", *CELLS),
    _program("commands.npz", *_MODEL, "sram_b2", "commands.npz", *CELLS),
    _rows("tmu.npz", "tmu_l2", "tmu.npz", *NEST_ARRAYS),
    _rows("coupled.npz", "tmu_l2", "coupled.npz", *NEST_ARRAYS),
    _rows("commands.npz", "sram_b2", "commands.npz", *CELLS),
    *(
        _on_rtl(file, *run)
        for file, *run in (
            ("dpu.npz", "dpu_d1_b8", "dpu.npz", "--values", "values.json"),
            ("tmu.npz", "tmu_l2", "tmu.npz", *NEST_ARRAYS),
            ("commands.npz", "sram_b2", "commands.npz", *CELLS),
        )
    ),
    Format(
        "values on RTL",
        "text",
        ("values.edgelist",),
        ((*_RTL, "dpu_d1_b8", "dpu.npz", "--values", "values.edgelist", *_SAVED),),
    ),
    Format(
        "options",
        "options",
        (),
        (
            (*_MODEL, "dpu_d1_b8", "dpu.npz", "--values", "values.json"),
            (*_MODEL, "sam_fp32", VECTOR, *_OPERANDS),
            (*_MODEL, "tmu_l2", "nest.py", *NEST_ARRAYS),
            (*_MODEL, "sram_b2", "cells.c", *CELLS),
            ("compile", "dpu_d1_b8", "graph.edgelist", "-o", "out.npz"),
            ("compile", "cuda_sm90", "small", "-o", "out.npz"),
            ("compile", "tmu_l2", "nest.py", *NEST_ARRAYS, "-o", "out.npz"),
            ("compare", "--backend=model", "graph.edgelist", "dpu_d1_b8", "dpu.toml"),
            ("opt", DUMPS[0], "--config", "tmu_l2"),
            ("disasm", "sram.npz"),
            ("passes", "sam_fp32"),
            ("configs",),
        ),
    ),
    _configuration("dpu.toml", "graph.edgelist"),
    _configuration("sam.toml"),
    _configuration("fabric.toml", VECTOR),
    _configuration("cuda.toml", "small"),
    _configuration("tmu.toml", "nest.py", *NEST_ARRAYS),
    _configuration("sram.toml", "cells.c"),
    _overrides("dpu_d1_b8", "graph.edgelist", "depth=2", "format=float16"),
    _overrides("sam_fp32", VECTOR, "index_bits=16", "skip=false"),
    Format(
        "arguments",
        "words",
        (),
        (
            (*_MODEL, "dpu_d1_b8", "dpu.npz", "--seed", "3", "--values", "values.json", *_SAVED),
            (*_MODEL, "sam_fp32", VECTOR, *_OPERANDS, *_SAVED),
            ("compile", "cuda_sm90", "small", "--schedules", "schedules.json", "-o", "out.npz"),
            ("disasm", "dpu.npz"),
            ("passes", "dpu.toml"),
            ("configs",),
        ),
    ),
    Format(
        "names",
        "name",
        ("graph.edgelist", "values.edgelist", "dpu.toml"),
        tuple(
            (*_MODEL, "dpu.toml", "graph.edgelist", "--values", "values.edgelist", *options)
            for options in (_SAVED, (), ("--timeline", "out.png"))
        ),
    ),
)
"""Each is damaged as often as every other."""

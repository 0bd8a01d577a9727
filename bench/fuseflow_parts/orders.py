"""How many orders of loops fully fused networks have, as the paper's table 4 counts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.fuseflow_parts.variants import GCN, GRAPHSAGE
from bench.lib.measurements import measure_all
from bench.lib.plots import PALETTE, save, subplots
from bench.lib.records import ROOT, Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells
from bench.lib.tables import Cells
from gnarl.sw.compiler.sam.fuse.orders import count_orders
from gnarl.sw.compiler.sam.fuse.regions import Fusion, LoweredRegion, lower_regions
from gnarl.sw.compiler.sam.fuse.schedule import chosen
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.program import AnyStatement, Einsum, EinsumProgram, reductions
from gnarl.sw.workloads.tensor.expression import Call, Reduction

BENCH = "fuseflow.orders"

CONFIG = "sam_fp32"
NETWORKS = (GCN, GRAPHSAGE)
PAPER = {GCN: (2.0e8, 6.3e7), GRAPHSAGE: (3.9e7, 1.1e3)}
"""Without and with local constraints. The first is where its count of GCN's was stopped."""

METRICS = {
    "indices": Metric("", "none"),
    "permutations": Metric("", "none"),
    "unconstrained": Metric("", "none"),
    "constrained": Metric("", "none"),
}
"""``permutations``: of the region's indices; ``unconstrained``: those that keep to how tensors are
stored; ``constrained``: and to each product's own order, rows of the first factor outside, then
what is summed."""

_HEADER = {
    "indices": "indices",
    "permutations": "permutations",
    "unconstrained": "as stored",
    "paper_unconstrained": "paper",
    "constrained": "and by products' orders",
    "paper_constrained": "paper",
}
_SHOWN = {"paper_unconstrained": ".2g", "paper_constrained": ".2g"}


@dataclass(frozen=True)
class Job:
    """A network."""

    network: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"network": self.network}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return self.network


def measure(job: Job) -> dict[str, int]:
    """Values of ``METRICS``."""
    with Device(CONFIG, "model") as device:
        model = device.workload(f"{ROOT / 'examples' / f'{job.network}.py'}:karate")
        fusion = chosen(model, fuse="full")
    free = _whole(fusion)
    tied = _whole(replace(fusion, program=with_orders_of_products(fusion.program)))
    indices = len(free.partial_order)
    return {
        "indices": indices,
        "permutations": math.factorial(indices),
        "unconstrained": count_orders(free.partial_order),
        "constrained": count_orders(tied.partial_order),
    }


def _whole(fusion: Fusion) -> LoweredRegion:
    (region,) = lower_regions(fusion)
    return region


def with_orders_of_products(program: EinsumProgram) -> EinsumProgram:
    """The program in which products of matrices run by rows: i, k, j for sums over k."""
    return replace(program, statements=tuple(map(_by_rows, program.statements)))


def _by_rows(statement: AnyStatement) -> AnyStatement:
    if not isinstance(statement, Einsum):
        return statement
    match list(reductions(statement.expression)):
        case [Reduction("sum", summed, Call("mul"))]:
            row, *columns = statement.result.indices
            return replace(statement, order=(row, *summed, *columns))
    return statement


def run(request: Request) -> tuple[list[Record], bool]:
    """Counts the orders of every network; whether all went well."""
    jobs = [Job(network, request.seed) for network in NETWORKS]
    return measure_all(BENCH, measure, jobs, METRICS, console=request.console)


def tables(measured: Sequence[Record]) -> dict[str, Cells]:
    """A row for each network, with the paper's counts beside it."""
    body = []
    for (network,), row in rows(measured).items():
        free, tied = PAPER[network]
        shown = {**row, "paper_unconstrained": free, "paper_constrained": tied}
        body.append(cells(shown, [network], _HEADER, shown=_SHOWN))
    return {"Orders": Cells(["network", *_HEADER.values()], body, names=1)}


def verdict(measured: Sequence[Record]) -> str:
    """What products' own orders leave, in a line each."""
    lines = []
    for (network,), row in rows(measured).items():
        share = 1 - row["constrained"] / row["unconstrained"]
        lines.append(f"{network}: orders that products' own orders exclude, {100 * share:.1f} %")
    return "\n".join([*lines, "(paper 68.5 to 99.9 %)"])


def draw(measured: Sequence[Record], path: Path) -> None:
    """Counts of each network, and the paper's."""
    table = rows(measured)
    figure, (axes,) = subplots(1, (7, 4.2))
    for at, (label, field) in enumerate((("as stored", 0), ("and by products' orders", 1))):
        name = ("unconstrained", "constrained")[field]
        for shift, (who, values) in enumerate(
            (
                ("here", [row[name] for row in table.values()]),
                ("paper", [PAPER[network][field] for (network,) in table]),
            )
        ):
            places = [place + 0.2 * (2 * at + shift - 1.5) for place in range(len(table))]
            axes.bar(places, values, 0.2, label=f"{label}, {who}", color=PALETTE[2 * at + shift])
    axes.set_xticks(range(len(table)), [network for (network,) in table])
    axes.set(ylabel="orders of loops", yscale="log")
    axes.set_title("Fully fused networks of two layers", loc="left", fontsize=11)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)

"""Counts where a run's cycles go, and the least that they can be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS, WORD_BYTES
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import bases_of
from gnarl.sw.golden.loop_code import MemoryLayout
from gnarl.sw.program.program import Launch, Program, totals
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.lru_cache import lru_hits
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures
from gnarl.sw.runtime.tmu.image import Operands, golden_of
from gnarl.sw.workloads.loops.expressions.result_levels import is_compressed
from gnarl.sw.workloads.tensor.storage import CompressedLevel, store
from gnarl.sw.workloads.tensor.tensor import Tensor

WAITS = {
    "instructions": "instructions",
    "data queue empty": "waits_data",
    "no token": "waits_token",
    "loads": "waits_memory",
    "registers": "waits_registers",
}

ACCESS_WAITS = {
    "next iteration": "access_waits_iteration",
    "words from memory": "access_waits_words",
    "data queue full": "access_waits_data_room",
    "control queue full": "access_waits_token_room",
    "stores": "access_waits_store",
}
"""One at a time; what is left, it works or has ended."""

_TRAVERSAL_WAITS = {
    "stream queues full": "access_waits_slot",
    "all requests under way": "access_waits_request",
    "memory takes no request": "access_waits_memory",
}


def figures(program: Program, result: Result[HostJob[Operands]]) -> Figures:
    """Operations are those of the nest on float32, whatever instructions did them."""
    config, counters = TmuConfig.from_dict(program.config), result.counters
    of_launches = [
        bound(run.launch, run.job.operands, run.finished.counters) for run in result.launches
    ]
    operations = sum(each for each, _ in of_launches)
    bounds = totals(each for _, each in of_launches)
    least = sum(max(each.values()) for _, each in of_launches)
    alike = program.launches[0].statistics
    statistics = {
        **program.statistics,
        **{name: alike[name] for name in ("level", "by_hand", "coupled") if name in alike},
        "operations": operations,
        **{f"bound_{name}": cycles for name, cycles in bounds.items()},
        "lower_bound": least,
    }
    cycles = result.cycles
    charts = []
    if cycles is not None:
        statistics |= traffic(config, counters)
        statistics["bound_permille"] = 1000 * least // cycles
        waits = [(label, counters[name]) for label, name in WAITS.items()]
        waits.append(("control, start, end", cycles - sum(count for _, count in waits)))
        unit = "Execute unit alone" if "coupled" in statistics else "Execute unit"
        charts = [
            Chart(f"{unit}, % of cycles", waits, cycles),
            *(
                Chart(title, [(label, counters[name]) for label, name in names.items()], cycles)
                for title, names in (
                    ("Access unit waits, % of cycles: queuing", ACCESS_WAITS),
                    ("Access unit waits, % of cycles: running ahead", _TRAVERSAL_WAITS),
                )
            ),
            Chart(
                f"Bounds, % of cycles: {cycles / max(1, least):.2f} times the largest",
                [(name.replace("_", " "), count) for name, count in bounds.items()],
                cycles,
            ),
            Chart(
                "Means over the cycles",
                [
                    ("lines in flight", counters["requests_in_flight"] // cycles),
                    ("words in the data queue", counters["words_in_queue"] // cycles),
                ],
                0,
            ),
        ]
    return Figures(operations, "lanes", config.lanes, statistics, charts)


def traffic(config: TmuConfig, counters: Mapping[str, int]) -> dict[str, int]:
    """Bytes that main memory read and wrote."""
    read = counters["lines_read"] * LINE_BYTES
    return {
        "bytes_read": read,
        "bytes_written": counters["memory_busy"] * config.bandwidth - read,
    }


def bound(
    launch: Launch, operands: Operands, counters: Mapping[str, int]
) -> tuple[int, dict[str, int]]:
    """Operations, and the cycles that a run needs at least, by what needs them.

    memory
        to read each line that a fully associative LRU of L2's size misses, in the nest's order,
        and to write once each word of a result that is another one then.
    operations
        of all lanes, a product and another one a cycle each, as ``FMUL_ADD`` does both.
    queue
        to take what was put into the data queue, a row a cycle.
    """
    config, sections = TmuConfig.from_dict(launch.config), launch.sections
    layout = MemoryLayout(bases_of(sections), LINE_WORDS)
    work = golden_of(launch).work(operands.binding, layout)
    misses = int(np.count_nonzero(~lru_hits(work.lines, 1, config.l2_bytes // LINE_BYTES)))
    written = _words_written(launch, operands) * WORD_BYTES
    queued = counters.get("vectors_queued", 0) * config.lanes + counters["words_queued"]
    return work.operations, {
        "memory": -(-(misses * LINE_BYTES + written) // config.bandwidth),
        "operations": -(-max(work.products, work.operations - work.products) // config.lanes),
        "queue": -(-queued // config.lanes),
    }


def _words_written(launch: Launch, operands: Operands) -> int:
    """Words of results that the run changes, each once; of compressed results the valid ones."""
    statement = operands.meaning.statement
    if statement is None or not is_compressed(statement):
        before = operands.binding.arrays
        return sum(
            int(np.count_nonzero(after.view(np.uint32) != before[name].view(np.uint32)))
            for name, after in operands.counted.results.items()
        )
    name = statement.result.tensor
    tensor = operands.golden[name]
    assert isinstance(tensor, Tensor)
    stored = store(tensor, statement.formats[name])
    levels = [each for each in stored.levels if isinstance(each, CompressedLevel)]
    return len(stored.values) + sum(len(each.segments) + len(each.coordinates) for each in levels)

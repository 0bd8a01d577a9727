"""What figures of a GPU are known by."""

from __future__ import annotations

from dataclasses import replace

from bench.cuda_parts import measure, protocol
from bench.cuda_parts.comparison import Comparison
from bench.lib.records import Record
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.cuda.bench import GPU, kernel_records, model_records

BENCH = "cuda.kernels"


def program_of(dim: int) -> EmbeddingProgram:
    model = EmbeddingModel("m", (Feature("a", 50, dim),))
    return build_program(model, choose_schedules(model, CudaConfig()))


def with_source(program: EmbeddingProgram, source: str) -> EmbeddingProgram:
    return replace(program, kernel=replace(program.kernel, source=source))


def test_a_kernel_is_known_by_its_source_without_comments():
    program = program_of(8)
    source = program.kernel.source
    digest = protocol.kernel_digest(program)
    assert digest != protocol.kernel_digest(program_of(16))
    assert digest == protocol.kernel_digest(with_source(program, f"// new\n\n{source}"))
    assert digest != protocol.kernel_digest(with_source(program, f"{source}int more;\n"))


def test_schedules_gpu_and_protocol_are_in_the_key():
    program = program_of(8)
    key = protocol.key_of(GPU, program)
    assert (key["gpu"], key["protocol"]) == (GPU.name, str(protocol.PROTOCOL))
    other = replace(program, schedules=replace(program.schedules, blocks_per_sm=1))
    assert protocol.key_of(GPU, other)["schedules"] != key["schedules"]


def of_kernel(records: list[Record], kernel: str) -> list[Record]:
    return [replace(each, tools={**each.tools, "kernel": kernel}) for each in records]


def test_tables_have_the_kernel_that_was_measured_last():
    old = [
        *model_records(BENCH, "A"),
        *kernel_records(BENCH, "A", measure.OURS, 1.0),
        *kernel_records(BENCH, "A", measure.TORCH, 9.0),
        *kernel_records(BENCH, "B", measure.TORCH, 8.0),
    ]
    new = [
        *kernel_records(BENCH, "A", measure.OURS, 1.0),
        *kernel_records(BENCH, "A", measure.UNIFORM, 2.0),
    ]
    found = Comparison.of([*of_kernel(old, "old"), *of_kernel(new, "new")], BENCH)
    assert set(found.kernels) == {
        ("A", measure.VARYING, measure.OURS),
        ("A", measure.VARYING, measure.UNIFORM),
        ("B", measure.VARYING, measure.TORCH),
    }


def test_figures_of_another_protocol_do_not_count():
    record = model_records(BENCH, "A")[0]
    assert not protocol.counts(record)
    tools = {"protocol": str(protocol.PROTOCOL)}
    assert protocol.counts(replace(record, tools=tools))

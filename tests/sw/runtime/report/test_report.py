"""The page and the JSON object of a run; and the comparison that they report."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.report.output_summary import OutputSummary
from gnarl.sw.runtime.report.report import JSON_FIELDS, Chart, Estimate, Figures, Report, bar
from gnarl.sw.runtime.report.tally import Counted
from gnarl.sw.runtime.report.vanished import Vanished
from gnarl.sw.runtime.report.verify import Verification

REPORT = Report(
    config="dpu_d3_b64",
    target="dpu",
    workload="tretail",
    backend="rtl",
    digest="0123",
    overrides={"registers": 64},
    cycles=512,
    counters={"exec": 300, "copy": 31},
    figures=Figures(
        8192,
        "PEs",
        64,
        {"spills": 0},
        [Chart("Instructions, % of cycles", [("exec", 256), ("nop", 64)], 512)],
    ),
    verification=Verification(True, "", 2.5e-7),
    outputs=[
        OutputSummary("outputs", (2,), "float32", 2, True, {"root": 0.5, "rest": float("inf")})
    ],
    seconds={"compile": 3.25, "simulate": 0.04},
    launches={"tretail": Finished({}, 512, {"exec": 300, "copy": 31})},
)


def page(report: Report) -> str:
    text = io.StringIO()
    report.print(Console(file=text, width=100, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def test_the_page() -> None:
    assert page(REPORT) == "\n".join(
        [
            "",
            "tretail on dpu_d3_b64 registers=64, rtl",
            "  512 cycles · 8,192 operations · 16.00 a cycle · 25.0 % of PEs busy",
            "  ✔ bit-exact, error against float64 2.5e-07",
            "",
            "Instructions, % of cycles",
            "  exec  256  50 %  ██████████████",
            "  nop    64  12 %  ███▌",
            "",
            "Outputs",
            "  root = 0.5, rest = inf",
            "",
            "Time",
            "  compile 3.2 s · simulate 40 ms",
            "",
        ]
    )


def test_an_estimate_is_on_the_page_and_said_to_be_one() -> None:
    figures = replace(REPORT.figures, estimate=Estimate(12.345, "T4", {"a": 12.0}))
    assert (
        "\n  ≈ 12.3 µs on T4: the cost model's estimate of the kernel with the run's batch, not "
        "measured\n"
    ) in page(replace(REPORT, figures=figures))


def test_a_difference_is_on_the_page() -> None:
    text = page(replace(REPORT, verification=Verification(False, "1 of 2 outputs differ", 2.5e-7)))
    assert "\n  ✘ 1 of 2 outputs differ, error against float64 2.5e-07\n" in text


def test_results_may_be_right_without_being_bit_exact() -> None:
    report = replace(REPORT, verification=Verification(False, "", 2.5e-7))
    assert report.matches
    assert "\n  ✔ within its bound, error against float64 2.5e-07\n" in page(report)


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (1, "1 input that is not 0 becomes 0: b[0] = 1e-320, in float32"),
        (1234, "1,234 inputs that are not 0 become 0; the first is b[0] = 1e-320, in float32"),
    ],
)
def test_inputs_that_become_zero_are_on_the_page(count: int, line: str) -> None:
    found = replace(REPORT, vanished=Vanished(count, "b[0] = 1e-320", "float32"))
    assert f"\n  ✔ bit-exact, error against float64 2.5e-07\n  ! {line}\n" in page(found)
    assert found.to_json()["vanished"] == {
        "count": count,
        "first": "b[0] = 1e-320",
        "format": "float32",
    }


def test_inputs_that_were_made_up_are_on_the_page() -> None:
    names = {f"b[{at}]": "random, seed 3" for at in range(1, 7)}
    found = replace(REPORT, made_up={"x": "zeros", **names, "n": "16"})
    line = "Made up: x (zeros); b[1], b[2], b[3], b[4] and 2 more (random, seed 3); n (16)"
    assert f"\n  ✔ bit-exact, error against float64 2.5e-07\n  {line}\n" in page(found)
    assert found.to_json()["made_up"] == ["x", *names, "n"]


def test_lost_outputs_have_a_warning_in_place_of_the_tick() -> None:
    lost = Counted(1, 2, "root = 0, in float64 4.4e-154")
    report = replace(REPORT, verification=Verification(True, "", 1.0, lost=lost))
    assert report.matches
    line = "! 1 of 2 outputs lost; the first is root = 0, in float64 4.4e-154"
    assert f"\n  ! bit-exact, error against float64 1.0e+00\n  {line}\n" in page(report)
    assert "✔" not in page(report)
    assert (report.to_json()["lost"], report.to_json()["bit_exact"]) == (1, True)
    wrong = replace(REPORT, verification=Verification(False, "1 of 2 differ", 1.0, lost=lost))
    assert f"\n  ✘ 1 of 2 differ, error against float64 1.0e+00\n  {line}\n" in page(wrong)


def test_outputs_that_are_not_finite_are_counted_and_have_no_error() -> None:
    first = "root = nan, in float64 nan"
    found = Verification(True, "", float("nan"), Counted(2, 2, first))
    report = replace(REPORT, verification=found)
    line = f"! 2 of 2 outputs not finite; the first is {first}"
    begin = "\n  ✔ bit-exact, no finite output to compare with float64\n"
    assert f"{begin}  {line}\n" in page(report)
    assert (report.to_json()["not_finite"], report.to_json()["max_rel_error"]) == (2, "NaN")
    some = replace(REPORT, verification=Verification(True, "", 0.0, Counted(1, 2, first)))
    assert "\n  ✔ bit-exact, error against float64 of finite outputs 0.0e+00\n" in page(some)


@pytest.mark.parametrize("error", ["Infinity", "NaN"])
def test_an_error_that_json_lacks_is_a_text(error: str) -> None:
    report = replace(REPORT, verification=Verification(True, "", float(error)))
    assert report.to_json()["max_rel_error"] == error


def test_a_machine_without_a_count_of_cycles() -> None:
    report = replace(REPORT, backend="emulation", cycles=None, note="no GPU here")
    assert page(report).startswith(
        "\ntretail on dpu_d3_b64 registers=64, emulation (no GPU here)\n  8,192 operations\n"
    )
    found = report.to_json()
    assert [found[name] for name in ("cycles", "ops_per_cycle", "utilisation")] == [None] * 3


def test_a_target_without_units() -> None:
    report = replace(REPORT, figures=Figures(512))
    assert report.utilisation is None
    assert "\n  512 cycles · 512 operations · 1.00 a cycle\n" in page(report)


def test_bytes_of_memories_are_on_the_page_where_a_target_counts_them() -> None:
    report = replace(REPORT, figures=Figures(512, bytes=2048))
    line = "  2,048 bytes read and written · 0.250 operations a byte\n"
    assert f" a cycle\n{line}  ✔ bit-exact" in page(report)
    found = report.to_json()
    assert (found["bytes"], found["intensity"]) == (2048, 0.25)


def test_without_a_byte_there_is_no_intensity() -> None:
    report = replace(REPORT, figures=Figures(0, bytes=0))
    assert "\n  0 bytes read and written\n" in page(report)
    found = report.to_json()
    assert (found["bytes"], found["intensity"]) == (0, None)


def test_figures_of_launches_are_a_table() -> None:
    of_launches = {
        "count": {"bytes": 1024, "intensity": 0.125, "bounded_by": "memory"},
        "move": {"bytes": 0, "intensity": None, "bounded_by": "a_out"},
    }
    launches = {name: Finished({}, 48, {}) for name in of_launches}
    report = replace(REPORT, figures=Figures(512, launches=of_launches), launches=launches)
    assert (
        "\nLaunches\n"
        "  launch  cycles  bytes  intensity  bounded by\n"
        "  count       48  1,024      0.125      memory\n"
        "  move        48      0                  a_out\n"
    ) in page(report)
    assert report.to_json()["launches"]["move"]["intensity"] is None


def test_launches_are_on_the_page_where_there_are_several() -> None:
    launches = {"count": Finished({}, 48, {}), "move": Finished({}, None, {})}
    assert "\nLaunches\n  count 48 cycles · move\n" in page(replace(REPORT, launches=launches))


def test_outputs_that_are_no_scalars_have_a_line_each() -> None:
    outputs = [
        OutputSummary("y", (1000, 3), "float16", 3000, False, {"y[0,0]": 0.5}),
        OutputSummary("x", (9, 9), "float32", 2, False, {"x[0,1]": 1.0, "x[8,8]": 2.0}),
        *REPORT.outputs,
    ]
    assert page(replace(REPORT, outputs=outputs)).endswith(
        "\nOutputs\n  root = 0.5, rest = inf\n"
        "  y [1000, 3] float16: y[0,0] = 0.5, and 2,999 more\n"
        "  x [9, 9] float32, 2 entries: x[0,1] = 1, x[8,8] = 2\n\n"
        "Time\n  compile 3.2 s · simulate 40 ms\n"
    )


def test_the_json_object() -> None:
    text = json.dumps(REPORT.to_json(), allow_nan=False)
    assert json.loads(text) == {
        "version": 3,
        "config": "dpu_d3_b64",
        "target": "dpu",
        "workload": "tretail",
        "backend": "rtl",
        "digest": "0123",
        "overrides": {"registers": 64},
        "cycles": 512,
        "ops": 8192,
        "ops_per_cycle": 16.0,
        "bytes": None,
        "intensity": None,
        "utilisation": 0.25,
        "matches": True,
        "bit_exact": True,
        "difference": None,
        "max_rel_error": 2.5e-7,
        "not_finite": 0,
        "lost": 0,
        "vanished": None,
        "made_up": [],
        "compile_s": 3.25,
        "lower_s": 0.0,
        "simulate_s": 0.04,
        "seconds": {"compile": 3.25, "simulate": 0.04},
        "counters": {"exec": 300, "copy": 31},
        "statistics": {"spills": 0},
        "places": [],
        "lines": None,
        "remarks": [],
        "outputs": {"root": 0.5, "rest": "Infinity"},
        "estimate": None,
        "launches": {"tretail": {"cycles": 512, "counters": {"exec": 300, "copy": 31}}},
    }


def test_every_field_of_the_json_object_is_explained() -> None:
    assert list(REPORT.to_json()) == list(JSON_FIELDS)


def test_a_page_without_times() -> None:
    assert page(replace(REPORT, seconds={})).endswith("Outputs\n  root = 0.5, rest = inf\n")


def test_a_stage_that_was_left_out_took_no_time() -> None:
    assert replace(REPORT, seconds={}).to_json()["compile_s"] == 0.0


@pytest.mark.parametrize(
    ("share", "drawn"), [(0, ""), (1, "█" * 28), (0.5, "█" * 14), (1 / 224, "▏"), (1 / 32, "▉")]
)
def test_bars(share: float, drawn: str) -> None:
    assert bar(share) == drawn

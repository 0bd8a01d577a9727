"""Points of a sweep, and values that are refused."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.runtime.explore.sweep import read_axis, read_sweep

CONFIG = "dpu_d1_b8"


def test_all_combinations_in_order() -> None:
    sweep = read_sweep(CONFIG, ["registers=8"], ["depth=1,2", "format=float16, float32"])
    assert sweep.fields == ["depth", "format"]
    assert [point.values for point in sweep.points] == [
        {"depth": depth, "format": format} for depth in (1, 2) for format in ("float16", "float32")
    ]
    assert len({point.digest for point in sweep.points}) == 4
    assert not any(point.error for point in sweep.points)
    assert sweep.configuration.overrides == {"registers": 8, "depth": 1, "format": "float16"}


def test_commas_in_quotes_and_brackets_are_of_a_value() -> None:
    axis = read_axis("""expression="x(i)=B(i,j)*c(j)",'a,b',[1,2],4""")
    assert axis.values == ("x(i)=B(i,j)*c(j)", "a,b", [1, 2], 4)


def test_numbers_and_truth_values_are_different() -> None:
    assert read_axis("overlap=1,true").values == (1, True)


def test_what_only_a_combination_refuses_is_a_point() -> None:
    sweep = read_sweep(CONFIG, [], ["depth=1,4", "banks=8,16"])
    assert [point.error for point in sweep.points] == [
        *("", ""),
        "--sweep banks=8: banks = 8: must be a multiple of 2**depth = 16",
        "",
    ]


@pytest.mark.parametrize(
    ("sweeps", "text"),
    [
        (["lanes=1"], "--sweep lanes=1: lanes = 1: no such field; there are depth, banks, "),
        (
            ["registers=8,9999"],
            "--sweep registers=9999: registers = 9999: must be a whole number from 8 to 256",
        ),
        (
            ["registers=8,x", "depth=1,2"],
            "--sweep registers=x: registers = 'x': must be a whole number from 8 to 256",
        ),
        (["format=float99,float32"], "--sweep format=float99: format = 'float99': must be one of "),
        (["depth=4"], "--sweep depth=4: "),
        (["depth=1", "depth=2"], "--sweep depth=2: depth is given twice: must be given once, "),
        (["depth=1,2,0x1"], "--sweep depth=1,2,0x1: 0x1 is given twice: must be given once"),
        (["registers=8"], "--sweep registers=8: registers is given by --set, too: must be given "),
        (["instruction_words=" + ",".join(map(str, range(4, 10_005)))], "--sweep: 10,001 points: "),
        *(
            ([text], f"--sweep {text}: must be FIELD=A,B,…, a field of the configuration and ")
            for text in ("depth", "depth=", "=1", "depth=1,,2", "depth=1,")
        ),
    ],
)
def test_what_is_refused(sweeps: list[str], text: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_sweep(CONFIG, ["registers=16"] if sweeps == ["registers=8"] else [], sweeps)
    assert str(error.value).startswith(text)

"""The table of costs of in-SRAM operations is that of the microcode."""

from __future__ import annotations

import pytest

from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.rows import A, D, i, n
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation
from manual.sram_microcode import PATH, formula, manual


def test_the_page_is_up_to_date():
    assert PATH.read_text(encoding="utf-8") == manual(), "run `make docs`"


def test_every_operation_is_there():
    text = manual()
    for name in [*INTEGER_OPERATIONS, *FLOAT_OPERATIONS["float32"]]:
        assert f"| `{name}` |" in text


def test_formulas():
    found = {name: formula(operation) for name, operation in INTEGER_OPERATIONS.items()}
    assert found["add"] == "n"
    assert found["maximum"] == "2n"
    assert found["multiply"] == "0.5n² + 1.5n"
    assert found["divide"] == "n² + 6n + 5"


def test_what_no_formula_fits_is_refused():
    def write(p: Builder) -> None:
        p.sweep(1 if p.width else 9, A.up(), d=D.up(), write=lambda a, b, c, p: a)
        if p.width is None:
            with p.loop(n - 4):
                p.sweep(1, A.at(i), d=D.at(i), write=lambda a, b, c, p: a)

    with pytest.raises(ValueError) as caught:
        formula(Operation("odd", write, is_parametric=True))
    assert str(caught.value) == "odd: cycles [1, 13, 21, 37] are no polynomial of degree 2"

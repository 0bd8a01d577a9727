"""Rules of the hardware that the model checks, by the whole text."""

from __future__ import annotations

import pytest

from gnarl.sw.runtime.sam.model.tokens import ModelError
from tests.support.sam.model_block import run


@pytest.mark.parametrize(
    "kind, inputs, more, text",
    [
        (
            "fiberlookup",
            {"ref": "0 2 S0 D"},
            {"arrays": {"seg": [[0, 1], [1, 2]], "crd": [0, 1]}},
            "reads row 2 of seg: must be below 2, which were loaded",
        ),
        (
            "fiberlookup",
            {"ref": "0 D"},
            {"arrays": {"seg": [[0, 3]], "crd": [0, 1]}},
            "reads row 2 of crd: must be below 2, which were loaded",
        ),
        (
            "fiberlookup",
            {"ref": "1 D"},
            {"arrays": {"seg": [[0, 1], [1, 0]], "crd": [0]}},
            "segment 1 ends at 0: must not be before 1",
        ),
        (
            "fiberlookup",
            {"ref": "2 D"},
            {"parameters": {"format": "dense"}, "settings": {"size": 100}, "index_bits": 8},
            "reference 300: must fit 8 bits",
        ),
        (
            "locate",
            {"crd": "0 3 D", "ref": "0 0 D"},
            {"settings": {"size": 3}},
            "coordinate 3: must be below the level's size, 3",
        ),
        (
            "arrayvals",
            {"ref": "0 1 S0 D"},
            {"arrays": {"vals": [5]}},
            "reads row 1 of vals: must be below 1, which were loaded",
        ),
        (
            "intersect",
            {"crd0": "0 S0 D", "ref0": "0 S0 D", "crd1": "0 S1 D", "ref1": "0 S1 D"},
            {},
            "fiber 0 ends in S0 in crd0 and in S1 in crd1",
        ),
        (
            "intersect",
            {"crd0": "0 1 S0 D", "ref0": "0 S0 S0 D", "crd1": "0 S0 D", "ref1": "0 S0 D"},
            {},
            "token 1: crd0 has data and ref0 has S0",
        ),
        (
            "union",
            {"crd0": "0 S0 D", "ref0": "0 S0 D", "crd1": "0 S0 S0 D", "ref1": "0 S0 S0 D"},
            {},
            "crd0 has 1 stops and crd1 has 2: must be the same",
        ),
        (
            "union",
            {"crd0": "3 2 S0 D", "ref0": "0 1 S0 D", "crd1": "0 S0 D", "ref1": "0 S0 D"},
            {},
            "token 1 of crd0 is 2 after 3: coordinates must ascend",
        ),
        (
            "alu",
            {"val0": "1 2 S0 D", "val1": "1 S0 S0 D"},
            {},
            "token 1: val0 has data and val1 has S0",
        ),
        (
            "alu",
            {"val0": "1 S0 D", "val1": "1 S1 D"},
            {},
            "token 1: val0 has S0 and val1 has S1",
        ),
        (
            "repeat",
            {"ref": "1 2 S0 D", "repsig": "0 S0 D"},
            {},
            "ref has 2 fibers below it, repsig has 1: must be the same",
        ),
        (
            "repeat",
            {"ref": "S0 D", "repsig": "0 S0 D"},
            {},
            "fiber 0 of repsig has data, but ref has no token for it",
        ),
        (
            "repeat",
            {"ref": "1 2 S0 D", "repsig": "0 S0 0 S0 D"},
            {},
            "fiber 1 of repsig ends in S0: must be S1, as ref has it",
        ),
        *(
            (
                kind,
                {"outer": "1 2 S0 D", "inner": "1 S0 2 S0 D"},
                {},
                "fiber 1 of inner ends in S0: must be S1, as outer has it",
            )
            for kind in ("crddrop", "crdhold")
        ),
        (
            "valdrop",
            {"crd": "1 2 S0 D", "val": "1 S0 S0 D"},
            {},
            "token 1: crd has data and val has S0",
        ),
        (
            "fiberwrite",
            {"crd": "31 32 S0 D"},
            {"parameters": {"format": "bitvector"}, "settings": {"words": 1}},
            "coordinate 32: must be below 32",
        ),
        (
            "reduce",
            {"val": "1 S1 D", "crd": "S0 D"},
            {},
            "fiber 0 of val has data: must be empty, as crd has none there",
        ),
        (
            "spaccumulator",
            {"crd1": "0 S0 D", "crd0": "4 S1 D", "val": "1 S1 D"},
            {"settings": {"size0": 4}},
            "crd0 has coordinate 4: must be below its size, 4",
        ),
        (
            "spaccumulator",
            {"crd2": "0 S0 D", "crd1": "1 S1 D", "crd0": "2 S2 D", "val": "1 S2 D"},
            {
                "parameters": {"order": 2},
                "settings": {"size0": 5, "size1": 2},
                "accumulator_words": 8,
            },
            "needs 11 sums: must be at most 8, accumulator_words",
        ),
        *(
            ("crdparallelizer", {"crd": crd, "i": i}, {}, text)
            for crd, i, text in (
                ("0 1 S0 D", "0 S0 D", "token 1: crd has data and i has S0"),
                ("0 1 S0 S0 D", "0 S0 1 S0 D", "token 1: crd has data and i has S0"),
                ("0 S0 D", "0 S1 D", "token 1: crd has S0 and i has S1"),
                ("0 D", "0 S0 D", "token 1: crd has D and i has S0"),
            )
        ),
        (
            "serializer",
            {"i0": "1 S0 D", "i1": "1 S0 S0 D"},
            {},
            "lane 0 has 1 of 3 fibers: must be 2, one in its turn",
        ),
        *(
            (
                "valserializer",
                {"crd": "0 1 2 S0 D", "i0": first, "i1": second},
                {},
                f"lane {lane} has other stops than what crd deals to it: must have a value for "
                "each coordinate",
            )
            for first, second, lane in (
                ("5 S0 D", "7 D", 0),
                ("5 6 S1 D", "7 D", 0),
                ("5 6 S0 D", "7 S0 D", 1),
                ("5 6 S0 D", "D", 1),
            )
        ),
        (
            "fiberwrite",
            {"crd": "0 1 2 S0 D"},
            {"array_words": 2},
            "writes 3 rows to crd: must be at most 2, array_words",
        ),
        (
            "valwrite",
            {"val": "0 1 2 S0 D"},
            {"array_words": 2},
            "writes 3 rows to vals: must be at most 2, array_words",
        ),
        (
            "fiberlookup",
            {"ref": "0 D"},
            {},
            "its array seg is missing: must be loaded before the run",
        ),
        (
            "locate",
            {"crd": "0 D", "ref": "0 D"},
            {},
            "its setting size is missing: must be set before the run",
        ),
    ],
)
def test_rules_of_the_hardware(kind, inputs, more, text):
    with pytest.raises(ModelError) as caught:
        run(kind, inputs, **more)
    assert str(caught.value) == f"block b ({kind}): {text}"

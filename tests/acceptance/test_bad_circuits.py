"""Bad probabilistic circuits in .psdd files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dpu.dag_files import refused_file

PSDD = {
    "no header": ("L 0 0 1\n", ":1: the first line must be 'psdd COUNT'"),
    "no nodes": ("psdd 1\n", ": the file has no nodes: must have at least one"),
    "literal 0": (
        "psdd 1\nL 0 0 0\n",
        ":2: literal 0: must be a variable or minus a variable",
    ),
    "fields missing": ("psdd 1\nL 0\n", ":2: 2 fields: must be 'L id [vtree] literal'"),
    "unknown node": ("psdd 1\nQ 0 0 1\n", ":2: unknown node type 'Q': must be L, T, F or D"),
    "node twice": (
        "psdd 2\nL 0 0 1\nL 0 0 -1\n",
        ":3: node 0 is already defined in line 2",
    ),
    "child unknown": (
        "psdd 2\nL 0 0 1\nD 1 0 1 0 7 0\n",
        ":3: node 7 is not defined above: children must come before parents",
    ),
    "its own child": (
        "psdd 1\nD 2 0 1 2 2 0\n",
        ":2: node 2 is not defined above: children must come before parents",
    ),
    "probability above 1": (
        "psdd 1\nT 0 0 1 0.5\n",
        ":2: log-probability 0.5: must not be above 0",
    ),
    "probability is NaN": (
        "psdd 1\nT 0 0 1 nan\n",
        ":2: nan: must be finite in float64",
    ),
    "decision cut short": (
        "psdd 3\nL 0 0 1\nL 1 0 -1\nD 2 0 2 0 1 -0.5\n",
        ":4: 7 fields: a decision with 2 elements must have 10",
    ),
    "cut before the root": (
        "psdd 5\nL 0 0 1\nL 1 1 2\nD 2 0 1 0 1 0\nD 3 0 1 0 1 0\n",
        ":4: decision 2 is used by no other: only the root, the last node, may be; is the file "
        "truncated?",
    ),
    "id beyond 63 bits": (
        "psdd 1\nL 99999999999999999999 0 1\n",
        ":2: 99999999999999999999 has more than 63 bits",
    ),
    "empty": ("", ": the file is empty: must start with 'psdd COUNT'"),
    "binary": (bytes(range(256)), ":3: not valid UTF-8: only comments may be in another encoding"),
}


@pytest.mark.parametrize("name", PSDD)
def test_psdd(tmp_path: Path, name: str) -> None:
    content, text = PSDD[name]
    assert refused_file(tmp_path, "x.psdd", content) == text


HOSTILE = {
    "psdd count is not a number": ("x.psdd", "psdd x\nL 0 0 1\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, name: str) -> None:
    file, content = HOSTILE[name]
    refused_file(tmp_path, file, content)

"""Names of tensors and indices."""

from __future__ import annotations

from itertools import islice

from gnarl.sw.workloads.einsum.pytorch.names import Names


def test_names_of_tensors_are_names_and_none_is_there_twice() -> None:
    names = Names(["k"])
    wanted = ["x.y", "0.weight", "", "exp", "exp", "x_y", "x y", "ß", "k"]
    claimed = ["x_y", "_0_weight", "_", "exp_0", "exp_0_", "x_y_", "x_y__", "__", "k"]
    assert [names.claim(each) for each in wanted] == claimed


def test_names_of_indices_are_those_of_nothing_else() -> None:
    names = Names(["k", "i1"])
    names.claim("j")
    letters = "ilmnopqrstuvwxyzabcdefgh"
    assert [*islice(names.indices(), 26)] == [*letters, "j1", "k1"]

"""Where patterns of masks become factors of what is only taken under them, and where they go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.workloads.einsum.pytorch.mask_sinking import with_masks_sunk
from gnarl.sw.workloads.einsum.text import parse_program, program_text


def sunk(text: str) -> str:
    """The statements, of which ``m``, ``n`` and ``p`` are patterns."""
    program = parse_program(text)
    statements = with_masks_sunk(program.statements, ("m", "n", "p"), program.results)
    found = program_text(replace(program, statements=tuple(statements)))
    return found.partition(" -")[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "t(i,j)=sum[k](a(i,k)*b(k,j)); r(i,j)=t(i,j)*m(i,j)",
            "t(i,j)=sum[k](a(i,k)*b(k,j)*m(i,j)); r(i,j)=t(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=m(i,j)*t(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=t(i,j)",
        ),
        (
            "t(i)=max[k](a(i,k)); r(i)=t(i)*p(i)",
            "t(i)=max[k](a(i,k))*p(i); r(i)=t(i)",
        ),
        (
            "t(i,j,k)=exp(a(i,j,k)); r(i,j)=sum[k](t(i,j,k))*m(i,j)",
            "t(i,j,k)=exp(a(i,j,k))*m(i,j); r(i,j)=sum[k](t(i,j,k))",
        ),
        (
            "t(i,j)=exp(a(i,j)); u(i,j)=relu(t(i,j)); r(i,j)=u(i,j)*m(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j); u(i,j)=relu(t(i,j)); r(i,j)=u(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=exp(t(i,j)+b(i,j))*m(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=exp(t(i,j)+b(i,j))*m(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=exp(t(i,j)*n(i,j))*m(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j)*n(i,j); r(i,j)=exp(t(i,j)*n(i,j))*m(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=b(i,j)*(t(i,j)*m(i,j))",
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=b(i,j)*t(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*m(j,i)*p(j)",
            "t(i,j)=exp(a(i,j))*m(j,i)*p(j); r(i,j)=t(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*n(i,j)*m(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j)*n(i,j); r(i,j)=t(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=t(i,j)*m(i,j)",
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=t(i,j)",
        ),
        (
            "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*m(i,j); s(i)=sum[j](t(i,j)*n(i,j)*m(i,j))",
            "t(i,j)=exp(a(i,j))*m(i,j); r(i,j)=t(i,j); s(i)=sum[j](t(i,j)*n(i,j))",
        ),
    ],
)
def test_patterns_go_to_operands(before: str, after: str) -> None:
    assert sunk(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*m(i,j); s(i,j)=t(i,j)*n(i,j)",
        "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*m(i,j); s(i)=sum[j](t(i,j))",
        "t(i,j)=exp(a(i,j)); s(i)=sum[j](t(i,j)); r(i,j)=t(i,j)*m(i,j)",
        "t(i,j)=exp(a(i,j)); s(k)=reshape[k:6](t(i,j)); r(i,j)=t(i,j)*m(i,j)",
        "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*m(i,j) -r=t,r",
        "t(i)=exp(a(i)); r(i,j)=t(i)*m(i,j)",
        "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)+m(i,j)",
        "t(i,j)=exp(a(i,j)); r(i,j)=t(i,j)*relu(m(i,j))",
        "r(i,j)=a(i,j)*(b(i,j)*c(i,j))",
        "r(i,j)=m(i,j)*n(i,j)",
        "t(i,k)=exp(a(i,k))*m(i,k); s(i)=sum[k](t(i,k)); r(i)=s(i)*p(i) -r=s,t,r",
    ],
)
def test_patterns_that_stay(text: str) -> None:
    """Something takes the whole tensor, is a result, or lacks an index of the pattern."""
    assert sunk(text) == text.partition(" -")[0]


@pytest.mark.parametrize(
    ("part", "is_within"),
    [
        ("t(i,j)", True),
        ("t(j,i)", False),
        ("b(i,j)*t(i,j)", True),
        ("t(i,j)/b(i,j)", True),
        ("b(i,j)/t(i,j)", False),
        ("t(i,j)/2.0", True),
        ("relu(t(i,j))", True),
        ("(-t(i,j))", True),
        ("exp(t(i,j))", False),
        ("(t(i,j)+u(i,j))", True),
        ("(t(i,j)+b(i,j))", False),
        ("(b(i,j)-t(i,j))", False),
        ("max(t(i,j),u(i,j))", True),
        ("max(t(i,j),0.5)", False),
        ("sum[k](t(i,j)*b(j,k))", True),
        ("max[k](t(i,j)*b(j,k))", False),
        ("sum[k](t(i,k)*b(k,j))", False),
    ],
)
def test_what_lies_within_a_pattern(part: str, is_within: bool) -> None:
    made = "t(i,j)=exp(a(i,j))*m(i,j); u(i,j)=t(i,j)*c(i,j)"
    results = " -r=t,u,r"
    found = sunk(f"{made}; r(i,j)={part}*m(i,j){results}").split("; ")[-1]
    wanted = parse_program(f"r(i,j)={part}{'' if is_within else '*m(i,j)'}")
    assert found == program_text(wanted).partition(" -")[0]


def test_sums_within_a_pattern() -> None:
    made = "t(i,j)=exp(a(i,j))*m(i,j)*p(i)"
    assert sunk(f"{made}; r(i)=sum[j](t(i,j)*b(i,j)*m(i,j))*p(i) -r=t,r") == (
        f"{made}; r(i)=sum[j](t(i,j)*b(i,j)*m(i,j))"
    )
    assert sunk(f"{made}; r(i)=sum[j](t(i,j)*b(i,j)*m(i,j)) -r=t,r") == (
        f"{made}; r(i)=sum[j](t(i,j)*b(i,j))"
    )
    assert sunk(f"{made}; s(i)=sum[j](t(i,j)); r(i)=s(i)*p(i) -r=t,s,r") == (
        f"{made}; s(i)=sum[j](t(i,j)); r(i)=s(i)"
    )


def test_patterns_are_made_first() -> None:
    text = "t(i,j)=exp(b(i,j)); w(i,j)=pattern[ne:0](a(i,j)); m(j,i)=reshape(w(i,j)); "
    assert sunk(f"{text}r(i,j)=t(i,j)*m(i,j)") == (
        "w(i,j)=pattern[ne:0](a(i,j)); m(j,i)=reshape(w(i,j)); t(i,j)=exp(b(i,j))*m(i,j); "
        "r(i,j)=t(i,j)"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "t(i,j)=exp(a(i,j)); c(j,i)=t(i,j); r(i,j)=c(i,j)+1.0",
            "t(i,j)=exp(a(i,j)); r(i,j)=t(j,i)+1.0",
        ),
        (
            "t(i,j,k)=exp(a(i,j,k)); c(k,i,j)=t(i,j,k); d(i,j,k)=c(i,j,k); r(i,j,k)=d(i,j,k)+1.0",
            "t(i,j,k)=exp(a(i,j,k)); r(i,j,k)=t(j,k,i)+1.0",
        ),
        (
            "t(i,j)=exp(a(i,j)); c(j,i)=t(i,j); r(i,j)=concat(c(k,j),c(l,j))",
            "t(i,j)=exp(a(i,j)); r(i,j)=concat(t(j,k),t(j,l))",
        ),
    ],
)
def test_copies_go(before: str, after: str) -> None:
    assert sunk(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "c(j,i)=a(i,j); r(i,j)=c(i,j)+1.0",
        "t(i,j)=exp(a(i,j)); c(j,i)=t(i,j); r(i,j)=c(i,j)+1.0 -r=c,r",
        "t(i)=exp(a(i)); c(i,j)=t(i); r(i,j)=c(i,j)+b(i,j) -n=c:3,4",
        "w(i)=reshape[i:6](a(j,k)); c(i)=w(i); r(i)=c(i)+1.0",
    ],
)
def test_copies_that_stay(text: str) -> None:
    """Of inputs and what is moved of them, of results, and what has other indices."""
    assert sunk(text) == text.partition(" -")[0]

"""Layers of statements, by what they compute and which children of a module they are of."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.einsum.pytorch.layers import with_layers
from gnarl.sw.workloads.einsum.text import parse_program

FIRST = "t(i,j)=sum[k](a(i,k)*b(k,j))"
LAST = "s(i,j)=sum[k](r(i,k)*b(k,j))"


def layers(text: str, children: dict[str, str]) -> str:
    statements = with_layers(parse_program(text).statements, children)
    return " ".join(f"{each.name}:{each.layer.removeprefix('layer') or '-'}" for each in statements)


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("relu(t(i,j))", "t:1 r:1 s:2"),
        ("exp(t(i,j))*2.0", "t:1 r:1 s:2"),
        ("max(t(i,j),a(i,j))", "t:1 r:1 s:2"),
        ("-t(i,j)*2.0/a(i,j)+b(i,j)-a(i,j)", "t:1 r:1 s:1"),
        ("t(i,j)", "t:1 r:1 s:1"),
        ("sum[k](t(i,j)*a(j,k))", "t:1 r:1 s:1"),
        ("sum[k](relu(t(i,j)*a(j,k)))", "t:1 r:1 s:2"),
        ("max[k](t(i,j)*a(j,k))", "t:1 r:1 s:2"),
    ],
)
def test_functions_end_layers(part: str, wanted: str) -> None:
    assert layers(f"{FIRST}; r(i,j)={part}; {LAST}", {}) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            f"{FIRST}; u(i,j)=exp(t(i,j)); r(i,j)=relu(u(i,j)); v(i)=sum[j](r(i,j)); {LAST}; "
            "w(i,j)=s(i,j)*v(i); x(i)=sum[j](w(i,j)*t(i,j))",
            "t:1 u:1 r:1 v:1 s:2 w:2 x:2",
        ),
        (
            f"{FIRST}; w(k,l)=reshape[k:9](t(i,j)); r(i,j)=w(i,j)+a(i,j); {LAST}",
            "t:1 w:1 r:1 s:1",
        ),
        (
            f"{FIRST}; u(i,j)=exp(t(i,j)); w(k,l)=reshape[k:9](u(i,j)); r(i,j)=w(i,j)+a(i,j); "
            f"{LAST}",
            "t:1 u:1 w:1 r:1 s:2",
        ),
        (
            f"{FIRST}; r(i,j)=relu(t(i,j)); {LAST}; u(i,j)=exp(s(i,j)); v(i,j)=u(i,j)+t(i,j); "
            "w(i)=sum[j](v(i,j)*a(i,j)); x(i)=sum[j](t(i,j)*a(i,j)); y(i)=sum[j](r(i,j)*a(i,j))",
            "t:1 r:1 s:2 u:2 v:2 w:3 x:1 y:2",
        ),
    ],
)
def test_layers_without_children(text: str, wanted: str) -> None:
    """A statement is of the last layer that it takes something of."""
    assert layers(text, {}) == wanted
    first = text.partition("(")[0]
    assert layers(text, {"r": "act", "nothing": first}) == wanted


@pytest.mark.parametrize(
    ("text", "children", "wanted"),
    [
        (
            "x(i,j)=sum[k](a(i,k)*b(k,j)); y(i,j)=sum[k](c(i,k)*x(k,j)); z(i,j)=relu(y(i,j)); "
            "w(i,j)=sum[k](z(i,k)*d(k,j)); o(i,j)=exp(w(i,j))",
            {"y": "one", "w": "two"},
            "x:one y:one z:one w:two o:two",
        ),
        (
            "y(i,j)=sum[k](c(i,k)*a(k,j)); p(i,j)=sum[k](y(i,k)*y(k,j)); q(i,j)=relu(p(i,j)); "
            "w(i,j)=sum[k](q(i,k)*d(k,j)); o(i,j)=sum[k](w(i,k)*a(k,j))",
            {"y": "one", "w": "two"},
            "y:one p:one q:one w:two o:two",
        ),
        (
            "y(i,j)=sum[k](c(i,k)*a(k,j)); p(i,j)=sum[k](y(i,k)*y(k,j)); q(i,j)=-p(i,j); "
            "w(i,j)=sum[k](q(i,k)*d(k,j)); o(i,j)=sum[k](w(i,k)*a(k,j))",
            {"y": "one", "w": "two"},
            "y:one p:two q:two w:two o:two",
        ),
        (
            "e(i,j)=exp(a(i,j)); g(i,j)=exp(c(i,j)); y(i,j)=sum[k](e(i,k)*a(k,j)); "
            "w(i,j)=sum[k](y(i,k)*g(k,j)); f(i,j)=exp(b(i,j))",
            {"y": "one", "w": "two"},
            "e:one g:two y:one w:two f:-",
        ),
        (
            "y(i,j)=sum[k](c(i,k)*a(k,j)); z(i,j)=relu(y(i,j)); w(i,j)=z(i,j)*2.0; "
            "v(i,j)=sum[k](z(i,k)*w(k,j)); q(i,j)=exp(v(i,j))",
            {"y": "one", "z": "act", "v": "one", "q": "last"},
            "y:one z:one w:one v:one q:one",
        ),
        (
            "y(i,j)=sum[k](c(i,k)*a(k,j)); v(i,j)=sum[k](y(i,k)*b(k,j)); q(i,j)=exp(v(i,j)); "
            "w(i,j)=exp(b(i,j))*v(i,j)",
            {"y": "one", "v": "two", "w": "one"},
            "y:one v:two q:two w:two",
        ),
    ],
)
def test_layers_of_children(text: str, children: dict[str, str], wanted: str) -> None:
    """None takes what a later one makes."""
    assert layers(text, children) == wanted

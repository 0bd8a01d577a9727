"""The equivalence rules of tensor dataflow graphs, for egglog. Source: Infinity Stream, appendix A.

Both sides have the same values in the same cells. As printed, some rules hold only under
conditions, which stand with them:

- What is moved out of the lattice is lost. So moves back and forth do not join, and a constant,
  which has no cells of its own, is not moved (4a).
- Computations of broadcast operands commute with the broadcast (4b) where all operands are copied
  from the same single cell of the dimension: else those that meet are others.
- Broadcasts of a part (8b): the operand has one cell in the dimension, and the part lies within
  the copies; the distance is from the operand's cell, not from the origin.
- Other order (3a) and common factors (3c) change the rounding of floating-point sums and products:
  they are facts about functions, and absent for float32 unless it may be reassociated. That float32
  sums and products commute (3b) holds to the bit, as does the order of minima and maxima.

Rule 5, that a part of an array is a shrunken array, is how graphs are written down (``encode``).
Shrinks cost nothing, so 7a to 9 go one way, outwards, where nothing keeps expressions apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

LANGUAGE = """
(datatype Bound (At String i64))
(datatype T
  (Tensor String) (Const String) (Leaf i64)
  (C1 String T) (C2 String T T) (C3 String T T T)
  (Mv T i64 Bound) (Bc T i64 Bound Bound) (Reduce String T i64) (S T i64 Bound Bound))
(datatype Output (Root i64 T))
(relation associates (String))
(relation commutes (String))
(relation distributes (String String))
(relation flat (T))
(relation boxed (T))
(ruleset exact)
(ruleset reorder)
(rule ((= x (Const c))) ((flat x)) :ruleset exact)
(rule ((= x (C1 f a)) (flat a)) ((flat x)) :ruleset exact)
(rule ((= x (C2 f a b)) (flat a) (flat b)) ((flat x)) :ruleset exact)
(rule ((= x (C3 f a b c)) (flat a) (flat b) (flat c)) ((flat x)) :ruleset exact)
(rule ((= x (Tensor t))) ((boxed x)) :ruleset exact)
(rule ((= x (Leaf t))) ((boxed x)) :ruleset exact)
(rule ((= x (Mv a i d))) ((boxed x)) :ruleset exact)
(rule ((= x (Bc a i d n))) ((boxed x)) :ruleset exact)
(rule ((= x (Reduce f a i))) ((boxed x)) :ruleset exact)
(rule ((= x (S a i p q))) ((boxed x)) :ruleset exact)
(rule ((= x (C1 f a)) (boxed a)) ((boxed x)) :ruleset exact)
(rule ((= x (C2 f a b)) (boxed a)) ((boxed x)) :ruleset exact)
(rule ((= x (C2 f a b)) (boxed b)) ((boxed x)) :ruleset exact)
(rule ((= x (C3 f a b c)) (boxed a)) ((boxed x)) :ruleset exact)
(rule ((= x (C3 f a b c)) (boxed b)) ((boxed x)) :ruleset exact)
(rule ((= x (C3 f a b c)) (boxed c)) ((boxed x)) :ruleset exact)
"""
"""Terms; ``Root`` marks nodes of a graph that are outputs. ``flat`` ones are constants, ``boxed``
ones have cells."""


@dataclass(frozen=True)
class Rule:
    """``left`` is ``right`` where ``when`` holds.

    equation
        its number in appendix A.
    both
        whether it is applied in both directions.
    ruleset
        ``exact``, or ``reorder`` for those that make very many terms.
    """

    equation: str
    left: str
    right: str
    when: str = ""
    both: bool = False
    ruleset: str = "exact"

    @property
    def text(self) -> str:
        """The rule as egglog reads it."""
        word = "birewrite" if self.both else "rewrite"
        when = f" :when ({self.when})" if self.when else ""
        return f"({word} {self.left} {self.right}{when} :ruleset {self.ruleset})"


def _computed(equation: str, wrapped: str, kept: str, when: str) -> list[Rule]:
    """``f(W(a), W(b), …)`` is ``W(f(a, b, …))``, where constants among the operands have no W.
    ``wrapped`` and ``kept``: W on the left and around the result, of ``{}``."""
    equations = []
    for count in (1, 2, 3):
        names = "abc"[:count]
        for is_flat in product((False, True), repeat=count):
            if all(is_flat):
                continue
            pairs = list(zip(names, is_flat, strict=True))
            arguments = " ".join(name if flat else wrapped.format(name) for name, flat in pairs)
            left = f"(C{count} f {arguments})"
            right = kept.format(f"(C{count} f {' '.join(names)})")
            conditions = [f"({'flat' if flat else 'boxed'} {name})" for name, flat in pairs]
            whole = " ".join([*conditions, when]).strip()
            equations.append(Rule(equation, left, right, whole, both=True))
    return equations


_ONE_CELL = "(S {} i (At e o) (At e (+ o 1)))"


def _shrunken() -> list[Rule]:
    """9, for each operand."""
    rules = []
    for count in (1, 2, 3):
        names = "abc"[:count]
        for name in names:
            given = " ".join(f"(S {each} i p q)" if each == name else each for each in names)
            right = f"(S (C{count} f {' '.join(names)}) i p q)"
            rules.append(Rule("9", f"(C{count} f {given})", right))
    return rules


RULES: tuple[Rule, ...] = (
    Rule("3a", "(C2 f (C2 f a b) c)", "(C2 f a (C2 f b c))", "(associates f)", True, "reorder"),
    Rule("3b", "(C2 f a b)", "(C2 f b a)", "(commutes f)", False, "reorder"),
    Rule(
        "3c",
        "(C2 f (C2 g a b) (C2 g a c))",
        "(C2 g a (C2 f b c))",
        "(distributes g f)",
        True,
        "reorder",
    ),
    *_computed("4a", "(Mv {} i d)", "(Mv {} i d)", ""),
    Rule("4b", "(C1 f (Bc a i d n))", "(Bc (C1 f a) i d n)", "(boxed a)", True),
    *(
        rule
        for rule in _computed("4b", f"(Bc {_ONE_CELL} i d n)", f"(Bc {_ONE_CELL} i d n)", "")
        if not rule.left.startswith("(C1")
    ),
    Rule("6a", "(S (S a i p q) j r s)", "(S (S a j r s) i p q)", "(!= i j)"),
    Rule(
        "6b",
        "(S (S a i (At b o) (At c e)) i (At b u) (At c v))",
        "(S a i (At b (max o u)) (At c (min e v)))",
    ),
    Rule("7a", "(Mv (S a i p q) j d)", "(S (Mv a j d) i p q)", "(!= i j)"),
    Rule(
        "7b",
        '(Mv (S a i (At b o) (At c e)) i (At "" d))',
        '(S (Mv a i (At "" d)) i (At b (+ o d)) (At c (+ e d)))',
    ),
    Rule("8a", "(Bc (S a i p q) j d n)", "(S (Bc a j d n) i p q)", "(!= i j)"),
    Rule(
        "8b",
        '(S (Bc (S a i (At "" o) (At "" e)) i (At "" d) (At "" n)) i (At "" p) (At "" q))',
        '(Bc (S a i (At "" o) (At "" e)) i (At "" (- p o)) (At "" (- q p)))',
        "(= e (+ o 1)) (>= p (+ o d)) (<= q (+ (+ o d) n)) (< p q)",
    ),
    *_shrunken(),
    Rule(
        "moves",
        '(Mv (Mv a i (At "" d)) i (At "" e))',
        '(Mv a i (At "" (+ d e)))',
        "(>= (* d e) 0)",
    ),
)

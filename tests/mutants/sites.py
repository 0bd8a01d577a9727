"""Places in a module that can be changed, and what they can become.

The usual operators, and some for Amaranth: conditions of ``m.If`` that are negated or never hold,
statements left out of ``m.d``, the other domain, either side of a ``Mux``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
DOMAINS = {"comb": "sync", "sync": "comb"}
TEXTS = ("Error", "Violation", "fail", "refuse", "warn", "__repr__", "__str__")
"""Ends of the names of functions that say something to people."""


Key = tuple[str, str, str, str, int]
"""What names a mutant as long as its function stays as it is: file, function, text before and
after, and which one it is of those that have all that in common, from 0."""


@dataclass(frozen=True)
class Mutant:
    """A change of a file: ``before``, at bytes ``start`` to ``end``, becomes ``after``.

    ``function``: the one around it, by its classes; of a module or class, the constant.
    """

    file: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    start: int
    end: int

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(file: str, source: bytes) -> list[Mutant]:
    """All that there are of a file, in the order of its text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for function, node, operator, after in _below(ast.parse(source), ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = source[start:end].decode()
        mutant = Mutant(file, function, node.lineno, operator, before, after, start, end)
        found[start, end, after] = mutant
    return [found[key] for key in sorted(found)]


def keyed(found: Iterable[Mutant]) -> dict[Key, Mutant]:
    """Mutants by key, from all those of their files."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    keys: dict[Key, Mutant] = {}
    for mutant in found:
        common = (mutant.file, mutant.function, mutant.before, mutant.after)
        keys[(*common, counts[common])] = mutant
        counts[common] += 1
    return keys


def _below(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, str, str]]:
    """Function, changed node, operator and new text of all changes below ``node``."""
    for child in ast.iter_child_nodes(node):
        if _is_kept(child, node):
            continue
        inside = function
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                inside = f"{function}.{name}".lstrip(".")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if isinstance(node, ast.Module | ast.ClassDef):
                    inside = f"{function}.{name}".lstrip(".")
        yield from ((inside, *change) for change in _changes(child))
        yield from _below(child, inside)


def _is_kept(node: ast.AST, parent: ast.AST) -> bool:
    """Whether it has no effect, or one on texts and types alone, or checks what always holds."""
    if node in (getattr(parent, "annotation", None), getattr(parent, "returns", None)):
        return True
    if node in getattr(parent, "decorator_list", ()):
        return True
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.keyword(arg="strict"):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.endswith(TEXTS)
        case ast.FunctionDef(name=name):
            return name.endswith(TEXTS)
    return False


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """Changed node, operator and new text, for what ``node`` itself is."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield node, "comparison", _text(ast.Compare(left, [COMPARISONS[type(op)]()], [right]))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            if not isinstance(left, ast.Constant | ast.JoinedStr | ast.List):
                other = ARITHMETIC[type(op)]()
                yield node, "operator", _text(ast.BinOp(left, other, right))
            if isinstance(op, ast.BitAnd | ast.BitOr):
                yield node, "operand", _text(left)
                yield node, "operand", _text(right)
        case ast.BoolOp(op=op, values=values):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, "operator", _text(ast.BoolOp(other_op, values))
            for left_out in values:
                rest = [value for value in values if value is not left_out]
                yield node, "operand", _text(ast.BoolOp(op, rest) if len(rest) > 1 else rest[0])
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield node, "negation", _text(operand)
        case ast.Constant(value=bool() as value):
            yield node, "constant", str(not value)
        case ast.Constant(value=int() as value):
            yield node, "constant", str(value + 1)
            if value > 0:
                yield node, "constant", str(value - 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, "condition", "True"
            yield test, "condition", "False"
        case ast.Continue():
            yield node, "statement", "break"
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.YieldFrom()):
            yield node, "statement", "pass"
        case ast.AugAssign(target=target, value=value):
            yield node, "statement", "pass"
            match target:
                case ast.Attribute(value=ast.Attribute(attr="d"), attr=domain) if domain in DOMAINS:
                    yield target, "domain", f"m.d.{DOMAINS[domain]}"
                    for part in value.elts if isinstance(value, ast.List) else ():
                        yield part, "statement", "*()"
        case ast.Call(func=ast.Attribute(attr="If" | "Elif"), args=[test]):
            yield test, "condition", f"{_text(test)} == 0"
            yield test, "condition", f"({_text(test)} == 0) & 0"
        case ast.Call(func=ast.Name(id="Mux"), args=[_, one, other]):
            yield node, "operand", _text(one)
            yield node, "operand", _text(other)


def _text(node: ast.expr) -> str:
    """Its source, which can be put anywhere in an expression."""
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Constant | ast.Attribute) else f"({text})"

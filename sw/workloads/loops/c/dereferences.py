"""``*p`` and ``*(p + i)`` as ``p[0]`` and ``p[i]``: ISO/IEC 9899:2018, section 6.5.2.1."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast


def as_elements(node: Any) -> Any:
    """A syntax tree, changed where it is."""
    for name in getattr(node, "__slots__", ()):
        part = getattr(node, name, None)
        if isinstance(part, c_ast.Node):
            setattr(node, name, as_elements(part))
        elif isinstance(part, list):
            setattr(node, name, [as_elements(each) for each in part])
    match node:
        case c_ast.UnaryOp(op="*", expr=c_ast.ID() as pointer):
            zero = c_ast.Constant("int", "0", node.coord)
            return c_ast.ArrayRef(pointer, zero, pointer.coord)
        case c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+", left=c_ast.ID() as pointer) as sum):
            return c_ast.ArrayRef(pointer, sum.right, pointer.coord)
    return node

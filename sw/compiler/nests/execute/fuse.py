"""Products that are added to something become one instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.sw.compiler.nests.execute.liveness import live_out
from gnarl.sw.compiler.nests.execute.machine import Block, Register, Step


def fuse_products(blocks: Sequence[Block]) -> None:
    """``FMUL`` and the ``FADD`` that alone needs its result become ``FMUL_ADD``, which rounds both;
    of vectors only: scalar sums would wait for products, too.

    In place. O(steps).
    """
    reads = Counter(each for block in blocks for step in block.steps for each in step.reads)
    for block, live in zip(blocks, live_out(blocks), strict=True):
        products: dict[Register, Step] = {}
        kept: list[Step] = []
        for step in block.steps:
            if step.opcode == Opcode.FADD:
                _fuse(step, products, reads)
            if step.dst is not None:
                _forget(step.dst, products)
                if step.opcode == Opcode.FMUL and step.dst not in live:
                    products[step.dst] = step
            kept.append(step)
        block.steps = [
            step
            for step in kept
            if not (step.opcode == Opcode.FMUL and step.dst is not None and reads[step.dst] == 0)
        ]


def _forget(register: Register, products: dict[Register, Step]) -> None:
    """A register is written: the product in it is lost, and those of it cannot be made later."""
    for made, step in list(products.items()):
        if made == register or register in step.reads:
            del products[made]


def _fuse(step: Step, products: dict[Register, Step], reads: Counter[Register]) -> None:
    if not step.vector:
        return
    for product, other in ((step.b, step.a), (step.a, step.b)):
        if not isinstance(product, Register) or product not in products or product == other:
            continue
        factors = products[product]
        numbers = [each for each in (factors.a, factors.b, other) if isinstance(each, int)]
        if reads[product] != 1 or factors.vector != step.vector or len(set(numbers) - {0}) > 1:
            continue
        reads[product] = 0
        step.opcode = Opcode.FMUL_ADD
        step.a, step.b, step.c = factors.a, factors.b, other
        return

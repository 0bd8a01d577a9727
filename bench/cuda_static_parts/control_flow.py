"""The control flow of a kernel: loops, and the shortest path to one of some instructions."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set

from bench.cuda_static_parts.sass import Instruction


class ControlFlow:
    """The control flow of a kernel, whose instructions are numbered in the order of their
    addresses. Called subroutines are not part of it."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.code = code
        of_label = {each.label: at for at, each in enumerate(code) if each.label}
        self._next: list[list[int]] = []
        for at, each in enumerate(code):
            follow = [at + 1] if each.goes_on and at + 1 < len(code) else []
            jumps = [of_label[label] for label in each.targets if label in of_label]
            self._next.append(follow + jumps)

    def shortest_path(self, wanted: Set[int], start: int = 0) -> list[int]:
        """Numbers from an instruction, the first, to the nearest of those that are wanted; empty
        where there is no way to one."""
        before = {start: start}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            if at in wanted:
                path = [at]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            for after in self._next[at]:
                if after not in before:
                    before[after] = at
                    queue.append(after)
        return []

    def loops(self) -> list[list[int]]:
        """For every loop the numbers of its instructions, ascending; loops inside of it included.

        Loops with the same beginning are one. O(instructions²) in words of bits.
        """
        return list(self.loops_by_head().values())

    def loops_by_head(self) -> dict[int, list[int]]:
        """``loops``, by the instruction that each begins with."""
        blocks, follow = self._blocks()
        dominators = _dominators(follow)
        before: list[list[int]] = [[] for _ in follow]
        for block, after in enumerate(follow):
            for each in after:
                before[each].append(block)
        bodies: dict[int, set[int]] = {}
        for block, after in enumerate(follow):
            for head in after:
                if dominators[block] >> head & 1:
                    body = bodies.setdefault(head, {head})
                    stack = [block]
                    while stack:
                        if (each := stack.pop()) not in body:
                            body.add(each)
                            stack += before[each]
        return {
            blocks[head].start: sorted(at for block in body for at in blocks[block])
            for head, body in bodies.items()
        }

    def _blocks(self) -> tuple[list[range], list[list[int]]]:
        """Basic blocks that can be reached, the first instruction's first, and which may follow."""
        entered = {0}
        for at, after in enumerate(self._next):
            if after != [at + 1]:
                entered |= {at + 1, *after}
        begins = sorted(at for at in entered if at < len(self.code))
        ends = dict(zip(begins, [*begins[1:], len(self.code)], strict=True))
        number = {0: 0}
        reached = [0]
        for begin in reached:  # grows on the way
            for entry in self._next[ends[begin] - 1]:
                if entry not in number:
                    number[entry] = len(reached)
                    reached.append(entry)
        blocks = [range(begin, ends[begin]) for begin in reached]
        return blocks, [[number[after] for after in self._next[block[-1]]] for block in blocks]


def _dominators(follow: Sequence[Sequence[int]]) -> list[int]:
    """For each block the set of those on every way to it, as bits; all where there is no way.

    Cooper, Harvey, Kennedy, *A Simple, Fast Dominance Algorithm*, with sets.
    """
    everything = (1 << len(follow)) - 1
    ways = [1] + [everything] * (len(follow) - 1)
    changed = True
    while changed:
        changed = False
        for block, after in enumerate(follow):
            for each in after:
                dominators = ways[each] & (ways[block] | 1 << each)
                if dominators != ways[each]:
                    ways[each] = dominators
                    changed = True
    return ways

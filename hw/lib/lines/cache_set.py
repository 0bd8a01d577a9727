"""A set of a cache: which lines its ways hold, and in which order they were used."""

from __future__ import annotations

from amaranth.hdl import Cat, Mux, Value, unsigned
from amaranth.lib import data


class CacheSet:
    """Layout of a set's state, and what is asked of it.

    ``order`` lists the ways, the one that was used last first; it starts with the highest way, so
    that ways are taken into use from way 0 on.

    Parameters: ``ways``, a power of two, at least 2; ``key_bits`` of a line's key, which is its
    address without the bits that select the set.
    """

    def __init__(self, ways: int, key_bits: int) -> None:
        self._ways = ways
        self.way_bits = (ways - 1).bit_length()
        self.layout = data.StructLayout(
            {
                "held": ways,
                "keys": data.ArrayLayout(unsigned(key_bits), ways),
                "order": data.ArrayLayout(unsigned(self.way_bits), ways),
            }
        )

    @property
    def empty(self) -> int:
        """A set that holds no lines, in bits."""
        order = list(reversed(range(self._ways)))
        return self.layout.const({"order": order}).as_value().value

    def holders(self, state: data.View, key: Value) -> Value:
        """A bit for each way: that which holds the line with this key, of which one at most is."""
        return Cat(state.held[way] & (state.keys[way] == key) for way in range(self._ways))

    def used(self, state: data.View, way: Value, key: Value) -> Value:
        """The state after ``way`` was used for the line with this key, in bits."""
        held = Cat(state.held[each] | (way == each) for each in range(self._ways))
        keys = [Mux(way == each, key, state.keys[each]) for each in range(self._ways)]
        order = [way]
        seen: Value = state.order[0] == way
        for place in range(1, self._ways):
            order.append(Mux(seen, state.order[place], state.order[place - 1]))
            seen = seen | (state.order[place] == way)
        return Cat(held, *keys, *order)

"""Steps of blocks that repeat, hold, drop, deal out and collect tokens."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.jit import inner_integers
from gnarl.sw.runtime.sam.simulator.joins import READY, WAITS, WRONG
from gnarl.sw.runtime.sam.simulator.layout import (
    DONE,
    EMPTY,
    FIXED,
    FORMAT,
    HAS,
    HAS_NEXT,
    IN,
    INPUTS,
    LEVELS,
    NEXT,
    NEXT_TOKEN,
    OUTPUTS,
    PARAMETER,
    SECOND,
    STATE,
    STOP,
    TAKES,
    TOKEN,
    WIDTH,
)
from gnarl.sw.runtime.sam.simulator.steps import (
    agree,
    give,
    is_closed_by,
    is_data,
    is_stop,
    payload_or_zero,
    raised,
)
from gnarl.sw.runtime.sam.simulator.value_blocks import is_zero_value


@inner_integers
def root(s: np.ndarray, b: int) -> int:
    """``gnarl.hw.sam.blocks.lookups.root``. State: the tokens given."""
    given = s[b + STATE]
    if given == 2:
        return WAITS
    give(s, b, 0, DONE if given else 0)
    s[b + NEXT] = given + 1
    return READY


@inner_integers
def relay(s: np.ndarray, b: int) -> int:
    """Passes tokens on."""
    give(s, b, 0, s[s[b + IN] + TOKEN])
    s[b + TAKES] = 1
    return READY


@inner_integers
def repeat_signals(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.repeat_signal_generator``."""
    crd = s[s[b + IN] + TOKEN]
    give(s, b, 0, 0 if is_data(crd) else crd)
    s[b + TAKES] = 1
    return READY


@inner_integers
def repeat(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.repeat``. States: whether a fiber has ended without
    what follows its reference, and the level of its stop."""
    q, signals = s[b + IN], s[b + IN + 1]
    if not s[q + HAS]:
        return WAITS
    ref = s[q + TOKEN]
    s[b + NEXT] = 0
    if s[b + STATE]:
        if (raised(ref) & LEVELS if is_stop(ref) else 0) != s[b + STATE + 1]:
            return WRONG
        if is_stop(ref):
            s[b + TAKES] = 0b01
            return READY
    if not s[signals + HAS]:
        return WAITS
    signal = s[signals + TOKEN]
    s[b + NEXT + 1] = signal & LEVELS
    s[b + TAKES] = 0b11
    if is_data(ref) and is_data(signal):
        give(s, b, 0, ref)
        s[b + TAKES] = 0b10
    elif is_data(ref) and is_stop(signal):
        give(s, b, 0, signal)
        if s[q + HAS_NEXT] and is_closed_by(s[q + NEXT_TOKEN], signal):
            s[b + TAKES] |= 1 << SECOND
        else:
            s[b + NEXT] = 1
    elif is_closed_by(ref, signal) or (ref == DONE and signal == DONE):
        give(s, b, 0, signal)
    else:
        return WRONG
    return READY


@inner_integers
def _closing(s: np.ndarray, q: int, inner: int) -> int:
    """What an outer stream takes along with an inner token that isn't data: bits of its first two
    tokens, or whether it waits or is wrong."""
    outer = s[q + TOKEN]
    if is_data(outer):
        if is_stop(inner) and inner & LEVELS:
            if not s[q + HAS_NEXT]:
                return WAITS
            return 1 | 1 << SECOND if is_closed_by(s[q + NEXT_TOKEN], inner) else WRONG
        return 1 if is_stop(inner) else WRONG
    return 1 if is_closed_by(outer, inner) or (outer == DONE and inner == DONE) else WRONG


@inner_integers
def drop(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.crd_drop``. State: whether the coordinate at hand has
    gone out."""
    q = s[b + IN]
    outer, inner = s[q + TOKEN], s[s[b + IN + 1] + TOKEN]
    s[b + NEXT] = is_data(inner)
    if is_data(inner):
        if not is_data(outer):
            return WRONG
        if not s[b + STATE]:
            give(s, b, 0, outer)
        s[b + TAKES] = 0b10
    else:
        closing = _closing(s, q, inner)
        if closing <= 0:
            return closing
        if closing >> SECOND:
            give(s, b, 0, s[q + NEXT_TOKEN])
        elif not is_data(outer):
            give(s, b, 0, outer)
        s[b + TAKES] = 0b10 | closing
    give(s, b, 1, inner)
    return READY


@inner_integers
def hold(s: np.ndarray, b: int, gives_stops: bool) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.crd_hold``, or of ``crd_to_point`` without stops."""
    q = s[b + IN]
    outer, inner = s[q + TOKEN], s[s[b + IN + 1] + TOKEN]
    s[b + TAKES] = 0b10
    if is_data(inner):
        if not is_data(outer):
            return WRONG
        give(s, b, 0, outer)
        give(s, b, 1, inner)
        return READY
    closing = _closing(s, q, inner)
    if closing <= 0:
        return closing
    s[b + TAKES] |= closing
    if gives_stops or not is_stop(inner):
        give(s, b, 0, inner)
        give(s, b, 1, inner)
    return READY


@inner_integers
def drop_values(s: np.ndarray, m: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.val_drop``."""
    crd, val = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN]
    if not agree(crd, val):
        return WRONG
    magnitude = (1 << s[WIDTH] - (s[FORMAT] != FIXED)) - 1
    if not is_data(val) or not is_zero_value(s, m, b, payload_or_zero(val), magnitude):
        give(s, b, 0, crd)
        give(s, b, 1, val)
    s[b + TAKES] = 0b11
    return READY


@inner_integers
def from_points(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.point_to_crd``. States: whether a fiber is open, its
    coordinate, and whether all are closed."""
    outer, inner = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN]
    s[b + NEXT], s[b + NEXT + 1], s[b + NEXT + 2] = 1, outer, outer == DONE
    if is_data(outer) and is_data(inner):
        if s[b + STATE] and outer != s[b + STATE + 1]:
            s[b + NEXT] = 0
            give(s, b, 1, STOP)
            return READY
        if not s[b + STATE]:
            give(s, b, 0, outer)
        give(s, b, 1, inner)
        s[b + TAKES] = 0b11
        return READY
    if outer != DONE or inner != DONE:
        return WRONG
    if s[b + STATE + 2]:
        give(s, b, 0, DONE)
        give(s, b, 1, DONE)
        s[b + TAKES] = 0b11
    else:
        give(s, b, 0, STOP)
        give(s, b, 1, STOP + 1)
    return READY


@inner_integers
def _turn(s: np.ndarray, b: int, token: int) -> int:
    """The lane of a token, as ``gnarl.hw.sam.blocks.streams.turns`` has it. States: the lane of the
    next unit and of the last, and whether the last is open; they stay."""
    for state in range(3):
        s[b + NEXT + state] = s[b + STATE + state]
    is_behind = s[b + STATE + 2] and not is_data(token)
    return s[b + STATE + 1] if is_behind else s[b + STATE]


@inner_integers
def _advance(s: np.ndarray, b: int, token: int, lane: int, lanes: int) -> None:
    """The states of ``_turn`` once the token is taken."""
    s[b + NEXT], s[b + NEXT + 1], s[b + NEXT + 2] = (lane + 1) % lanes, lane, is_data(token)


@inner_integers
def deal(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.parallelizer``. States: those of ``_turn``, and the
    lanes whose last unit is open."""
    token, lanes = s[s[b + IN] + TOKEN], s[b + OUTPUTS]
    is_open, open_lanes = s[b + STATE + 2], s[b + STATE + 3]
    lane = _turn(s, b, token)
    is_ambiguous = is_stop(token) and not is_open and (open_lanes >> lane) & 1 != 0
    for place in range(lanes):
        if place == lane or token == DONE:
            give(s, b, place, EMPTY if is_ambiguous else token)
    s[b + NEXT + 3] = open_lanes & ~(1 << lane)
    if not is_ambiguous:
        s[b + TAKES] = 1
        s[b + NEXT + 3] |= is_data(token) << lane
        _advance(s, b, token, lane, lanes)
    return READY


@inner_integers
def deal_by_crd(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.crd_parallelizer``."""
    token, crd, lanes = s[s[b + IN] + TOKEN], s[s[b + IN + 1] + TOKEN], s[b + OUTPUTS]
    if not agree(crd, token):
        return WRONG
    for place in range(lanes):
        if not is_data(crd) or place == crd >> s[b + PARAMETER] & lanes - 1:
            give(s, b, place, token)
    s[b + TAKES] = 0b11
    return READY


@inner_integers
def collect(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.serializer``. State: the lane whose turn it is."""
    lanes, lane = s[b + INPUTS], s[b + STATE]
    q = s[b + IN + lane]
    if not s[q + HAS]:
        return WAITS
    token = s[q + TOKEN]
    s[b + NEXT] = (lane + 1) % lanes if is_stop(token) else lane
    s[b + TAKES] = 1 << lane
    if token == DONE:
        for place in range(lanes):
            other = s[b + IN + place]
            if not s[other + HAS]:
                s[b + TAKES] = 0
            elif s[other + TOKEN] != DONE:
                return WRONG
        if not s[b + TAKES]:
            return WAITS
        s[b + TAKES] = (1 << lanes) - 1
    give(s, b, 0, token)
    return READY


@inner_integers
def collect_values(s: np.ndarray, b: int) -> int:
    """A step of ``gnarl.hw.sam.blocks.streams.val_serializer``. States: those of ``_turn``."""
    crd, lanes = s[b + IN], s[b + INPUTS] - 1
    if not s[crd + HAS]:
        return WAITS
    guide = s[crd + TOKEN]
    lane = _turn(s, b, guide)
    if guide == DONE:
        ready = True
        for place in range(lanes):
            other = s[b + IN + 1 + place]
            if not s[other + HAS]:
                ready = False
            elif s[other + TOKEN] != DONE:
                return WRONG
        if not ready:
            return WAITS
        s[b + TAKES] = (2 << lanes) - 1
        give(s, b, 0, DONE)
        return READY
    data = is_data(guide)
    if not s[s[b + IN + 1 + lane] + HAS]:
        return WAITS
    token = s[s[b + IN + 1 + lane] + TOKEN]
    if is_data(token) if data else token == guide:
        s[b + TAKES] = 1 | 2 << lane
        _advance(s, b, guide, lane, lanes)
        give(s, b, 0, token)
        return READY
    if not data and not s[b + STATE + 2] and is_data(token):
        s[b + TAKES] = 2 << lane
        return READY
    return WRONG

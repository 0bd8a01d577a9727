"""Where a simulated machine has what in its one array of int64: records and their fields.

Records lie one behind the other and name each other by the place of their first field. A token is
an integer as in ``gnarl.hw.sam.token``. The array begins with what there is once.
"""

from __future__ import annotations

from gnarl.hw.sam.block_types import MAX_LANES
from gnarl.hw.sam.token import DONE as _DONE
from gnarl.hw.sam.token import EMPTY as _EMPTY
from gnarl.hw.sam.token import LEVEL_BITS, PAYLOAD_BITS
from gnarl.hw.sam.token import stop as _stop

# Plain numbers: compiled code knows no enumerations of Amaranth.
STOP, EMPTY, DONE = int(_stop(0)), int(_EMPTY), int(_DONE)
KIND_SHIFT = PAYLOAD_BITS
PAYLOAD = (1 << PAYLOAD_BITS) - 1
LEVELS = (1 << LEVEL_BITS) - 1
IS_DATA, IS_STOP, IS_EMPTY, IS_DONE = range(4)
"""Kinds of tokens."""


class _Fields:
    """Hands out places of fields."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, count: int = 1) -> int:
        place = self.size
        self.size += count
        return place


_once = _Fields()
CYCLE = _once.take()
STATUS = _once.take()
CYCLES = _once.take()
"""Cycles of the run, once all writers are done."""
WRITING = _once.take()
"""Writers that are not done."""
LAST_MOVE = _once.take()
PATIENCE = _once.take()
"""The cycle in which a token or a request moved last; cycles without one that are a deadlock."""
AT_FAULT = _once.take()
FULL = _once.take()
"""Some writer's words are to be collected."""
BLOCKS, FIRST_BLOCK = _once.take(), _once.take()
"""How many blocks, and where the list of them begins, those that read before those that feed
them."""
EARLY, FIRST_EARLY = _once.take(), _once.take()
"""Likewise, of blocks that say at the begin of a cycle what they want of memories, or hint."""
PORTS, FIRST_PORT = _once.take(), _once.take()
"""Likewise, of the ports of a shared memory, in the order of their turns."""
BANKS, FIRST_BANK = _once.take(), _once.take()
"""Banks of a shared memory, 0 if each array has its own; three fields each."""
CHANNELS, FIRST_CHANNEL = _once.take(), _once.take()
"""Channels of a memory of lines, 0 if there is none; beside each other. They count as a bank, too:
ports are granted what they want."""
LINE_LATENCY, LINE_CYCLES, IN_FLIGHT, AHEAD = (_once.take() for _ in range(4))
"""Of a memory of lines: cycles to an answer, cycles of a line, lines under way in a channel, and
lines that ports ask for ahead."""
FORMAT, EXPONENT, FRACTION, WIDTH = (_once.take() for _ in range(4))
"""Of values: one of the kinds below; bits."""
INDEX_MASK = _once.take()
STAGES = _once.take()
RECORDS = _once.take()
"""Numbers in the array."""
FIRST_PLACE, PLACE_WORDS, PLACES = (_once.take() for _ in range(3))
"""The pool of places for blocks of values in memory."""
MARKS, NEXT_PLACE = _once.take(), _once.take()
"""Where it is said which places are not free, and the next one to look at."""
ONCE = _once.size

RUNNING, ENDED, DEADLOCK, FAULT = range(4)
"""Values of ``STATUS``."""

FLOAT32, FLOAT, FIXED = range(3)
"""Values of ``FORMAT``."""

_queue = _Fields()
DEPTH, COUNT = _queue.take(), _queue.take()
RING, LAST, HEAD, TAIL = (_queue.take() for _ in range(4))
"""How many tokens it holds at most, and now; the first and last place of its ring, and those of the
oldest token and of the next one."""
POPPED = _queue.take()
"""The cycle in which a token was taken out last: its room is free from the next one on."""
READER, WRITER = _queue.take(), _queue.take()
LOOKS, HELD, ITEM = (_queue.take() for _ in range(3))
"""Whether its reader sees two tokens; whether it has the first of them already, and this."""
HAS, TOKEN, HAS_NEXT, NEXT_TOKEN = (_queue.take() for _ in range(4))
"""What the reader sees in this cycle."""
QUEUE = _queue.size

_output = _Fields()
READERS, FIRST_READER = _output.take(), _output.take()
GIVEN = _output.take()
"""A bit for each reader that has the token at hand already."""
OFFER, TOKENS = _output.take(), _output.take()
"""The token at hand; tokens given."""
OUTPUT = _output.size

_port = _Fields()
CAPACITY, REQUESTS, FIRST_REQUEST = (_port.take() for _ in range(3))
"""Reads that may be under way; those that are, in a ring of rows and cycles of their answers."""
PORT_HEAD, FRONT = _port.take(), _port.take()
"""The oldest of them; with two cycles of latency, those that are in the second register."""
LATENCY = _port.take()
ARRAY, ROW_WORDS, LOADED = (_port.take() for _ in range(3))
"""Where its rows lie in memory, how many words each has, and how many rows there are."""
BASE = _port.take()
"""Its row 0 in a shared memory."""
WANTS, ROW, GRANTED = (_port.take() for _ in range(3))
"""A request of this cycle, its row, and the last cycle in which one was granted."""
READS = _port.take()
"""Rows that were asked for in all."""
SENT = _port.take()
"""The step at hand has made its request."""
WORDS, BUFFER, BUFFER_WORDS = (_port.take() for _ in range(3))
"""Words written in all; those that are not collected, and how many there may be."""
OWNER = _port.take()
"""The block that it is a port of, in a memory of lines, and what else it has there:"""
LINE_SHIFT, LINE_END, LINES = (_port.take() for _ in range(3))
"""Bits of a row's number within its line; the line behind its last; lines that it has moved."""
SLOTS, FIRST_SLOT, NEXT_SLOT = (_port.take() for _ in range(3))
"""Lines that it keeps, and the slot that is given next."""
LAST_LINE, NEXT_LINE, LINES_LEFT = (_port.take() for _ in range(3))
"""The line that was read last, -1 for none; the next one to ask for ahead, and how many."""
FETCHES, FETCH, FETCHED = _port.take(), _port.take(4), _port.take()
"""Lines that wait for their channels, with their slots, the oldest first; the cycle in which one
left last, or a line that is written."""
COME = _port.take()
"""The cycle in which a line came last."""
WAITING, MOST_WAITING, WAITING_HEAD, FIRST_WAITING = (_port.take() for _ in range(4))
"""Rows that wait for their lines, how many there may be, and the oldest in their ring; the one that
is answered is the only one that is under way."""
SHOWN = _port.take()
"""A row was answered, and is under way unless it has been taken."""
PORT = _port.size

SLOT_LINE, SLOT_HERE, SLOT_DUE = range(3)
"""The line of a slot, -1 for none; the cycle from which it is here; rows that wait for it."""
SLOT = 3

USED, KEPT, OLDEST, LEAVES, LEAVING = NEXT_SLOT, FETCH, LAST_LINE, FETCHES, NEXT_LINE
"""Of a port that is written: a bit for each of two lines that it keeps; these; the one that came
first; whether one is on its way to its channel, and this."""
FREE = LINES_LEFT
"""The next one to keep."""

_channel = _Fields()
CHANNEL_FREE = _channel.take()
"""The cycle from which it has nothing to move."""
UNDER_WAY, CHANNEL_HEAD, FIRST_UNDER_WAY, ANSWERED = (_channel.take() for _ in range(4))
"""Lines that are read: how many, the oldest, and where their ring of times, ports and slots is; the
cycle in which one was taken last."""
TURN = _channel.take()
"""The port that had the last turn."""
QUEUED, QUEUE_OF_TWO, UNQUEUED = _channel.take(), _channel.take(4), _channel.take()
"""Requests that wait, their ports and slots, -1 for what is written; when one left last."""
TURN_FIRST, TURN_LATER = _channel.take(), _channel.take()
"""In a cycle: the first, and the first later port that want something."""
CHANNEL_LINES = _channel.take()
"""Lines that were moved."""
CHANNEL = _channel.size

BANK_LAST, BANK_FIRST, BANK_LATER = range(3)
"""The port granted last; the first and the first later port that want something."""
BANK = 3

_block = _Fields()
KIND = _block.take()
AWAKE = _block.take()
"""The last cycle in which it may have something to do."""
BEGUN = _block.take()
WITH_ALL_ELSE = 1 << 62
"""The last cycle that it has begun, of those that say early what they want: one that wakes later in
a cycle waits for the next; of the others this."""
STALLED, SEEN, STALLS = (_block.take() for _ in range(3))
"""Whether it offered a token that was not taken when it was looked at last, and in which cycle; in
how many cycles it did."""
OPERATIONS = _block.take()
"""Values that it has computed, or added to others."""
INPUTS, OUTPUTS = _block.take(), _block.take()
NEEDS_ALL = _block.take()
"""It does nothing unless each input has a token."""
GIVES, TAKES = _block.take(), _block.take()
"""A bit for each output and input of the step at hand, and further up for second tokens."""
STATES, STATE, NEXT = _block.take(), _block.take(4), _block.take(4)
"""How many words of state it has, these, and what the step makes of them."""
VALUE_WORDS, ONE_WORD_INPUTS, PLACES_OF = _block.take(), _block.take(), _block.take(2)
"""Words of the values that it computes, or that are given to it; a bit for each input of one word,
and, for those of more, where in the array it is said which word of theirs each word of a result is
made of; 0: the same."""
PARAMETER = _block.take(6)
PORT_OF = _block.take(2)
_MAX_INPUTS = MAX_LANES + 1
IN, OUT = _block.take(_MAX_INPUTS), _block.take(MAX_LANES)
OWN = _block.size

SECOND = _MAX_INPUTS
"""Bits in ``TAKES`` from those of inputs to those of their second tokens."""

"""Frames as documentation has them: the order of their fields and bytes, and their check."""

from __future__ import annotations

import pytest

from gnarl.hw.fpga.frame import REQUEST, RESPONSE, crc16, pause, with_check
from tests.support.machines.fake_board import check


def test_the_check_value_of_the_catalogue() -> None:
    """CRC-16/MCRF4XX, https://reveng.sourceforge.io/crc-catalogue/16.htm."""
    assert crc16(b"123456789") == 0x6F91
    assert crc16(b"") == 0xFFFF


@pytest.mark.parametrize("size", [0, 1, 2, 31, 1028])
def test_the_check_of_a_frame_with_its_check_is_0(size: int) -> None:
    message = bytes(at * 37 & 0xFF for at in range(size))
    assert with_check(message) == message + check(message)
    assert crc16(with_check(message)) == 0


def test_every_change_of_up_to_three_bits_is_found() -> None:
    """Here of a short frame; the polynomial finds them in frames of any length."""
    frame = int.from_bytes(with_check(b"\x05\x01\x00\x00"), "little")
    bits = range(48)
    for first in bits:
        for second in range(first, 48):
            for third in range(second, 48):
                damage = 1 << first ^ 1 << second ^ 1 << third
                if damage:
                    assert crc16((frame ^ damage).to_bytes(6, "little"))


def test_fields_lie_in_the_order_of_the_documentation() -> None:
    request = REQUEST.const({"tag": 1, "count": 2, "address": 0x05040302, "write": 1})
    assert request.as_value().value.to_bytes(6, "little") == b"\x01\x02\x02\x03\x04\x85"
    response = RESPONSE.const({"tag": 1, "count": 2, "last": 3})
    assert response.as_value().value.to_bytes(3, "little") == b"\x01\x02\x03"


def test_a_pause_is_longer_than_any_byte() -> None:
    assert pause(3_000_000) == pause(115_200) == 0.01
    assert pause(300) == 16 / 300

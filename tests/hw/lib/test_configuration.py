"""Fields of configurations: what is refused, how they are read, and what the digest names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import pytest

from gnarl.hw.lib.configuration import (
    TargetConfig,
    choice_violations,
    flag_violations,
    format_violations,
    number_violations,
)
from gnarl.hw.lib.errors import ConfigError, Violation
from gnarl.hw.lib.formats import FORMAT_NAMES


@dataclass(frozen=True)
class Lamp(TargetConfig):
    watts: int = 40
    dimmed: bool = False
    colour: str = "white"
    format: str = "float32"

    target = "lamp"

    def violations(self) -> list[Violation]:
        return [
            *number_violations(self, [("watts", 5, 60)]),
            *flag_violations(self, ["dimmed"]),
            *choice_violations(self, "colour", ("white", "red")),
            *format_violations(self, "format"),
        ]


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        *(("watts", value, "a whole number from 5 to 60") for value in (4, 61, 5.0, True, "5", [])),
        *(("dimmed", value, "true or false") for value in (0, 1, "true", None)),
        *(("colour", value, "one of white, red") for value in ("blue", "", 1, ["white"])),
        *(("format", value, f"one of {FORMAT_NAMES}") for value in ("float33", 32, None)),
    ],
)
def test_a_bad_field_is_named_with_what_is_allowed(field, value, allowed):
    with pytest.raises(ConfigError) as caught:
        Lamp(**{field: value})
    assert caught.value.violations == (f"{field} = {value!r}: must be {allowed}",)


def test_every_bad_field_is_named():
    with pytest.raises(ConfigError) as caught:
        Lamp(watts=0, dimmed=0, colour="", format="")
    assert [text.partition(" ")[0] for text in caught.value.violations] == [
        "watts",
        "dimmed",
        "colour",
        "format",
    ]


def test_limits_are_allowed():
    assert [Lamp(watts=watts).watts for watts in (5, 60)] == [5, 60]


def test_fields_come_back_from_a_dictionary():
    lamp = Lamp(watts=25, colour="red")
    fields = {"watts": 25, "dimmed": False, "colour": "red", "format": "float32"}
    assert lamp.to_dict() == fields
    assert Lamp.from_dict(fields) == lamp
    assert Lamp.from_dict({}) == Lamp()


@pytest.mark.parametrize("name", ["volts", "target"])
def test_unknown_fields_are_refused(name):
    with pytest.raises(ConfigError) as caught:
        Lamp.from_dict({"watts": 5, name: 230})
    known = "watts, dimmed, colour, format"
    assert str(caught.value) == f"{name} = 230: no such field; there are {known}"


def test_the_digest_is_that_of_target_and_fields_in_alphabetical_order():
    text = (
        '{"colour": "white", "dimmed": false, "format": "float32", "target": "lamp", "watts": 40}'
    )
    assert Lamp().digest == hashlib.sha256(text.encode()).hexdigest()
    assert replace(Lamp(), watts=41).digest != Lamp().digest

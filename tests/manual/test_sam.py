"""The reference of blocks: up to date, complete, and its examples are what the blocks do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.sam.block_types import BLOCK_TYPES, VAL
from gnarl.hw.sam.components import component
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, own_shape
from gnarl.hw.sam.memory_map import ErrorCause
from gnarl.hw.sam.token import Kind
from gnarl.sw.golden.words import from_words, to_words
from manual.sam import (
    ARRAY_TEXTS,
    CAUSE_TEXTS,
    COUNT_TEXTS,
    KIND_TEXTS,
    PARAMETER_TEXTS,
    PATH,
    SETTING_TEXTS,
    TOKEN_TEXTS,
    manual,
    rule,
)
from manual.sam_block_examples import ENTRIES
from tests.support.sam.reference import block_of
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream
from tests.support.sam.writers import run_writer

CONFIG = SamConfig(array_words=64, accumulator_words=32)
EXAMPLES = [
    pytest.param(name, entry, id=f"{name}-{'-'.join(map(str, entry.parameters.values()))}")
    for name, entries in ENTRIES.items()
    for entry in entries
]


def test_the_reference_in_docs_is_up_to_date():
    assert PATH.read_text(encoding="utf-8") == manual(SamConfig()), "run `python -m manual.sam`"


def test_every_type_of_block_is_there_in_all_its_formats_and_orders():
    assert list(ENTRIES) == list(BLOCK_TYPES)
    for name, kind in BLOCK_TYPES.items():
        varied = {
            (parameter.name, value)
            for parameter in kind.parameters
            if parameter.name in ("format", "order")
            for value in parameter.allowed
        }
        shown = {item for entry in ENTRIES[name] for item in entry.parameters.items()}
        assert varied <= shown


def test_every_name_is_explained():
    assert list(TOKEN_TEXTS) == list(Kind)
    assert list(CAUSE_TEXTS) == list(ErrorCause)
    kinds, parameters = set(), set()
    arrays, settings, counts = set(), set(), set()
    for name, kind in BLOCK_TYPES.items():
        parameters |= {parameter.name for parameter in kind.parameters}
        for entry in ENTRIES[name]:
            block = Block("block", name, entry.parameters)
            for port in (*block.inputs.values(), *block.outputs.values()):
                kinds |= set(port.kinds)
            arrays |= {array.name for array in block.arrays}
            settings |= set(block.settings)
            counts |= set(block.counts)
    assert set(KIND_TEXTS) == kinds
    assert set(PARAMETER_TEXTS) == parameters
    assert set(ARRAY_TEXTS) == arrays
    assert (set(SETTING_TEXTS), set(COUNT_TEXTS)) == (settings, counts)


def test_rules_are_the_docstrings_without_parameters_and_members():
    for entries in ENTRIES.values():
        for entry in entries:
            text = rule(entry.component)
            assert text and "Members" not in text and "``" not in text


@pytest.mark.parametrize("name, entry", EXAMPLES)
def test_example(name, entry):
    block = Block("block", name, entry.parameters)
    example = entry.example
    assert set(example.settings) == set(block.settings)
    config = _config(example)
    fed = {
        name: config.stream_width(block.inputs[name].kinds[0])
        * (own_shape(block).words if "|" in text else 1)
        for name, text in example.inputs.items()
    }
    made = component(block, fed, config)
    assert type(made) is entry.component
    inputs = {
        port: _tokens(text, block.inputs[port].kinds == (VAL,), config.format)
        for port, text in example.inputs.items()
    }
    if not block.outputs:
        (tokens,) = inputs.values()
        got = run_writer(
            made, tokens, list(example.written), list(example.counts), settings=example.settings
        )
        values = {array.name: array.of_values for array in block.arrays}
        for array, text in example.written.items():
            assert got[array] == _rows(text, values[array], config.format)
        assert {count: got[count] for count in block.counts} == example.counts
        return
    memories = {
        f"mem_{array.name}": _rows(example.arrays[array.name], array.of_values, config.format)
        for array in block.arrays
    }
    got = run_block(
        made,
        inputs,
        list(block.outputs),
        settings=example.settings,
        memories=memories,
    )
    found = {
        port: _text(got[port], block.outputs[port].kinds == (VAL,), config.format)
        for port in block.outputs
    }
    assert found == example.outputs


def _config(example):
    """Tokens have 32 bits in tests, so blocks of values must have words of few."""
    has_blocks = any("|" in text for text in example.inputs.values())
    return replace(CONFIG, format="float8_e4m3") if has_blocks else CONFIG


def _word(text, format):
    parts = to_words(np.array([float(part) for part in text.split("|")]), format)
    return block_of(parts.tolist(), format)


def _tokens(text, of_values, format):
    """Tokens; data of value streams are numbers."""
    if not of_values:
        return parse_stream(text)
    return [
        _word(one, format) if one[0] not in "SND" else parse_stream(one)[0] for one in text.split()
    ]


def _rows(text, of_values, format):
    return [
        [_word(word, format) if of_values else int(word) for word in row.split(":")]
        for row in text.split()
    ]


def _text(tokens, of_values, format):
    """Inverse of ``_tokens``."""
    return " ".join(
        f"{from_words(np.array([token], np.uint32), format)[0]:g}"
        if of_values and kind_of(token) == Kind.DATA
        else format_stream([token])
        for token in tokens
    )

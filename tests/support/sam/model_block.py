"""Runs one block of SAM in the model; its streams and values as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnarl.hw.sam.graph import Block
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.runtime.sam.model.streams import BLOCKS
from gnarl.sw.runtime.sam.model.tokens import Done, Limits, Site, Stream
from tests.support.sam.tokens import format_stream, parse_stream


def run(
    kind: str,
    inputs: dict[str, Any],
    parameters: dict[str, Any] | None = None,
    arrays: dict[str, Any] | None = None,
    settings: dict[str, int] | None = None,
    format: str = "float32",
    **limits: int,
) -> Done:
    """One block; streams are text or lists of tokens."""
    block = Block("b", kind, parameters or {})
    streams = {
        name: Stream(np.array(parse_stream(one) if isinstance(one, str) else one, np.int64))
        for name, one in inputs.items()
    }
    site = Site(
        block,
        format,
        {
            f"b_{name}": np.array(rows, np.uint32).reshape(
                -1, next(array.words for array in block.arrays if array.name == name)
            )
            for name, rows in (arrays or {}).items()
        },
        {("b", name): value for name, value in (settings or {}).items()},
        Limits(**limits),
    )
    assert set(streams) <= set(block.inputs)
    done = BLOCKS[kind](site, streams)
    assert set(done.outputs) == set(block.outputs)
    assert set(done.counts) == set(block.counts)
    assert set(done.written) == {array.name for array in block.arrays if array.writes}
    return done


def texts(done: Done) -> dict[str, str]:
    return {name: format_stream(tokens) for name, tokens in done.outputs.items()}


def numbers(done: Done, output: str = "out_val", format: str = "float32") -> str:
    """A stream of values as people write them."""
    shown = []
    for token in done.outputs[output].tolist():
        word = np.array(token & 0xFFFFFFFF, np.uint32)
        shown.append(f"{from_words(word, format):g}" if token < 1 << 32 else format_stream([token]))
    return " ".join(shown)


def values(text: str, format: str = "float32") -> list[int]:
    """Tokens of values from text such as ``1.5 S0 N D``."""
    return [
        int(to_words(np.array(float(word)), format))
        if word[0] not in "SND"
        else parse_stream(word)[0]
        for word in text.split()
    ]

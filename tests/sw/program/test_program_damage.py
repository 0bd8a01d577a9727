"""Program files that are cut, changed or no program files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.runtime.run.programs import load_program
from tests.support.dpu.example_program import equal, program, refuses


def test_a_truncated_file_is_refused(file: Path):
    file.write_bytes(file.read_bytes()[:-100])
    refuses(file, "not a program file, or damaged: File is not a zip file")


def test_an_empty_file_is_refused(file: Path):
    file.write_bytes(b"")
    refuses(file, "not a program file, or damaged: File is not a zip file")


def test_a_changed_byte_is_noticed(file: Path):
    content = bytearray(file.read_bytes())
    content[content.index(b"tree_left.npy") + 13 + 128] ^= 1
    file.write_bytes(content)
    refuses(file, "'tree_left.npy' is damaged: Bad CRC-32 for file 'tree_left.npy'")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_any_damage_is_a_program_error_or_harmless(file: Path, data: st.DataObject):
    program().save(file)
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1), "place")
    content[place] ^= 1 << data.draw(st.integers(0, 7), "bit")
    damaged = file.with_name("damaged.npz")
    damaged.write_bytes(content)
    try:
        loaded = load_program(damaged)
    except ProgramError:
        return
    assert equal(loaded, program())


def test_another_archive_is_refused(tmp_path: Path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    refuses(path, "manifest.json is missing: not a program file")

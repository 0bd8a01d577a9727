"""How the emulation builds kernels: headers, macros, sources that do not compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, EmulationError
from tests.support.cuda.emulated_launch import run


def test_headers_and_macros_are_part_of_the_build(tmp_path: Path) -> None:
    header = tmp_path / "value.h"
    source = '#include "value.h"\nextern "C" __global__ void k(int* out) { *out = VALUE + EXTRA; }'
    out = np.zeros(1, np.int32)
    for value, extra in ((1, 10), (2, 10), (2, 20)):
        header.write_text(f"#define VALUE {value}\n")
        kernels = EmulatedKernels(source, [tmp_path], {"EXTRA": str(extra)})
        run(kernels, "k", 1, 1, out)
        assert out[0] == value + extra


def test_sources_that_do_not_compile_are_refused() -> None:
    with pytest.raises(EmulationError) as raised:
        EmulatedKernels('extern "C" __global__ void k() {\n  nonsense();\n}', name="my model")
    assert str(raised.value) == (
        "my model: c++ failed: my_model.cu:2:3: error: ‘nonsense’ was not declared in this scope"
    )
    # It would be every thread's own.
    static = 'extern "C" __global__ void k() { __shared__ int own[2]; own[0] = 1; }'
    with pytest.raises(EmulationError, match=r"^my model: c\+\+ failed: .*‘own’ must be public$"):
        EmulatedKernels(static, name="my model")
    with pytest.raises(EmulationError, match=r"^my model: c\+\+ failed: .*undefined.*nowhere"):
        EmulatedKernels(
            'void nowhere(); extern "C" __global__ void k() { nowhere(); }', name="my model"
        )


def test_a_missing_compiler_is_named() -> None:
    script = (
        "from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels; EmulatedKernels('')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PATH": ""}, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == (
        "gnarl.sw.runtime.cuda.emulation.kernels.EmulationError: "
        "c++ is not installed: the emulation of CUDA kernels needs it"
    )

"""A block of a decoder with the sparse attention of BigBird, as a program of Einsums.

Source: Zaheer et al., "Big Bird: Transformers for Longer Sequences", NeurIPS 2020.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.operands import Operand
from gnarl.sw.workloads.tensor.tensor import Tensor

LENGTH, BLOCK, WIDTH, HIDDEN = 64, 8, 16, 64

TEXT = """
query(i,k)=sum[m](x(i,m)*Wq(m,k));
key(j,k)=sum[m](x(j,m)*Wk(m,k));
value(j,k)=sum[m](x(j,m)*Wv(m,k));
scores(i,j)=sum[k](mask(i,j)*query(i,k)*key(j,k));
scaled(i,j)=scores(i,j)*0.25;
largest(i)=max[j](scaled(i,j));
shifted(i,j)=mask(i,j)*(scaled(i,j)-largest(i));
power(i,j)=mask(i,j)*exp(shifted(i,j));
total(i)=sum[j](power(i,j));
weights(i,j)=power(i,j)/total(i);
context(i,k)=sum[j](weights(i,j)*value(j,k));
projected(i,m)=sum[k](context(i,k)*Wo(k,m))+bo(m);
attended(i,m)=x(i,m)+projected(i,m);
wide(i,n)=sum[m](attended(i,m)*W1(m,n))+b1(n);
active(i,n)=gelu(wide(i,n));
narrow(i,m)=sum[n](active(i,n)*W2(n,m))+b2(m);
y(i,m)=attended(i,m)+narrow(i,m)
""".replace("\n", " ")
"""A softmax of what the mask keeps; the maximum is over 0, too, which shifts it as well."""

SHAPES = {
    "x": (LENGTH, WIDTH),
    "mask": (LENGTH, LENGTH),
    "Wq": (WIDTH, WIDTH),
    "Wk": (WIDTH, WIDTH),
    "Wv": (WIDTH, WIDTH),
    "Wo": (WIDTH, WIDTH),
    "bo": (WIDTH,),
    "W1": (WIDTH, HIDDEN),
    "b1": (HIDDEN,),
    "W2": (HIDDEN, WIDTH),
    "b2": (WIDTH,),
}
_SPARSE = ("mask", "scores", "scaled", "shifted", "power", "weights")
_VECTORS = ("largest", "total", "bo", "b1", "b2")


def attention(seed: int = 0) -> tuple[SamModel, dict[str, Tensor]]:
    """The block, and its inputs: random weights and activations, and the mask."""
    rng = np.random.default_rng(seed)
    inputs = {
        name: Tensor.from_any((0.3 * rng.standard_normal(shape)).astype(np.float32))
        for name, shape in SHAPES.items()
        if name != "mask"
    }
    inputs["mask"] = Tensor.from_any(bigbird(rng))
    program = parse_program(f"{TEXT} {_formats()}", "attention")
    shapes = program_shapes(program, SHAPES).tensors
    operands = {name: Operand(tensor) for name, tensor in inputs.items()}
    return SamModel("attention", program, shapes, {}, operands, {}), inputs


def bigbird(rng: np.random.Generator) -> np.ndarray:
    """A mask of blocks: three on the diagonal, the first row and column, and a random one a row."""
    blocks = LENGTH // BLOCK
    near = np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks))) <= 1
    near[0] = near[:, 0] = True
    near[np.arange(blocks), rng.integers(0, blocks, blocks)] = True
    return np.kron(near, np.ones((BLOCK, BLOCK))).astype(np.float32)


def _formats() -> str:
    results = [statement.split("(")[0].strip() for statement in TEXT.split(";")]
    formats = dict.fromkeys((*SHAPES, *results), "dd")
    formats |= dict.fromkeys(_SPARSE, "ds") | dict.fromkeys(_VECTORS, "d")
    return " ".join(f"-f={name}:{levels}" for name, levels in formats.items())

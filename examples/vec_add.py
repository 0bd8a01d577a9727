"""The sum of two vectors."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

(n,) = sizes("n")


@nest
def vec_add(a: float32[n], b: float32[n], c: float32[n]):
    for i in range(n):
        c[i] = a[i] + b[i]

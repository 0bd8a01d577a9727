"""The sum of a vector."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

(n,) = sizes("n")


@nest
def array_sum(a: float32[n], total: float32[1]):
    for i in range(n):
        total[0] += a[i]

"""Gaussian elimination without pivoting: the upper triangle of a, and b to match."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

(n,) = sizes("n")


@nest
def gauss_elim(a: float32[n, n], b: float32[n, 1], m: float32[n, 1]):
    for k in range(n - 1):
        for i in range(k + 1, n):
            m[i, 0] = a[i, k] / a[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] -= m[i, 0] * a[k, j]
        for i in range(k + 1, n):
            b[i, 0] -= m[i, 0] * b[k, 0]

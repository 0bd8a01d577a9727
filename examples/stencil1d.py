"""A stencil of three points on a vector, there and back in each step."""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

(n,) = sizes("n")

C0 = 0.25
C1 = 0.5


@nest
def stencil1d(a: float32[n], b: float32[n], steps: int32):
    for _step in range(steps):
        for i in range(1, n - 1):
            b[i] = C0 * a[i - 1] + C1 * a[i] + C0 * a[i + 1]
        for i in range(1, n - 1):
            a[i] = C0 * b[i - 1] + C1 * b[i] + C0 * b[i + 1]

"""A stencil of five points on a matrix, there and back in each step."""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

rows, columns = sizes("rows", "columns")

C0 = 0.125
C1 = 0.5


@nest
def stencil2d(a: float32[rows, columns], b: float32[rows, columns], steps: int32):
    for _step in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = a[i - 1, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j]
                b[i, j] = C1 * a[i, j] + C0 * around
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = b[i - 1, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j]
                a[i, j] = C1 * b[i, j] + C0 * around

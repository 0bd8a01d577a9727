"""A convolution of a matrix with a kernel of 3 x 3 that is the same on both sides."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

rows, columns = sizes("rows", "columns")


@nest
def conv2d(
    a: float32[rows, columns],
    b: float32[rows, columns],
    corner: float32,
    edge: float32,
    middle: float32,
):
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            b[i, j] = (
                corner * a[i - 1, j - 1]
                + edge * a[i - 1, j]
                + corner * a[i - 1, j + 1]
                + edge * a[i, j - 1]
                + middle * a[i, j]
                + edge * a[i, j + 1]
                + corner * a[i + 1, j - 1]
                + edge * a[i + 1, j]
                + corner * a[i + 1, j + 1]
            )

"""A convolution of several channels with kernels of 3 x 3, one tap after the other."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

outputs, inputs, rows, columns = sizes("outputs", "inputs", "rows", "columns")


@nest
def conv3d(
    a: float32[inputs, rows, columns],
    w: float32[outputs, inputs, 9],
    b: float32[outputs, rows, columns],
):
    for k in range(inputs):
        for y in range(3):
            for x in range(3):
                for o in range(outputs):
                    for i in range(1, rows - 1):
                        for j in range(1, columns - 1):
                            b[o, i, j] += w[o, k, 3 * y + x] * a[k, i + y - 1, j + x - 1]

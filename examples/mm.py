"""The product of two matrices as a sum of outer products."""

from gnarl.sw.workloads.loops.notation import float32, nest, sizes

rows, inner, columns = sizes("rows", "inner", "columns")


@nest
def mm(a: float32[rows, inner], b: float32[inner, columns], c: float32[rows, columns]):
    for k in range(inner):
        for i in range(rows):
            for j in range(columns):
                c[i, j] += a[i, k] * b[k, j]

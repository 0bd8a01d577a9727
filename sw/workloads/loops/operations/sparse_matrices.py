"""Products and sums of two sparse matrices by merging their fibers; results dense or compressed.

Dense results begin as zeros. Compressed ones have rows as their operands: row i has the entries
``offsets[i]`` to ``offsets[i + 1]``; what lies behind the last stays as it was.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, intersect, nest, sizes, union

rows, columns, right_rows, lefts, rights = sizes("rows", "columns", "right_rows", "lefts", "rights")


@nest
def matrix_elementwise_product(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    out: float32[rows, columns],
):
    """A product of compressed rows. The number of columns is the result's, or is given."""
    for i in range(rows):
        for j, (p, q) in intersect(
            left[left_offsets[i] : left_offsets[i + 1]],
            right[right_offsets[i] : right_offsets[i + 1]],
        ):
            out[i, j] = left_values[p] * right_values[q]


@nest
def matrix_sum(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    out: float32[rows, columns],
):
    """A sum of compressed rows. The number of columns is the result's, or is given."""
    for i in range(rows):
        for j, (p, q), (in_left, in_right) in union(
            left[left_offsets[i] : left_offsets[i + 1]],
            right[right_offsets[i] : right_offsets[i + 1]],
        ):
            if in_left and in_right:
                out[i, j] = left_values[p] + right_values[q]
            else:
                out[i, j] = left_values[p] if in_left else right_values[q]


@nest
def matrix_product(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[right_rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    out: float32[rows, right_rows],
):
    """A product of a matrix in compressed rows and the transpose of another one."""
    for i in range(rows):
        for j in range(right_rows):
            total = 0.0
            for _k, (p, q) in intersect(
                left[left_offsets[i] : left_offsets[i + 1]],
                right[right_offsets[j] : right_offsets[j + 1]],
            ):
                total += left_values[p] * right_values[q]
            out[i, j] = total


@nest
def compressed_matrix_elementwise_product(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    offsets: int32[rows + 1],
    out: int32[lefts],
    out_values: float32[lefts],
):
    """An elementwise product of compressed rows."""
    n = 0
    offsets[0] = n
    for i in range(rows):
        for j, (p, q) in intersect(
            left[left_offsets[i] : left_offsets[i + 1]],
            right[right_offsets[i] : right_offsets[i + 1]],
        ):
            out[n] = j
            out_values[n] = left_values[p] * right_values[q]
            n += 1
        offsets[i + 1] = n


@nest
def compressed_matrix_sum(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    offsets: int32[rows + 1],
    out: int32[lefts + rights],
    out_values: float32[lefts + rights],
):
    """A sum of compressed rows."""
    n = 0
    offsets[0] = n
    for i in range(rows):
        for j, (p, q), (in_left, in_right) in union(
            left[left_offsets[i] : left_offsets[i + 1]],
            right[right_offsets[i] : right_offsets[i + 1]],
        ):
            out[n] = j
            if in_left and in_right:
                out_values[n] = left_values[p] + right_values[q]
            else:
                out_values[n] = left_values[p] if in_left else right_values[q]
            n += 1
        offsets[i + 1] = n


@nest
def compressed_matrix_product(
    left_offsets: int32[rows + 1],
    left: int32[lefts],
    left_values: float32[lefts],
    right_offsets: int32[right_rows + 1],
    right: int32[rights],
    right_values: float32[rights],
    offsets: int32[rows + 1],
    out: int32[rows * right_rows],
    out_values: float32[rows * right_rows],
):
    """A product of a matrix in compressed rows and the transpose of another. Rows without a common
    column have no entry."""
    n = 0
    offsets[0] = n
    for i in range(rows):
        for j in range(right_rows):
            total = 0.0
            found = 0
            for _k, (p, q) in intersect(
                left[left_offsets[i] : left_offsets[i + 1]],
                right[right_offsets[j] : right_offsets[j + 1]],
            ):
                total += left_values[p] * right_values[q]
                found = 1
            if found > 0:
                out[n] = j
                out_values[n] = total
                n += 1
        offsets[i + 1] = n

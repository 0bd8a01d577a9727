"""Products and sums of two sparse vectors, whose coordinates merge; results dense or compressed.

Dense results begin as zeros and have a size that must be given, or an array. Compressed ones have
``count[0]`` entries, ascending; what lies behind them stays as it was.
"""

from gnarl.sw.workloads.loops.notation import float32, int32, intersect, nest, sizes, union

lefts, rights, length = sizes("lefts", "rights", "length")


@nest
def vector_product(
    left: int32[lefts],
    left_values: float32[lefts],
    right: int32[rights],
    right_values: float32[rights],
    out: float32[length],
):
    for k, (p, q) in intersect(left, right):
        out[k] = left_values[p] * right_values[q]


@nest
def vector_sum(
    left: int32[lefts],
    left_values: float32[lefts],
    right: int32[rights],
    right_values: float32[rights],
    out: float32[length],
):
    for k, (p, q), (in_left, in_right) in union(left, right):
        if in_left and in_right:
            out[k] = left_values[p] + right_values[q]
        else:
            out[k] = left_values[p] if in_left else right_values[q]


@nest
def compressed_vector_product(
    left: int32[lefts],
    left_values: float32[lefts],
    right: int32[rights],
    right_values: float32[rights],
    count: int32[1],
    out: int32[lefts],
    out_values: float32[lefts],
):
    n = 0
    for k, (p, q) in intersect(left, right):
        out[n] = k
        out_values[n] = left_values[p] * right_values[q]
        n += 1
    count[0] = n


@nest
def compressed_vector_sum(
    left: int32[lefts],
    left_values: float32[lefts],
    right: int32[rights],
    right_values: float32[rights],
    count: int32[1],
    out: int32[lefts + rights],
    out_values: float32[lefts + rights],
):
    n = 0
    for k, (p, q), (in_left, in_right) in union(left, right):
        out[n] = k
        if in_left and in_right:
            out_values[n] = left_values[p] + right_values[q]
        else:
            out_values[n] = left_values[p] if in_left else right_values[q]
        n += 1
    count[0] = n

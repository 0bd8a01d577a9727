"""Loop nests of ``workloads.c`` that are written in Python, too."""

from gnarl.sw.workloads.loops.notation import float32, int8, int32, nest, sizes

planes, rows, columns, inner = sizes("planes", "rows", "columns", "inner")
dimensions, centres, points = sizes("dimensions", "centres", "points")
queries, table, inputs, outputs = sizes("queries", "table", "inputs", "outputs")


@nest
def stencil3d(a: float32[planes, rows, columns], b: float32[planes, rows, columns], steps: int32):
    for _step in range(steps):
        for h in range(1, planes - 1):
            for i in range(1, rows - 1):
                for j in range(1, columns - 1):
                    around = (
                        a[h - 1, i, j]
                        + a[h + 1, i, j]
                        + a[h, i - 1, j]
                        + a[h, i + 1, j]
                        + a[h, i, j - 1]
                        + a[h, i, j + 1]
                    )
                    b[h, i, j] = 0.5 * a[h, i, j] + 0.0625 * around
        for h in range(1, planes - 1):
            for i in range(1, rows - 1):
                for j in range(1, columns - 1):
                    around = (
                        b[h - 1, i, j]
                        + b[h + 1, i, j]
                        + b[h, i - 1, j]
                        + b[h, i + 1, j]
                        + b[h, i, j - 1]
                        + b[h, i, j + 1]
                    )
                    a[h, i, j] = 0.5 * b[h, i, j] + 0.0625 * around


@nest
def mm_inner(a: float32[rows, inner], b: float32[inner, columns], c: float32[rows, columns]):
    for i in range(rows):
        for j in range(columns):
            for k in range(inner):
                c[i, j] += a[i, k] * b[k, j]


@nest
def mm_int8(a: int8[rows, inner], b: int8[inner, columns], c: int32[rows, columns]):
    for k in range(inner):
        for i in range(rows):
            for j in range(columns):
                c[i, j] += int32(a[i, k]) * int32(b[k, j])


@nest
def conv2d_int8(a: int8[rows, columns], w: int8[3, 3], b: int32[rows, columns]):
    for y in range(3):
        for x in range(3):
            for i in range(1, rows - 1):
                for j in range(1, columns - 1):
                    b[i, j] += int32(w[y, x]) * int32(a[i + y - 1, j + x - 1])


@nest
def dwt2d(
    a: float32[2 * rows, 2 * columns],
    ll: float32[rows, columns],
    lh: float32[rows, columns],
    hl: float32[rows, columns],
    hh: float32[rows, columns],
):
    for i in range(rows):
        for j in range(columns):
            ll[i, j] = a[2 * i, 2 * j]
            lh[i, j] = a[2 * i, 2 * j + 1]
            hl[i, j] = a[2 * i + 1, 2 * j]
            hh[i, j] = a[2 * i + 1, 2 * j + 1]
    for i in range(rows):
        for j in range(columns - 1):
            lh[i, j] -= 0.5 * (ll[i, j] + ll[i, j + 1])
            hh[i, j] -= 0.5 * (hl[i, j] + hl[i, j + 1])
    for i in range(rows):
        lh[i, columns - 1] -= ll[i, columns - 1]
        hh[i, columns - 1] -= hl[i, columns - 1]
    for i in range(rows):
        for j in range(1, columns):
            ll[i, j] += 0.25 * (lh[i, j - 1] + lh[i, j])
            hl[i, j] += 0.25 * (hh[i, j - 1] + hh[i, j])
    for i in range(rows):
        ll[i, 0] += 0.5 * lh[i, 0]
        hl[i, 0] += 0.5 * hh[i, 0]
    for i in range(rows - 1):
        for j in range(columns):
            hl[i, j] -= 0.5 * (ll[i, j] + ll[i + 1, j])
            hh[i, j] -= 0.5 * (lh[i, j] + lh[i + 1, j])
    for j in range(columns):
        hl[rows - 1, j] -= ll[rows - 1, j]
        hh[rows - 1, j] -= lh[rows - 1, j]
    for i in range(1, rows):
        for j in range(columns):
            ll[i, j] += 0.25 * (hl[i - 1, j] + hl[i, j])
            lh[i, j] += 0.25 * (hh[i - 1, j] + hh[i, j])
    for j in range(columns):
        ll[0, j] += 0.5 * hl[0, j]
        lh[0, j] += 0.5 * hh[0, j]


@nest
def kmeans(
    a: float32[dimensions, points],
    centre: float32[dimensions, centres],
    distance: float32[centres, points],
    nearest: int32[points],
    sum: float32[dimensions, centres],
    count: int32[1, centres],
):
    for d in range(dimensions):
        for c in range(centres):
            for p in range(points):
                distance[c, p] += (a[d, p] - centre[d, c]) * (a[d, p] - centre[d, c])
    for p in range(points):
        least = distance[0, p]
        which = 0
        for c in range(1, centres):
            if distance[c, p] < least:
                least = distance[c, p]
                which = c
        nearest[p] = which
    for p in range(points):
        count[0, nearest[p]] += 1
    for d in range(dimensions):
        for p in range(points):
            sum[d, nearest[p]] += a[d, p]
    for d in range(dimensions):
        for c in range(centres):
            if count[0, c] > 0:
                centre[d, c] = sum[d, c] / float32(count[0, c])


@nest
def kmeans_inner(
    a: float32[points, dimensions],
    centre: float32[centres, dimensions],
    sum: float32[centres, dimensions],
    nearest: int32[points],
    count: int32[centres],
):
    for p in range(points):
        least = 0.0
        which = 0
        for c in range(centres):
            distance = 0.0
            for d in range(dimensions):
                distance += (a[p, d] - centre[c, d]) * (a[p, d] - centre[c, d])
            if c == 0 or distance < least:
                least = distance
                which = c
        nearest[p] = which
        count[which] += 1
        for d in range(dimensions):
            sum[which, d] += a[p, d]
    for c in range(centres):
        if count[c] > 0:
            for d in range(dimensions):
                centre[c, d] = sum[c, d] / float32(count[c])


@nest
def gather_mlp(
    index: int32[queries],
    features: float32[table, inputs],
    w: float32[inputs, outputs],
    bias: float32[1, outputs],
    x: float32[queries, inputs],
    b: float32[queries, outputs],
):
    for q in range(queries):
        for i in range(inputs):
            x[q, i] = features[index[q], i]
    for q in range(queries):
        for o in range(outputs):
            b[q, o] = bias[0, o]
    for i in range(inputs):
        for q in range(queries):
            for o in range(outputs):
                b[q, o] += x[q, i] * w[i, o]
    for q in range(queries):
        for o in range(outputs):
            b[q, o] = b[q, o] if b[q, o] > 0.0 else 0.0


@nest
def gather_mlp_inner(
    index: int32[queries],
    features: float32[table, inputs],
    w: float32[inputs, outputs],
    bias: float32[outputs],
    b: float32[queries, outputs],
):
    for q in range(queries):
        for o in range(outputs):
            total = bias[o]
            for i in range(inputs):
                total += features[index[q], i] * w[i, o]
            b[q, o] = total if total > 0.0 else 0.0

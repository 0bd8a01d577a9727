"""``pointnet.c`` in Python; see there for the algorithm and the names."""

from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

CENTROIDS_1 = 512
CENTROIDS_2 = 128
NEIGHBOURS_1 = 32
NEIGHBOURS_2 = 64
NEIGHBOURS_4 = 16
NEIGHBOURS_5 = 32
NEIGHBOURS_6 = 128
NEIGHBOURS_7 = 16
NEIGHBOURS_8 = 32
NEIGHBOURS_9 = 128

CENTROIDS = 8
NEIGHBOURS = 4
CHANNELS = 5

points, centroids, slots, channels, columns = sizes(
    "points", "centroids", "slots", "channels", "columns"
)
rows, inputs, outputs, d1, d2, d3, width = sizes(
    "rows", "inputs", "outputs", "d1", "d2", "d3", "width"
)


@nest
def sample(
    at: float32[3, points],
    distance: float32[points],
    chosen: int32[centroids],
    centre: float32[3, centroids],
):
    for p in range(points):
        distance[p] = 1e30
    for c in range(centroids):
        farthest = 0.0
        which = 0
        for p in range(points):
            if c > 0 and distance[p] > farthest:
                farthest = distance[p]
                which = p
        chosen[c] = which
        for axis in range(3):
            centre[axis, c] = at[axis, which]
        for p in range(points):
            x = at[0, p] - centre[0, c]
            y = at[1, p] - centre[1, c]
            z = at[2, p] - centre[2, c]
            distance[p] = min(distance[p], x * x + y * y + z * z)


@nest
def turn(centre: float32[3, centroids], middle: float32[centroids, 3]):
    for c in range(centroids):
        for axis in range(3):
            middle[c, axis] = centre[axis, c]


@nest
def distances(
    at: float32[3, points], middle: float32[centroids, 3], apart: float32[centroids, points]
):
    for c in range(centroids):
        for p in range(points):
            x = at[0, p] - middle[c, 0]
            y = at[1, p] - middle[c, 1]
            z = at[2, p] - middle[c, 2]
            apart[c, p] = x * x + y * y + z * z


@nest
def measure(
    at: float32[3, points],
    centre: float32[3, centroids],
    middle: float32[centroids, 3],
    apart: float32[centroids, points],
):
    turn(centre, middle)
    distances(at, middle, apart)


@nest
def query(
    neighbours: int32,
    squared_radius: float32,
    apart: float32[centroids, points],
    neighbour: int32[slots],
    owner: int32[slots],
):
    for c in range(centroids):
        count = 0
        for p in range(points):
            if apart[c, p] < squared_radius and count < neighbours:
                neighbour[c * neighbours + count] = p
                count += 1
        for n in range(neighbours):
            owner[c * neighbours + n] = c
            if n >= count:
                neighbour[c * neighbours + n] = neighbour[c * neighbours]


@nest
def gather_places(
    at: float32[3, points],
    middle: float32[centroids, 3],
    neighbour: int32[slots],
    owner: int32[slots],
    x: float32[slots, columns],
):
    for s in range(slots):
        for axis in range(3):
            x[s, axis] = at[axis, neighbour[s]] - middle[owner[s], axis]


@nest
def gather_features(
    feature: float32[points, channels],
    neighbour: int32[slots],
    x: float32[slots, 3 + channels],
):
    for s in range(slots):
        for i in range(channels):
            x[s, 3 + i] = feature[neighbour[s], i]


@nest
def accumulate(x: float32[rows, inputs], w: float32[inputs, outputs], y: float32[rows, outputs]):
    for i in range(inputs):
        for r in range(rows):
            for o in range(outputs):
                y[r, o] += x[r, i] * w[i, o]


@nest
def rectify(y: float32[rows, outputs]):
    for r in range(rows):
        for o in range(outputs):
            y[r, o] = y[r, o] if y[r, o] > 0.0 else 0.0


@nest
def connect(
    x: float32[rows, inputs],
    w: float32[inputs, outputs],
    bias: float32[1, outputs],
    y: float32[rows, outputs],
):
    for r in range(rows):
        for o in range(outputs):
            y[r, o] = bias[0, o]
    accumulate(x, w, y)


@nest
def connect_relu(
    x: float32[rows, inputs],
    w: float32[inputs, outputs],
    bias: float32[1, outputs],
    y: float32[rows, outputs],
):
    connect(x, w, bias, y)
    rectify(y)


@nest
def aggregate(
    neighbours: int32,
    first: int32,
    y: float32[slots, outputs],
    pooled: float32[centroids, width],
):
    for c in range(centroids):
        for o in range(outputs):
            pooled[c, first + o] = 0.0
    for n in range(neighbours):
        for c in range(centroids):
            for o in range(outputs):
                pooled[c, first + o] = max(pooled[c, first + o], y[c * neighbours + n, o])


@nest
def perceive(
    neighbours: int32,
    first: int32,
    x: float32[slots, inputs],
    w1: float32[inputs, d1],
    b1: float32[1, d1],
    w2: float32[d1, d2],
    b2: float32[1, d2],
    w3: float32[d2, d3],
    b3: float32[1, d3],
    y1: float32[slots, d1],
    y2: float32[slots, d2],
    y3: float32[slots, d3],
    pooled: float32[centroids, width],
):
    connect_relu(x, w1, b1, y1)
    connect_relu(y1, w2, b2, y2)
    connect_relu(y2, w3, b3, y3)
    aggregate(neighbours, first, y3, pooled)


@nest
def abstract(
    neighbours: int32,
    first: int32,
    squared_radius: float32,
    at: float32[3, points],
    feature: float32[points, channels],
    middle: float32[centroids, 3],
    apart: float32[centroids, points],
    w1: float32[3 + channels, d1],
    b1: float32[1, d1],
    w2: float32[d1, d2],
    b2: float32[1, d2],
    w3: float32[d2, d3],
    b3: float32[1, d3],
    neighbour: int32[slots],
    owner: int32[slots],
    x: float32[slots, 3 + channels],
    y1: float32[slots, d1],
    y2: float32[slots, d2],
    y3: float32[slots, d3],
    pooled: float32[centroids, width],
):
    query(neighbours, squared_radius, apart, neighbour, owner)
    gather_places(at, middle, neighbour, owner, x)
    gather_features(feature, neighbour, x)
    perceive(neighbours, first, x, w1, b1, w2, b2, w3, b3, y1, y2, y3, pooled)


@nest
def abstract_places(
    neighbours: int32,
    first: int32,
    squared_radius: float32,
    at: float32[3, points],
    middle: float32[centroids, 3],
    apart: float32[centroids, points],
    w1: float32[3, d1],
    b1: float32[1, d1],
    w2: float32[d1, d2],
    b2: float32[1, d2],
    w3: float32[d2, d3],
    b3: float32[1, d3],
    neighbour: int32[slots],
    owner: int32[slots],
    x: float32[slots, 3],
    y1: float32[slots, d1],
    y2: float32[slots, d2],
    y3: float32[slots, d3],
    pooled: float32[centroids, width],
):
    query(neighbours, squared_radius, apart, neighbour, owner)
    gather_places(at, middle, neighbour, owner, x)
    perceive(neighbours, first, x, w1, b1, w2, b2, w3, b3, y1, y2, y3, pooled)


@nest
def set_abstraction(
    at: float32[3, points],
    feature: float32[points, CHANNELS],
    w1: float32[3 + CHANNELS, 8],
    b1: float32[1, 8],
    w2: float32[8, 8],
    b2: float32[1, 8],
    w3: float32[8, 16],
    b3: float32[1, 16],
    distance: float32[points],
    chosen: int32[CENTROIDS],
    centre: float32[3, CENTROIDS],
    middle: float32[CENTROIDS, 3],
    apart: float32[CENTROIDS, points],
    neighbour: int32[CENTROIDS * NEIGHBOURS],
    owner: int32[CENTROIDS * NEIGHBOURS],
    x: float32[CENTROIDS * NEIGHBOURS, 3 + CHANNELS],
    y1: float32[CENTROIDS * NEIGHBOURS, 8],
    y2: float32[CENTROIDS * NEIGHBOURS, 8],
    y3: float32[CENTROIDS * NEIGHBOURS, 16],
    pooled: float32[CENTROIDS, 16],
):
    sample(at, distance, chosen, centre)
    measure(at, centre, middle, apart)
    abstract(
        NEIGHBOURS,
        0,
        1.0,
        at,
        feature,
        middle,
        apart,
        w1,
        b1,
        w2,
        b2,
        w3,
        b3,
        neighbour,
        owner,
        x,
        y1,
        y2,
        y3,
        pooled,
    )


@nest
def ssg(
    at: float32[3, points],
    w11: float32[3, 64],
    b11: float32[1, 64],
    w12: float32[64, 64],
    b12: float32[1, 64],
    w13: float32[64, 128],
    b13: float32[1, 128],
    w21: float32[3 + 128, 128],
    b21: float32[1, 128],
    w22: float32[128, 128],
    b22: float32[1, 128],
    w23: float32[128, 256],
    b23: float32[1, 256],
    w31: float32[3 + 256, 256],
    b31: float32[1, 256],
    w32: float32[256, 512],
    b32: float32[1, 512],
    w33: float32[512, 1024],
    b33: float32[1, 1024],
    wf1: float32[1024, 512],
    bf1: float32[1, 512],
    wf2: float32[512, 256],
    bf2: float32[1, 256],
    wf3: float32[256, 10],
    bf3: float32[1, 10],
    distance_1: float32[points],
    chosen_1: int32[CENTROIDS_1],
    centre_1: float32[3, CENTROIDS_1],
    middle_1: float32[CENTROIDS_1, 3],
    apart_1: float32[CENTROIDS_1, points],
    neighbour_1: int32[CENTROIDS_1 * NEIGHBOURS_1],
    owner_1: int32[CENTROIDS_1 * NEIGHBOURS_1],
    x_1: float32[CENTROIDS_1 * NEIGHBOURS_1, 3],
    y11: float32[CENTROIDS_1 * NEIGHBOURS_1, 64],
    y12: float32[CENTROIDS_1 * NEIGHBOURS_1, 64],
    y13: float32[CENTROIDS_1 * NEIGHBOURS_1, 128],
    pooled_1: float32[CENTROIDS_1, 128],
    distance_2: float32[CENTROIDS_1],
    chosen_2: int32[CENTROIDS_2],
    centre_2: float32[3, CENTROIDS_2],
    middle_2: float32[CENTROIDS_2, 3],
    apart_2: float32[CENTROIDS_2, CENTROIDS_1],
    neighbour_2: int32[CENTROIDS_2 * NEIGHBOURS_2],
    owner_2: int32[CENTROIDS_2 * NEIGHBOURS_2],
    x_2: float32[CENTROIDS_2 * NEIGHBOURS_2, 3 + 128],
    y21: float32[CENTROIDS_2 * NEIGHBOURS_2, 128],
    y22: float32[CENTROIDS_2 * NEIGHBOURS_2, 128],
    y23: float32[CENTROIDS_2 * NEIGHBOURS_2, 256],
    pooled_2: float32[CENTROIDS_2, 256],
    distance_3: float32[CENTROIDS_2],
    chosen_3: int32[1],
    centre_3: float32[3, 1],
    middle_3: float32[1, 3],
    apart_3: float32[1, CENTROIDS_2],
    neighbour_3: int32[CENTROIDS_2],
    owner_3: int32[CENTROIDS_2],
    x_3: float32[CENTROIDS_2, 3 + 256],
    y31: float32[CENTROIDS_2, 256],
    y32: float32[CENTROIDS_2, 512],
    y33: float32[CENTROIDS_2, 1024],
    pooled_3: float32[1, 1024],
    z1: float32[1, 512],
    z2: float32[1, 256],
    score: float32[1, 10],
):
    """The classifier of one scale: scores of ten classes."""
    sample(at, distance_1, chosen_1, centre_1)
    measure(at, centre_1, middle_1, apart_1)
    abstract_places(
        NEIGHBOURS_1,
        0,
        0.04,
        at,
        middle_1,
        apart_1,
        w11,
        b11,
        w12,
        b12,
        w13,
        b13,
        neighbour_1,
        owner_1,
        x_1,
        y11,
        y12,
        y13,
        pooled_1,
    )
    sample(centre_1, distance_2, chosen_2, centre_2)
    measure(centre_1, centre_2, middle_2, apart_2)
    abstract(
        NEIGHBOURS_2,
        0,
        0.16,
        centre_1,
        pooled_1,
        middle_2,
        apart_2,
        w21,
        b21,
        w22,
        b22,
        w23,
        b23,
        neighbour_2,
        owner_2,
        x_2,
        y21,
        y22,
        y23,
        pooled_2,
    )
    sample(centre_2, distance_3, chosen_3, centre_3)
    measure(centre_2, centre_3, middle_3, apart_3)
    abstract(
        CENTROIDS_2,
        0,
        1e30,
        centre_2,
        pooled_2,
        middle_3,
        apart_3,
        w31,
        b31,
        w32,
        b32,
        w33,
        b33,
        neighbour_3,
        owner_3,
        x_3,
        y31,
        y32,
        y33,
        pooled_3,
    )
    connect_relu(pooled_3, wf1, bf1, z1)
    connect_relu(z1, wf2, bf2, z2)
    connect(z2, wf3, bf3, score)


@nest
def msg(
    at: float32[3, points],
    w41: float32[3, 32],
    b41: float32[1, 32],
    w42: float32[32, 32],
    b42: float32[1, 32],
    w43: float32[32, 64],
    b43: float32[1, 64],
    w51: float32[3, 64],
    b51: float32[1, 64],
    w52: float32[64, 64],
    b52: float32[1, 64],
    w53: float32[64, 128],
    b53: float32[1, 128],
    w61: float32[3, 64],
    b61: float32[1, 64],
    w62: float32[64, 96],
    b62: float32[1, 96],
    w63: float32[96, 128],
    b63: float32[1, 128],
    w71: float32[3 + 320, 64],
    b71: float32[1, 64],
    w72: float32[64, 64],
    b72: float32[1, 64],
    w73: float32[64, 128],
    b73: float32[1, 128],
    w81: float32[3 + 320, 128],
    b81: float32[1, 128],
    w82: float32[128, 128],
    b82: float32[1, 128],
    w83: float32[128, 256],
    b83: float32[1, 256],
    w91: float32[3 + 320, 128],
    b91: float32[1, 128],
    w92: float32[128, 128],
    b92: float32[1, 128],
    w93: float32[128, 256],
    b93: float32[1, 256],
    w31: float32[3 + 640, 256],
    b31: float32[1, 256],
    w32: float32[256, 512],
    b32: float32[1, 512],
    w33: float32[512, 1024],
    b33: float32[1, 1024],
    wf1: float32[1024, 512],
    bf1: float32[1, 512],
    wf2: float32[512, 256],
    bf2: float32[1, 256],
    wf3: float32[256, 10],
    bf3: float32[1, 10],
    distance_1: float32[points],
    chosen_1: int32[CENTROIDS_1],
    centre_1: float32[3, CENTROIDS_1],
    middle_1: float32[CENTROIDS_1, 3],
    apart_1: float32[CENTROIDS_1, points],
    neighbour_4: int32[CENTROIDS_1 * NEIGHBOURS_4],
    owner_4: int32[CENTROIDS_1 * NEIGHBOURS_4],
    x_4: float32[CENTROIDS_1 * NEIGHBOURS_4, 3],
    y41: float32[CENTROIDS_1 * NEIGHBOURS_4, 32],
    y42: float32[CENTROIDS_1 * NEIGHBOURS_4, 32],
    y43: float32[CENTROIDS_1 * NEIGHBOURS_4, 64],
    neighbour_5: int32[CENTROIDS_1 * NEIGHBOURS_5],
    owner_5: int32[CENTROIDS_1 * NEIGHBOURS_5],
    x_5: float32[CENTROIDS_1 * NEIGHBOURS_5, 3],
    y51: float32[CENTROIDS_1 * NEIGHBOURS_5, 64],
    y52: float32[CENTROIDS_1 * NEIGHBOURS_5, 64],
    y53: float32[CENTROIDS_1 * NEIGHBOURS_5, 128],
    neighbour_6: int32[CENTROIDS_1 * NEIGHBOURS_6],
    owner_6: int32[CENTROIDS_1 * NEIGHBOURS_6],
    x_6: float32[CENTROIDS_1 * NEIGHBOURS_6, 3],
    y61: float32[CENTROIDS_1 * NEIGHBOURS_6, 64],
    y62: float32[CENTROIDS_1 * NEIGHBOURS_6, 96],
    y63: float32[CENTROIDS_1 * NEIGHBOURS_6, 128],
    pooled_1: float32[CENTROIDS_1, 320],
    distance_2: float32[CENTROIDS_1],
    chosen_2: int32[CENTROIDS_2],
    centre_2: float32[3, CENTROIDS_2],
    middle_2: float32[CENTROIDS_2, 3],
    apart_2: float32[CENTROIDS_2, CENTROIDS_1],
    neighbour_7: int32[CENTROIDS_2 * NEIGHBOURS_7],
    owner_7: int32[CENTROIDS_2 * NEIGHBOURS_7],
    x_7: float32[CENTROIDS_2 * NEIGHBOURS_7, 3 + 320],
    y71: float32[CENTROIDS_2 * NEIGHBOURS_7, 64],
    y72: float32[CENTROIDS_2 * NEIGHBOURS_7, 64],
    y73: float32[CENTROIDS_2 * NEIGHBOURS_7, 128],
    neighbour_8: int32[CENTROIDS_2 * NEIGHBOURS_8],
    owner_8: int32[CENTROIDS_2 * NEIGHBOURS_8],
    x_8: float32[CENTROIDS_2 * NEIGHBOURS_8, 3 + 320],
    y81: float32[CENTROIDS_2 * NEIGHBOURS_8, 128],
    y82: float32[CENTROIDS_2 * NEIGHBOURS_8, 128],
    y83: float32[CENTROIDS_2 * NEIGHBOURS_8, 256],
    neighbour_9: int32[CENTROIDS_2 * NEIGHBOURS_9],
    owner_9: int32[CENTROIDS_2 * NEIGHBOURS_9],
    x_9: float32[CENTROIDS_2 * NEIGHBOURS_9, 3 + 320],
    y91: float32[CENTROIDS_2 * NEIGHBOURS_9, 128],
    y92: float32[CENTROIDS_2 * NEIGHBOURS_9, 128],
    y93: float32[CENTROIDS_2 * NEIGHBOURS_9, 256],
    pooled_2: float32[CENTROIDS_2, 640],
    distance_3: float32[CENTROIDS_2],
    chosen_3: int32[1],
    centre_3: float32[3, 1],
    middle_3: float32[1, 3],
    apart_3: float32[1, CENTROIDS_2],
    neighbour_3: int32[CENTROIDS_2],
    owner_3: int32[CENTROIDS_2],
    x_3: float32[CENTROIDS_2, 3 + 640],
    y31: float32[CENTROIDS_2, 256],
    y32: float32[CENTROIDS_2, 512],
    y33: float32[CENTROIDS_2, 1024],
    pooled_3: float32[1, 1024],
    z1: float32[1, 512],
    z2: float32[1, 256],
    score: float32[1, 10],
):
    """The classifier of several scales."""
    sample(at, distance_1, chosen_1, centre_1)
    measure(at, centre_1, middle_1, apart_1)
    abstract_places(
        NEIGHBOURS_4,
        0,
        0.01,
        at,
        middle_1,
        apart_1,
        w41,
        b41,
        w42,
        b42,
        w43,
        b43,
        neighbour_4,
        owner_4,
        x_4,
        y41,
        y42,
        y43,
        pooled_1,
    )
    abstract_places(
        NEIGHBOURS_5,
        64,
        0.04,
        at,
        middle_1,
        apart_1,
        w51,
        b51,
        w52,
        b52,
        w53,
        b53,
        neighbour_5,
        owner_5,
        x_5,
        y51,
        y52,
        y53,
        pooled_1,
    )
    abstract_places(
        NEIGHBOURS_6,
        192,
        0.16,
        at,
        middle_1,
        apart_1,
        w61,
        b61,
        w62,
        b62,
        w63,
        b63,
        neighbour_6,
        owner_6,
        x_6,
        y61,
        y62,
        y63,
        pooled_1,
    )
    sample(centre_1, distance_2, chosen_2, centre_2)
    measure(centre_1, centre_2, middle_2, apart_2)
    abstract(
        NEIGHBOURS_7,
        0,
        0.04,
        centre_1,
        pooled_1,
        middle_2,
        apart_2,
        w71,
        b71,
        w72,
        b72,
        w73,
        b73,
        neighbour_7,
        owner_7,
        x_7,
        y71,
        y72,
        y73,
        pooled_2,
    )
    abstract(
        NEIGHBOURS_8,
        128,
        0.16,
        centre_1,
        pooled_1,
        middle_2,
        apart_2,
        w81,
        b81,
        w82,
        b82,
        w83,
        b83,
        neighbour_8,
        owner_8,
        x_8,
        y81,
        y82,
        y83,
        pooled_2,
    )
    abstract(
        NEIGHBOURS_9,
        384,
        0.64,
        centre_1,
        pooled_1,
        middle_2,
        apart_2,
        w91,
        b91,
        w92,
        b92,
        w93,
        b93,
        neighbour_9,
        owner_9,
        x_9,
        y91,
        y92,
        y93,
        pooled_2,
    )
    sample(centre_2, distance_3, chosen_3, centre_3)
    measure(centre_2, centre_3, middle_3, apart_3)
    abstract(
        CENTROIDS_2,
        0,
        1e30,
        centre_2,
        pooled_2,
        middle_3,
        apart_3,
        w31,
        b31,
        w32,
        b32,
        w33,
        b33,
        neighbour_3,
        owner_3,
        x_3,
        y31,
        y32,
        y33,
        pooled_3,
    )
    connect_relu(pooled_3, wf1, bf1, z1)
    connect_relu(z1, wf2, bf2, z2)
    connect(z2, wf3, bf3, score)

/* PointNet++ (Qi et al., NeurIPS 2017) for inference: set abstractions, and the classifiers of one
   scale (SSG) and of several (MSG), as Infinity Stream's section 8 and table 4 have them.

   Coordinates lie in rows of an axis each, at[axis][point], and once more in rows of a point each,
   where rows are gathered. Slot s of the groups has point neighbour[s] around centroid owner[s]. */

/* Table 4. Centroids, neighbours, squared radius, widths of the layers: */
#define CENTROIDS_1 512 /* SA1, and SA4 to SA6 */
#define CENTROIDS_2 128 /* SA2, and SA7 to SA9 */
#define NEIGHBOURS_1 32
#define NEIGHBOURS_2 64
#define NEIGHBOURS_4 16
#define NEIGHBOURS_5 32
#define NEIGHBOURS_6 128
#define NEIGHBOURS_7 16
#define NEIGHBOURS_8 32
#define NEIGHBOURS_9 128

/* Of the set abstraction alone. */
#define CENTROIDS 8
#define NEIGHBOURS 4
#define CHANNELS 5

/* Farthest point sampling: the first centroid is point 0, each other one the point that is the
   farthest from all before, of several the first. distance: squared, to the nearest of these. */
void sample(int points, int centroids, const float at[3][points], float distance[points],
            int chosen[centroids], float centre[3][centroids]) {
    for (int p = 0; p < points; p++)
        distance[p] = 1e30f;
    for (int c = 0; c < centroids; c++) {
        float farthest = 0.0f;
        int which = 0;
        for (int p = 0; p < points; p++)
            if (c > 0 && distance[p] > farthest) {
                farthest = distance[p];
                which = p;
            }
        chosen[c] = which;
        for (int axis = 0; axis < 3; axis++)
            centre[axis][c] = at[axis][which];
        for (int p = 0; p < points; p++) {
            float x = at[0][p] - centre[0][c], y = at[1][p] - centre[1][c];
            float z = at[2][p] - centre[2][c];
            distance[p] = fminimumf(distance[p], x * x + y * y + z * z);
        }
    }
}

/* Centroids in rows of a point each. */
void turn(int centroids, const float centre[3][centroids], float middle[centroids][3]) {
    for (int c = 0; c < centroids; c++)
        for (int axis = 0; axis < 3; axis++)
            middle[c][axis] = centre[axis][c];
}

/* Squared distances of all points from all centroids. */
void distances(int points, int centroids, const float at[3][points],
               const float middle[centroids][3], float apart[centroids][points]) {
    for (int c = 0; c < centroids; c++)
        for (int p = 0; p < points; p++) {
            float x = at[0][p] - middle[c][0], y = at[1][p] - middle[c][1];
            float z = at[2][p] - middle[c][2];
            apart[c][p] = x * x + y * y + z * z;
        }
}

/* Both. */
void measure(int points, int centroids, const float at[3][points],
             const float centre[3][centroids], float middle[centroids][3],
             float apart[centroids][points]) {
    turn(centroids, centre, middle);
    distances(points, centroids, at, middle, apart);
}

/* Ball query: the first points that are nearer than the radius, the first one again where these are
   too few. A centroid is one itself. */
void query(int points, int centroids, int neighbours, float squared_radius,
           const float apart[centroids][points], int neighbour[centroids * neighbours],
           int owner[centroids * neighbours]) {
    for (int c = 0; c < centroids; c++) {
        int count = 0;
        for (int p = 0; p < points; p++)
            if (apart[c][p] < squared_radius && count < neighbours) {
                neighbour[c * neighbours + count] = p;
                count += 1;
            }
        for (int n = 0; n < neighbours; n++) {
            owner[c * neighbours + n] = c;
            if (n >= count)
                neighbour[c * neighbours + n] = neighbour[c * neighbours];
        }
    }
}

/* Coordinates of neighbours, from their centroid on. */
void gather_places(int points, int centroids, int slots, int width, const float at[3][points],
                   const float middle[centroids][3], const int neighbour[slots],
                   const int owner[slots], float x[slots][width]) {
    for (int s = 0; s < slots; s++)
        for (int axis = 0; axis < 3; axis++)
            x[s][axis] = at[axis][neighbour[s]] - middle[owner[s]][axis];
}

/* Their features, behind these. */
void gather_features(int points, int slots, int channels, const float feature[points][channels],
                     const int neighbour[slots], float x[slots][3 + channels]) {
    for (int s = 0; s < slots; s++)
        for (int i = 0; i < channels; i++)
            x[s][3 + i] = feature[neighbour[s]][i];
}

/* Products of some inputs, added to what is there: a sum of outer products. */
void accumulate(int rows, int inputs, int outputs, const float x[rows][inputs],
                const float w[inputs][outputs], float y[rows][outputs]) {
    for (int i = 0; i < inputs; i++)
        for (int r = 0; r < rows; r++)
            for (int o = 0; o < outputs; o++)
                y[r][o] += x[r][i] * w[i][o];
}

/* No less than 0. */
void rectify(int rows, int outputs, float y[rows][outputs]) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++)
            y[r][o] = y[r][o] > 0.0f ? y[r][o] : 0.0f;
}

/* A fully connected layer on each row. */
void connect(int rows, int inputs, int outputs, const float x[rows][inputs],
             const float w[inputs][outputs], const float bias[1][outputs],
             float y[rows][outputs]) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outputs; o++)
            y[r][o] = bias[0][o];
    accumulate(rows, inputs, outputs, x, w, y);
}

/* The same, and no less than 0. */
void connect_relu(int rows, int inputs, int outputs, const float x[rows][inputs],
                  const float w[inputs][outputs], const float bias[1][outputs],
                  float y[rows][outputs]) {
    connect(rows, inputs, outputs, x, w, bias, y);
    rectify(rows, outputs, y);
}

/* The largest of a centroid's slots, in columns from first on. */
void aggregate(int centroids, int neighbours, int outputs, int width, int first,
               const float y[centroids * neighbours][outputs], float pooled[centroids][width]) {
    for (int c = 0; c < centroids; c++)
        for (int o = 0; o < outputs; o++)
            pooled[c][first + o] = 0.0f;
    for (int n = 0; n < neighbours; n++)
        for (int c = 0; c < centroids; c++)
            for (int o = 0; o < outputs; o++)
                pooled[c][first + o] =
                    fmaximumf(pooled[c][first + o], y[c * neighbours + n][o]);
}

/* Three layers on each slot, and the largest. */
void perceive(int centroids, int neighbours, int inputs, int d1, int d2, int d3, int width,
              int first, const float x[centroids * neighbours][inputs],
              const float w1[inputs][d1], const float b1[1][d1], const float w2[d1][d2],
              const float b2[1][d2], const float w3[d2][d3], const float b3[1][d3],
              float y1[centroids * neighbours][d1], float y2[centroids * neighbours][d2],
              float y3[centroids * neighbours][d3], float pooled[centroids][width]) {
    connect_relu(centroids * neighbours, inputs, d1, x, w1, b1, y1);
    connect_relu(centroids * neighbours, d1, d2, y1, w2, b2, y2);
    connect_relu(centroids * neighbours, d2, d3, y2, w3, b3, y3);
    aggregate(centroids, neighbours, d3, width, first, y3, pooled);
}

/* One scale of a set abstraction, of points that have features. */
void abstract(int points, int centroids, int neighbours, int channels, int d1, int d2, int d3,
              int width, int first, float squared_radius, const float at[3][points],
              const float feature[points][channels], const float middle[centroids][3],
              const float apart[centroids][points], const float w1[3 + channels][d1],
              const float b1[1][d1], const float w2[d1][d2], const float b2[1][d2],
              const float w3[d2][d3], const float b3[1][d3],
              int neighbour[centroids * neighbours], int owner[centroids * neighbours],
              float x[centroids * neighbours][3 + channels],
              float y1[centroids * neighbours][d1], float y2[centroids * neighbours][d2],
              float y3[centroids * neighbours][d3], float pooled[centroids][width]) {
    query(points, centroids, neighbours, squared_radius, apart, neighbour, owner);
    gather_places(points, centroids, centroids * neighbours, 3 + channels, at, middle, neighbour,
                  owner, x);
    gather_features(points, centroids * neighbours, channels, feature, neighbour, x);
    perceive(centroids, neighbours, 3 + channels, d1, d2, d3, width, first, x, w1, b1, w2, b2, w3,
             b3, y1, y2, y3, pooled);
}

/* The same, of points that have none. */
void abstract_places(int points, int centroids, int neighbours, int d1, int d2, int d3, int width,
                     int first, float squared_radius, const float at[3][points],
                     const float middle[centroids][3], const float apart[centroids][points],
                     const float w1[3][d1], const float b1[1][d1], const float w2[d1][d2],
                     const float b2[1][d2], const float w3[d2][d3], const float b3[1][d3],
                     int neighbour[centroids * neighbours], int owner[centroids * neighbours],
                     float x[centroids * neighbours][3], float y1[centroids * neighbours][d1],
                     float y2[centroids * neighbours][d2], float y3[centroids * neighbours][d3],
                     float pooled[centroids][width]) {
    query(points, centroids, neighbours, squared_radius, apart, neighbour, owner);
    gather_places(points, centroids, centroids * neighbours, 3, at, middle, neighbour, owner, x);
    perceive(centroids, neighbours, 3, d1, d2, d3, width, first, x, w1, b1, w2, b2, w3, b3, y1, y2,
             y3, pooled);
}

/* A set abstraction. */
void set_abstraction(int points, const float at[3][points], const float feature[points][CHANNELS],
                     const float w1[3 + CHANNELS][8], const float b1[1][8], const float w2[8][8],
                     const float b2[1][8], const float w3[8][16], const float b3[1][16],
                     float distance[points], int chosen[CENTROIDS], float centre[3][CENTROIDS],
                     float middle[CENTROIDS][3], float apart[CENTROIDS][points],
                     int neighbour[CENTROIDS * NEIGHBOURS], int owner[CENTROIDS * NEIGHBOURS],
                     float x[CENTROIDS * NEIGHBOURS][3 + CHANNELS],
                     float y1[CENTROIDS * NEIGHBOURS][8], float y2[CENTROIDS * NEIGHBOURS][8],
                     float y3[CENTROIDS * NEIGHBOURS][16], float pooled[CENTROIDS][16]) {
    sample(points, CENTROIDS, at, distance, chosen, centre);
    measure(points, CENTROIDS, at, centre, middle, apart);
    abstract(points, CENTROIDS, NEIGHBOURS, CHANNELS, 8, 8, 16, 16, 0, 1.0f, at, feature, middle,
             apart, w1, b1, w2, b2, w3, b3, neighbour, owner, x, y1, y2, y3, pooled);
}

/* The classifier of one scale: scores of ten classes. */
void ssg(int points, const float at[3][points], const float w11[3][64], const float b11[1][64],
         const float w12[64][64], const float b12[1][64], const float w13[64][128],
         const float b13[1][128], const float w21[3 + 128][128], const float b21[1][128],
         const float w22[128][128], const float b22[1][128], const float w23[128][256],
         const float b23[1][256], const float w31[3 + 256][256], const float b31[1][256],
         const float w32[256][512], const float b32[1][512], const float w33[512][1024],
         const float b33[1][1024], const float wf1[1024][512], const float bf1[1][512],
         const float wf2[512][256], const float bf2[1][256], const float wf3[256][10],
         const float bf3[1][10], float distance_1[points], int chosen_1[CENTROIDS_1],
         float centre_1[3][CENTROIDS_1], float middle_1[CENTROIDS_1][3],
         float apart_1[CENTROIDS_1][points], int neighbour_1[CENTROIDS_1 * NEIGHBOURS_1],
         int owner_1[CENTROIDS_1 * NEIGHBOURS_1], float x_1[CENTROIDS_1 * NEIGHBOURS_1][3],
         float y11[CENTROIDS_1 * NEIGHBOURS_1][64], float y12[CENTROIDS_1 * NEIGHBOURS_1][64],
         float y13[CENTROIDS_1 * NEIGHBOURS_1][128], float pooled_1[CENTROIDS_1][128],
         float distance_2[CENTROIDS_1], int chosen_2[CENTROIDS_2], float centre_2[3][CENTROIDS_2],
         float middle_2[CENTROIDS_2][3], float apart_2[CENTROIDS_2][CENTROIDS_1],
         int neighbour_2[CENTROIDS_2 * NEIGHBOURS_2], int owner_2[CENTROIDS_2 * NEIGHBOURS_2],
         float x_2[CENTROIDS_2 * NEIGHBOURS_2][3 + 128], float y21[CENTROIDS_2 * NEIGHBOURS_2][128],
         float y22[CENTROIDS_2 * NEIGHBOURS_2][128], float y23[CENTROIDS_2 * NEIGHBOURS_2][256],
         float pooled_2[CENTROIDS_2][256], float distance_3[CENTROIDS_2], int chosen_3[1],
         float centre_3[3][1], float middle_3[1][3], float apart_3[1][CENTROIDS_2],
         int neighbour_3[CENTROIDS_2], int owner_3[CENTROIDS_2], float x_3[CENTROIDS_2][3 + 256],
         float y31[CENTROIDS_2][256], float y32[CENTROIDS_2][512], float y33[CENTROIDS_2][1024],
         float pooled_3[1][1024], float z1[1][512], float z2[1][256], float score[1][10]) {
    sample(points, CENTROIDS_1, at, distance_1, chosen_1, centre_1);
    measure(points, CENTROIDS_1, at, centre_1, middle_1, apart_1);
    abstract_places(points, CENTROIDS_1, NEIGHBOURS_1, 64, 64, 128, 128, 0, 0.04f, at, middle_1,
                    apart_1, w11, b11, w12, b12, w13, b13, neighbour_1, owner_1, x_1, y11, y12, y13,
                    pooled_1);
    sample(CENTROIDS_1, CENTROIDS_2, centre_1, distance_2, chosen_2, centre_2);
    measure(CENTROIDS_1, CENTROIDS_2, centre_1, centre_2, middle_2, apart_2);
    abstract(CENTROIDS_1, CENTROIDS_2, NEIGHBOURS_2, 128, 128, 128, 256, 256, 0, 0.16f, centre_1,
             pooled_1, middle_2, apart_2, w21, b21, w22, b22, w23, b23, neighbour_2, owner_2, x_2,
             y21, y22, y23, pooled_2);
    sample(CENTROIDS_2, 1, centre_2, distance_3, chosen_3, centre_3);
    measure(CENTROIDS_2, 1, centre_2, centre_3, middle_3, apart_3);
    abstract(CENTROIDS_2, 1, CENTROIDS_2, 256, 256, 512, 1024, 1024, 0, 1e30f, centre_2, pooled_2,
             middle_3, apart_3, w31, b31, w32, b32, w33, b33, neighbour_3, owner_3, x_3, y31, y32,
             y33, pooled_3);
    connect_relu(1, 1024, 512, pooled_3, wf1, bf1, z1);
    connect_relu(1, 512, 256, z1, wf2, bf2, z2);
    connect(1, 256, 10, z2, wf3, bf3, score);
}

/* The classifier of several scales. */
void msg(int points, const float at[3][points], const float w41[3][32], const float b41[1][32],
         const float w42[32][32], const float b42[1][32], const float w43[32][64],
         const float b43[1][64], const float w51[3][64], const float b51[1][64],
         const float w52[64][64], const float b52[1][64], const float w53[64][128],
         const float b53[1][128], const float w61[3][64], const float b61[1][64],
         const float w62[64][96], const float b62[1][96], const float w63[96][128],
         const float b63[1][128], const float w71[3 + 320][64], const float b71[1][64],
         const float w72[64][64], const float b72[1][64], const float w73[64][128],
         const float b73[1][128], const float w81[3 + 320][128], const float b81[1][128],
         const float w82[128][128], const float b82[1][128], const float w83[128][256],
         const float b83[1][256], const float w91[3 + 320][128], const float b91[1][128],
         const float w92[128][128], const float b92[1][128], const float w93[128][256],
         const float b93[1][256], const float w31[3 + 640][256], const float b31[1][256],
         const float w32[256][512], const float b32[1][512], const float w33[512][1024],
         const float b33[1][1024], const float wf1[1024][512], const float bf1[1][512],
         const float wf2[512][256], const float bf2[1][256], const float wf3[256][10],
         const float bf3[1][10], float distance_1[points], int chosen_1[CENTROIDS_1],
         float centre_1[3][CENTROIDS_1], float middle_1[CENTROIDS_1][3],
         float apart_1[CENTROIDS_1][points], int neighbour_4[CENTROIDS_1 * NEIGHBOURS_4],
         int owner_4[CENTROIDS_1 * NEIGHBOURS_4], float x_4[CENTROIDS_1 * NEIGHBOURS_4][3],
         float y41[CENTROIDS_1 * NEIGHBOURS_4][32], float y42[CENTROIDS_1 * NEIGHBOURS_4][32],
         float y43[CENTROIDS_1 * NEIGHBOURS_4][64], int neighbour_5[CENTROIDS_1 * NEIGHBOURS_5],
         int owner_5[CENTROIDS_1 * NEIGHBOURS_5], float x_5[CENTROIDS_1 * NEIGHBOURS_5][3],
         float y51[CENTROIDS_1 * NEIGHBOURS_5][64], float y52[CENTROIDS_1 * NEIGHBOURS_5][64],
         float y53[CENTROIDS_1 * NEIGHBOURS_5][128], int neighbour_6[CENTROIDS_1 * NEIGHBOURS_6],
         int owner_6[CENTROIDS_1 * NEIGHBOURS_6], float x_6[CENTROIDS_1 * NEIGHBOURS_6][3],
         float y61[CENTROIDS_1 * NEIGHBOURS_6][64], float y62[CENTROIDS_1 * NEIGHBOURS_6][96],
         float y63[CENTROIDS_1 * NEIGHBOURS_6][128], float pooled_1[CENTROIDS_1][320],
         float distance_2[CENTROIDS_1], int chosen_2[CENTROIDS_2], float centre_2[3][CENTROIDS_2],
         float middle_2[CENTROIDS_2][3], float apart_2[CENTROIDS_2][CENTROIDS_1],
         int neighbour_7[CENTROIDS_2 * NEIGHBOURS_7], int owner_7[CENTROIDS_2 * NEIGHBOURS_7],
         float x_7[CENTROIDS_2 * NEIGHBOURS_7][3 + 320], float y71[CENTROIDS_2 * NEIGHBOURS_7][64],
         float y72[CENTROIDS_2 * NEIGHBOURS_7][64], float y73[CENTROIDS_2 * NEIGHBOURS_7][128],
         int neighbour_8[CENTROIDS_2 * NEIGHBOURS_8], int owner_8[CENTROIDS_2 * NEIGHBOURS_8],
         float x_8[CENTROIDS_2 * NEIGHBOURS_8][3 + 320], float y81[CENTROIDS_2 * NEIGHBOURS_8][128],
         float y82[CENTROIDS_2 * NEIGHBOURS_8][128], float y83[CENTROIDS_2 * NEIGHBOURS_8][256],
         int neighbour_9[CENTROIDS_2 * NEIGHBOURS_9], int owner_9[CENTROIDS_2 * NEIGHBOURS_9],
         float x_9[CENTROIDS_2 * NEIGHBOURS_9][3 + 320], float y91[CENTROIDS_2 * NEIGHBOURS_9][128],
         float y92[CENTROIDS_2 * NEIGHBOURS_9][128], float y93[CENTROIDS_2 * NEIGHBOURS_9][256],
         float pooled_2[CENTROIDS_2][640], float distance_3[CENTROIDS_2], int chosen_3[1],
         float centre_3[3][1], float middle_3[1][3], float apart_3[1][CENTROIDS_2],
         int neighbour_3[CENTROIDS_2], int owner_3[CENTROIDS_2], float x_3[CENTROIDS_2][3 + 640],
         float y31[CENTROIDS_2][256], float y32[CENTROIDS_2][512], float y33[CENTROIDS_2][1024],
         float pooled_3[1][1024], float z1[1][512], float z2[1][256], float score[1][10]) {
    sample(points, CENTROIDS_1, at, distance_1, chosen_1, centre_1);
    measure(points, CENTROIDS_1, at, centre_1, middle_1, apart_1);
    abstract_places(points, CENTROIDS_1, NEIGHBOURS_4, 32, 32, 64, 320, 0, 0.01f, at, middle_1,
                    apart_1, w41, b41, w42, b42, w43, b43, neighbour_4, owner_4, x_4, y41, y42, y43,
                    pooled_1);
    abstract_places(points, CENTROIDS_1, NEIGHBOURS_5, 64, 64, 128, 320, 64, 0.04f, at, middle_1,
                    apart_1, w51, b51, w52, b52, w53, b53, neighbour_5, owner_5, x_5, y51, y52, y53,
                    pooled_1);
    abstract_places(points, CENTROIDS_1, NEIGHBOURS_6, 64, 96, 128, 320, 192, 0.16f, at, middle_1,
                    apart_1, w61, b61, w62, b62, w63, b63, neighbour_6, owner_6, x_6, y61, y62, y63,
                    pooled_1);
    sample(CENTROIDS_1, CENTROIDS_2, centre_1, distance_2, chosen_2, centre_2);
    measure(CENTROIDS_1, CENTROIDS_2, centre_1, centre_2, middle_2, apart_2);
    abstract(CENTROIDS_1, CENTROIDS_2, NEIGHBOURS_7, 320, 64, 64, 128, 640, 0, 0.04f, centre_1,
             pooled_1, middle_2, apart_2, w71, b71, w72, b72, w73, b73, neighbour_7, owner_7, x_7,
             y71, y72, y73, pooled_2);
    abstract(CENTROIDS_1, CENTROIDS_2, NEIGHBOURS_8, 320, 128, 128, 256, 640, 128, 0.16f, centre_1,
             pooled_1, middle_2, apart_2, w81, b81, w82, b82, w83, b83, neighbour_8, owner_8, x_8,
             y81, y82, y83, pooled_2);
    abstract(CENTROIDS_1, CENTROIDS_2, NEIGHBOURS_9, 320, 128, 128, 256, 640, 384, 0.64f, centre_1,
             pooled_1, middle_2, apart_2, w91, b91, w92, b92, w93, b93, neighbour_9, owner_9, x_9,
             y91, y92, y93, pooled_2);
    sample(CENTROIDS_2, 1, centre_2, distance_3, chosen_3, centre_3);
    measure(CENTROIDS_2, 1, centre_2, centre_3, middle_3, apart_3);
    abstract(CENTROIDS_2, 1, CENTROIDS_2, 640, 256, 512, 1024, 1024, 0, 1e30f, centre_2, pooled_2,
             middle_3, apart_3, w31, b31, w32, b32, w33, b33, neighbour_3, owner_3, x_3, y31, y32,
             y33, pooled_3);
    connect_relu(1, 1024, 512, pooled_3, wf1, bf1, z1);
    connect_relu(1, 512, 256, z1, wf2, bf2, z2);
    connect(1, 256, 10, z2, wf3, bf3, score);
}

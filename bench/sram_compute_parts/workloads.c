/* Loop nests that are measured beside those in examples/. */

#include <stdint.h>

/* A stencil of seven points on a box, there and back in each step. */
void stencil3d(int planes, int rows, int columns, float a[planes][rows][columns],
               float b[planes][rows][columns], int steps) {
    for (int _step = 0; _step < steps; _step++) {
        for (int h = 1; h < planes - 1; h++)
            for (int i = 1; i < rows - 1; i++)
                for (int j = 1; j < columns - 1; j++) {
                    float around = a[h - 1][i][j] + a[h + 1][i][j] + a[h][i - 1][j]
                                   + a[h][i + 1][j] + a[h][i][j - 1] + a[h][i][j + 1];
                    b[h][i][j] = 0.5f * a[h][i][j] + 0.0625f * around;
                }
        for (int h = 1; h < planes - 1; h++)
            for (int i = 1; i < rows - 1; i++)
                for (int j = 1; j < columns - 1; j++) {
                    float around = b[h - 1][i][j] + b[h + 1][i][j] + b[h][i - 1][j]
                                   + b[h][i + 1][j] + b[h][i][j - 1] + b[h][i][j + 1];
                    a[h][i][j] = 0.5f * b[h][i][j] + 0.0625f * around;
                }
    }
}

/* The product of two matrices, an inner product for each element. */
void mm_inner(int rows, int inner, int columns, const float a[rows][inner],
              const float b[inner][columns], float c[rows][columns]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            for (int k = 0; k < inner; k++)
                c[i][j] += a[i][k] * b[k][j];
}

/* The same as a sum of outer products, of narrow integers. */
void mm_int8(int rows, int inner, int columns, const int8_t a[rows][inner],
             const int8_t b[inner][columns], int32_t c[rows][columns]) {
    for (int k = 0; k < inner; k++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                c[i][j] += a[i][k] * b[k][j];
}

/* The sum of each row of a matrix. */
void row_sums(int rows, int columns, const float a[rows][columns], float total[rows][1]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            total[i][0] += a[i][j];
}

/* A stencil of five points, of integers. */
void stencil2d_int32(int rows, int columns, const int32_t a[rows][columns],
                     int32_t b[rows][columns]) {
    for (int i = 1; i < rows - 1; i++)
        for (int j = 1; j < columns - 1; j++)
            b[i][j] = 5 * a[i][j] + 3 * a[i - 1][j] + 3 * a[i + 1][j] + 3 * a[i][j - 1]
                      + 3 * a[i][j + 1];
}

/* Both steps of lifting, of which wavelet transforms consist, along rows: at all places. */
void lifting(int rows, int columns, const float a[rows][columns], float low[rows][columns],
             float high[rows][columns]) {
    for (int i = 0; i < rows; i++)
        for (int j = 1; j < columns - 1; j++)
            high[i][j] = a[i][j] - 0.5f * (a[i][j - 1] + a[i][j + 1]);
    for (int i = 0; i < rows; i++)
        for (int j = 2; j < columns - 2; j++)
            low[i][j] = a[i][j] + 0.25f * (high[i][j - 1] + high[i][j + 1]);
}

/* Nine products of weights, whose terms commute: what takes the optimiser long. */
void weighted_sum(int n, const float a[n], const float w[9], float b[n]) {
    for (int i = 4; i < n - 4; i++)
        b[i] = w[0] * a[i - 4] + w[1] * a[i - 3] + w[2] * a[i - 2] + w[3] * a[i - 1] + w[4] * a[i]
               + w[5] * a[i + 1] + w[6] * a[i + 2] + w[7] * a[i + 3] + w[8] * a[i + 4];
}

/* A convolution of channels with kernels of 3 x 3. */
void conv3d(int outputs, int inputs, int rows, int columns, const float a[inputs][rows][columns],
            const float w[outputs][inputs][9], float b[outputs][rows][columns]) {
    for (int o = 0; o < outputs; o++)
        for (int c = 0; c < inputs; c++)
            for (int i = 1; i < rows - 1; i++)
                for (int j = 1; j < columns - 1; j++)
                    b[o][i][j] += w[o][c][0] * a[c][i - 1][j - 1] + w[o][c][1] * a[c][i - 1][j]
                                  + w[o][c][2] * a[c][i - 1][j + 1] + w[o][c][3] * a[c][i][j - 1]
                                  + w[o][c][4] * a[c][i][j] + w[o][c][5] * a[c][i][j + 1]
                                  + w[o][c][6] * a[c][i + 1][j - 1] + w[o][c][7] * a[c][i + 1][j]
                                  + w[o][c][8] * a[c][i + 1][j + 1];
}

/* A convolution of narrow integers with a kernel of 3 x 3. */
void conv2d_int8(int rows, int columns, const int8_t a[rows][columns], const int8_t w[3][3],
                 int32_t b[rows][columns]) {
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            for (int i = 1; i < rows - 1; i++)
                for (int j = 1; j < columns - 1; j++)
                    b[i][j] += w[y][x] * a[i + y - 1][j + x - 1];
}

/* One level of the wavelet transform of JPEG 2000's 5/3 filter, by lifting: even and odd elements
   apart, then along rows, then along columns. Beyond the border the image is its mirror's. */
void dwt2d(int rows, int columns, const float a[2 * rows][2 * columns], float ll[rows][columns],
           float lh[rows][columns], float hl[rows][columns], float hh[rows][columns]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            ll[i][j] = a[2 * i][2 * j];
            lh[i][j] = a[2 * i][2 * j + 1];
            hl[i][j] = a[2 * i + 1][2 * j];
            hh[i][j] = a[2 * i + 1][2 * j + 1];
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns - 1; j++) {
            lh[i][j] -= 0.5f * (ll[i][j] + ll[i][j + 1]);
            hh[i][j] -= 0.5f * (hl[i][j] + hl[i][j + 1]);
        }
    for (int i = 0; i < rows; i++) {
        lh[i][columns - 1] -= ll[i][columns - 1];
        hh[i][columns - 1] -= hl[i][columns - 1];
    }
    for (int i = 0; i < rows; i++)
        for (int j = 1; j < columns; j++) {
            ll[i][j] += 0.25f * (lh[i][j - 1] + lh[i][j]);
            hl[i][j] += 0.25f * (hh[i][j - 1] + hh[i][j]);
        }
    for (int i = 0; i < rows; i++) {
        ll[i][0] += 0.5f * lh[i][0];
        hl[i][0] += 0.5f * hh[i][0];
    }
    for (int i = 0; i < rows - 1; i++)
        for (int j = 0; j < columns; j++) {
            hl[i][j] -= 0.5f * (ll[i][j] + ll[i + 1][j]);
            hh[i][j] -= 0.5f * (lh[i][j] + lh[i + 1][j]);
        }
    for (int j = 0; j < columns; j++) {
        hl[rows - 1][j] -= ll[rows - 1][j];
        hh[rows - 1][j] -= lh[rows - 1][j];
    }
    for (int i = 1; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            ll[i][j] += 0.25f * (hl[i - 1][j] + hl[i][j]);
            lh[i][j] += 0.25f * (hh[i - 1][j] + hh[i][j]);
        }
    for (int j = 0; j < columns; j++) {
        ll[0][j] += 0.5f * hl[0][j];
        lh[0][j] += 0.5f * hh[0][j];
    }
}

/* A round of k-means: the nearest centre of each point, and the mean of each centre's points, if it
   has some. Distances of all points to all centres grow dimension by dimension. */
void kmeans(int dimensions, int centres, int points, const float a[dimensions][points],
            float centre[dimensions][centres], float distance[centres][points], int nearest[points],
            float sum[dimensions][centres], int count[1][centres]) {
    for (int d = 0; d < dimensions; d++)
        for (int c = 0; c < centres; c++)
            for (int p = 0; p < points; p++)
                distance[c][p] += (a[d][p] - centre[d][c]) * (a[d][p] - centre[d][c]);
    for (int p = 0; p < points; p++) {
        float least = distance[0][p];
        int which = 0;
        for (int c = 1; c < centres; c++)
            if (distance[c][p] < least) {
                least = distance[c][p];
                which = c;
            }
        nearest[p] = which;
    }
    for (int p = 0; p < points; p++)
        count[0][nearest[p]] += 1;
    for (int d = 0; d < dimensions; d++)
        for (int p = 0; p < points; p++)
            sum[d][nearest[p]] += a[d][p];
    for (int d = 0; d < dimensions; d++)
        for (int c = 0; c < centres; c++)
            if (count[0][c] > 0)
                centre[d][c] = sum[d][c] / (float)count[0][c];
}

/* The same, point by point: each distance is an inner product. */
void kmeans_inner(int dimensions, int centres, int points, const float a[points][dimensions],
                  float centre[centres][dimensions], float sum[centres][dimensions],
                  int nearest[points], int count[centres]) {
    for (int p = 0; p < points; p++) {
        float least = 0.0f;
        int which = 0;
        for (int c = 0; c < centres; c++) {
            float distance = 0.0f;
            for (int d = 0; d < dimensions; d++)
                distance += (a[p][d] - centre[c][d]) * (a[p][d] - centre[c][d]);
            if (c == 0 || distance < least) {
                least = distance;
                which = c;
            }
        }
        nearest[p] = which;
        count[which] += 1;
        for (int d = 0; d < dimensions; d++)
            sum[which][d] += a[p][d];
    }
    for (int c = 0; c < centres; c++)
        if (count[c] > 0)
            for (int d = 0; d < dimensions; d++)
                centre[c][d] = sum[c][d] / (float)count[c];
}

/* A layer of a perceptron on rows that are gathered, a sum of outer products. */
void gather_mlp(int queries, int table, int inputs, int outputs, const int index[queries],
                const float features[table][inputs], const float w[inputs][outputs],
                const float bias[1][outputs], float x[queries][inputs],
                float b[queries][outputs]) {
    for (int q = 0; q < queries; q++)
        for (int i = 0; i < inputs; i++)
            x[q][i] = features[index[q]][i];
    for (int q = 0; q < queries; q++)
        for (int o = 0; o < outputs; o++)
            b[q][o] = bias[0][o];
    for (int i = 0; i < inputs; i++)
        for (int q = 0; q < queries; q++)
            for (int o = 0; o < outputs; o++)
                b[q][o] += x[q][i] * w[i][o];
    for (int q = 0; q < queries; q++)
        for (int o = 0; o < outputs; o++)
            b[q][o] = b[q][o] > 0.0f ? b[q][o] : 0.0f;
}

/* The same, an inner product for each output, of rows as they are gathered. */
void gather_mlp_inner(int queries, int table, int inputs, int outputs, const int index[queries],
                      const float features[table][inputs], const float w[inputs][outputs],
                      const float bias[outputs], float b[queries][outputs]) {
    for (int q = 0; q < queries; q++)
        for (int o = 0; o < outputs; o++) {
            float total = bias[o];
            for (int i = 0; i < inputs; i++)
                total += features[index[q]][i] * w[i][o];
            b[q][o] = total > 0.0f ? total : 0.0f;
        }
}

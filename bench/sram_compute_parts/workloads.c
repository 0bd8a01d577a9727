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

/* Small kernels as image processing, linear algebra, statistics, machine learning, cryptography
   and databases have them, to see which the compiler takes. */
#include <limits.h>
#include <math.h>
#include <stdint.h>

/* Images. */

void box_blur(int h, int w, const float in[h][w], float out[h][w]) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++) {
            float sum = 0.0f;
            for (int di = -1; di <= 1; di++)
                for (int dj = -1; dj <= 1; dj++)
                    sum += in[i + di][j + dj];
            out[i][j] = sum / 9.0f;
        }
}

void gaussian_blur(int h, int w, const uint8_t in[h][w], uint8_t out[h][w]) {
    static const int kernel[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++) {
            int sum = 0;
            for (int di = 0; di < 3; di++)
                for (int dj = 0; dj < 3; dj++)
                    sum += kernel[di][dj] * in[i + di - 1][j + dj - 1];
            out[i][j] = sum >> 4;
        }
}

void blur_clamped(int h, int w, const float in[h][w], float out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            int left = j > 0 ? j - 1 : 0;
            int right = j < w - 1 ? j + 1 : w - 1;
            out[i][j] = (in[i][left] + in[i][j] + in[i][right]) / 3.0f;
        }
}

void blur_clamped_rows(int h, int w, const uint8_t in[h][w], uint8_t out[h][w]) {
    for (int i = 0; i < h; i++) {
        int up = i - 1, down = i + 1;
        if (up < 0) up = 0;
        if (down >= h) down = h - 1;
        for (int j = 0; j < w; j++)
            out[i][j] = (in[up][j] + 2 * in[i][j] + in[down][j] + 2) / 4;
    }
}

void blur_flat(int h, int w, const float *in, float *out) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 0; j < w; j++)
            out[i * w + j] = (in[(i - 1) * w + j] + in[i * w + j] + in[(i + 1) * w + j]) * 0.333f;
}

void gradient(int h, int w, const float in[h][w], float gx[h][w], float gy[h][w]) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++) {
            gx[i][j] = (in[i][j + 1] - in[i][j - 1]) * 0.5f;
            gy[i][j] = (in[i + 1][j] - in[i - 1][j]) * 0.5f;
        }
}

void sobel(int h, int w, const uint8_t in[h][w], uint8_t out[h][w]) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++) {
            int gx = -in[i - 1][j - 1] + in[i - 1][j + 1] - 2 * in[i][j - 1] + 2 * in[i][j + 1]
                     - in[i + 1][j - 1] + in[i + 1][j + 1];
            int gy = -in[i - 1][j - 1] - 2 * in[i - 1][j] - in[i - 1][j + 1] + in[i + 1][j - 1]
                     + 2 * in[i + 1][j] + in[i + 1][j + 1];
            int magnitude = abs(gx) + abs(gy);
            out[i][j] = magnitude > 255 ? 255 : magnitude;
        }
}

void laplacian(int h, int w, const int16_t in[h][w], int16_t out[h][w]) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++)
            out[i][j] = 4 * in[i][j] - in[i - 1][j] - in[i + 1][j] - in[i][j - 1] - in[i][j + 1];
}

void threshold(int h, int w, const uint8_t in[h][w], uint8_t out[h][w], int level) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            if (in[i][j] > level)
                out[i][j] = 255;
            else
                out[i][j] = 0;
}

void invert(int n, const uint8_t *in, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = 255 - in[i];
}

void brighten(int n, uint8_t *pixels, int by) {
    for (int i = 0; i < n; i++) {
        int value = pixels[i] + by;
        if (value < 0) value = 0;
        if (value > 255) value = 255;
        pixels[i] = value;
    }
}

void gray(int n, const uint8_t *r, const uint8_t *g, const uint8_t *b, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = (77 * r[i] + 150 * g[i] + 29 * b[i]) >> 8;
}

void gray_interleaved(int n, const uint8_t *rgb, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}

void alpha_blend(int n, const uint8_t *a, const uint8_t *b, const uint8_t *alpha, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = (a[i] * alpha[i] + b[i] * (255 - alpha[i])) / 255;
}

void downsample(int h, int w, const float in[2 * h][2 * w], float out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            out[i][j] = (in[2 * i][2 * j] + in[2 * i][2 * j + 1] + in[2 * i + 1][2 * j]
                         + in[2 * i + 1][2 * j + 1]) * 0.25f;
}

void every_second(int n, const int *in, int *out) {
    for (int i = 0; i < n; i++)
        out[i] = in[2 * i];
}

void upsample(int n, const float *in, float *out) {
    for (int i = 0; i < n; i++) {
        out[2 * i] = in[i];
        out[2 * i + 1] = in[i];
    }
}

void flip_horizontal(int h, int w, const uint8_t in[h][w], uint8_t out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            out[i][j] = in[i][w - 1 - j];
}

void flip_vertical(int h, int w, const float in[h][w], float out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            out[i][j] = in[h - 1 - i][j];
}

void rotate_90(int n, const uint8_t in[n][n], uint8_t out[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[j][n - 1 - i] = in[i][j];
}

void erode(int h, int w, const uint8_t in[h][w], uint8_t out[h][w]) {
    for (int i = 1; i < h - 1; i++)
        for (int j = 1; j < w - 1; j++) {
            uint8_t least = 255;
            for (int di = -1; di <= 1; di++)
                for (int dj = -1; dj <= 1; dj++)
                    if (in[i + di][j + dj] < least)
                        least = in[i + di][j + dj];
            out[i][j] = least;
        }
}

void median_of_3(int n, const uint8_t *in, uint8_t *out) {
    for (int i = 1; i < n - 1; i++) {
        int a = in[i - 1], b = in[i], c = in[i + 1];
        int low = a < b ? a : b, high = a < b ? b : a;
        int middle = high < c ? high : c;
        out[i] = low > middle ? low : middle;
    }
}

void max_pool(int h, int w, const float in[2 * h][2 * w], float out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            float best = in[2 * i][2 * j];
            for (int di = 0; di < 2; di++)
                for (int dj = 0; dj < 2; dj++)
                    if (in[2 * i + di][2 * j + dj] > best)
                        best = in[2 * i + di][2 * j + dj];
            out[i][j] = best;
        }
}

void difference(int n, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
}

void gamma_table(int n, const uint8_t *in, const uint8_t table[256], uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = table[in[i]];
}

void image_histogram(int n, const uint8_t *pixels, int count[256]) {
    for (int i = 0; i < 256; i++)
        count[i] = 0;
    for (int i = 0; i < n; i++)
        count[pixels[i]]++;
}

void integral_image(int h, int w, const uint8_t in[h][w], int sum[h][w]) {
    for (int i = 0; i < h; i++) {
        int row = 0;
        for (int j = 0; j < w; j++) {
            row += in[i][j];
            sum[i][j] = row + (i > 0 ? sum[i - 1][j] : 0);
        }
    }
}

void checkerboard(int h, int w, uint8_t out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            out[i][j] = ((i / 4 + j / 4) & 1) ? 255 : 0;
}

void vignette(int h, int w, const float in[h][w], float out[h][w]) {
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            float y = i - h / 2, x = j - w / 2;
            out[i][j] = in[i][j] * (1.0f - (x * x + y * y) * 0.001f);
        }
}

void edge_pipeline(int h, int w, const float in[h][w], uint8_t out[h][w]) {
    float blur[h][w], gx[h][w];
    for (int i = 0; i < h; i++)
        for (int j = 1; j < w - 1; j++)
            blur[i][j] = (in[i][j - 1] + in[i][j] + in[i][j + 1]) / 3.0f;
    for (int i = 0; i < h; i++)
        for (int j = 2; j < w - 2; j++)
            gx[i][j] = blur[i][j + 1] - blur[i][j - 1];
    for (int i = 0; i < h; i++)
        for (int j = 2; j < w - 2; j++)
            out[i][j] = fabsf(gx[i][j]) > 0.25f ? 255 : 0;
}

/* Linear algebra. */

void axpy(int n, float a, const float *x, float *y) {
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void scale(int n, float a, float *x) {
    for (int i = 0; i < n; i++)
        x[i] *= a;
}

void dot_int(int n, const int *a, const int *b, int *result) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    *result = sum;
}

void dot_int8(int n, const int8_t *a, const int8_t *b, int result[1]) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    result[0] = sum;
}

void dot_float(int n, const float *a, const float *b, float result[1]) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    result[0] = sum;
}

void gemv_int(int m, int n, const int a[m][n], const int x[n], int y[m]) {
    for (int i = 0; i < m; i++) {
        int sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i][j] * x[j];
        y[i] = sum;
    }
}

void gemv_float(int m, int n, const float a[m][n], const float x[n], float y[m]) {
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i][j] * x[j];
    }
}

void gemv_transposed(int m, int n, const float a[m][n], const float x[m], float y[n]) {
    for (int j = 0; j < n; j++)
        y[j] = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[j] += a[i][j] * x[i];
}

void gemm_float(int m, int n, int p, const float a[m][p], const float b[p][n], float c[m][n]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float t = 0;
            for (int k = 0; k < p; k++)
                t += a[i][k] * b[k][j];
            c[i][j] = t;
        }
}

void gemm_int8(int m, int n, int p, const int8_t a[m][p], const int8_t b[p][n], int c[m][n]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int t = 0;
            for (int k = 0; k < p; k++)
                t += a[i][k] * b[k][j];
            c[i][j] = t;
        }
}

void gemm_int16(int m, int n, int p, const int16_t a[m][p], const int16_t b[p][n], int c[m][n]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] = 0;
            for (int k = 0; k < p; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}

void gemm_transposed(int m, int n, int p, const float a[m][p], const float b[n][p],
                     float c[m][n]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float t = 0;
            for (int k = 0; k < p; k++)
                t += a[i][k] * b[j][k];
            c[i][j] = t;
        }
}

void gemm_flat(int n, const float *a, const float *b, float *c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float t = 0;
            for (int k = 0; k < n; k++)
                t += a[i * n + k] * b[k * n + j];
            c[i * n + j] = t;
        }
}

void outer_product(int m, int n, const int x[m], const int y[n], int a[m][n]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = x[i] * y[j];
}

void transpose(int m, int n, const float a[m][n], float b[n][m]) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[j][i] = a[i][j];
}

void transpose_flat(int m, int n, const int *a, int *b) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            b[j * m + i] = a[i * n + j];
}

void add_transposed(int n, const float a[n][n], float b[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i][j] = 0.5f * (a[i][j] + a[j][i]);
}

void trace(int n, const int a[n][n], int result[1]) {
    int t = 0;
    for (int i = 0; i < n; i++)
        t += a[i][i];
    result[0] = t;
}

void identity(int n, float a[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = i == j ? 1.0f : 0.0f;
}

void lower_triangle(int n, float a[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            a[i][j] = 0.0f;
}

void jacobi(int n, int steps, float a[n], float b[n]) {
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.33333f;
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}

void forward_substitution(int n, const float l[n][n], const float b[n], float x[n]) {
    for (int i = 0; i < n; i++) {
        float t = b[i];
        for (int j = 0; j < i; j++)
            t -= l[i][j] * x[j];
        x[i] = t / l[i][i];
    }
}

void polynomial(int n, const float *x, float *y) {
    static const float c[5] = {0.5f, -1.25f, 2.0f, 0.75f, -0.125f};
    for (int i = 0; i < n; i++) {
        float t = c[4];
        for (int k = 3; k >= 0; k--)
            t = t * x[i] + c[k];
        y[i] = t;
    }
}

void complex_multiply(int n, const float *a, const float *b, float *c) {
    for (int i = 0; i < n; i++) {
        float re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        float im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
        c[2 * i] = re;
        c[2 * i + 1] = im;
    }
}

void reverse(int n, const int *in, int *out) {
    for (int i = 0; i < n; i++)
        out[i] = in[n - 1 - i];
}

/* Statistics. */

void sum_int(int n, const int *a, int *result) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    *result = sum;
}

void sum_bytes(int n, const uint8_t *a, unsigned *result) {
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    *result = sum;
}

void row_sums(int m, int n, const int a[m][n], int sums[m]) {
    for (int i = 0; i < m; i++) {
        int s = 0;
        for (int j = 0; j < n; j++)
            s += a[i][j];
        sums[i] = s;
    }
}

void column_sums(int m, int n, const int16_t a[m][n], int sums[n]) {
    for (int j = 0; j < n; j++) {
        int s = 0;
        for (int i = 0; i < m; i++)
            s += a[i][j];
        sums[j] = s;
    }
}

void prefix_sum(int n, const int *a, int *out) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i];
        out[i] = sum;
    }
}

void maximum(int n, const int *a, int result[1]) {
    int best = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] > best)
            best = a[i];
    result[0] = best;
}

void minimum_short(int n, const int16_t *a, int16_t result[1]) {
    int16_t best = INT16_MAX;
    for (int i = 0; i < n; i++)
        best = a[i] < best ? a[i] : best;
    result[0] = best;
}

void maximum_float(int n, const float *a, float result[1]) {
    float best = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] > best)
            best = a[i];
    result[0] = best;
}

void argmin(int n, const int *a, int result[1]) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (a[i] < a[best])
            best = i;
    result[0] = best;
}

void argmax_rows(int m, int n, const int a[m][n], int result[m]) {
    for (int i = 0; i < m; i++) {
        int best = a[i][0], at = 0;
        for (int j = 1; j < n; j++)
            if (a[i][j] > best) {
                best = a[i][j];
                at = j;
            }
        result[i] = at;
    }
}

void row_maxima(int m, int n, const int a[m][n], int result[m]) {
    for (int i = 0; i < m; i++) {
        int best = INT_MIN;
        for (int j = 0; j < n; j++)
            if (a[i][j] > best)
                best = a[i][j];
        result[i] = best;
    }
}

void mean_and_variance(int n, const float *x, float result[2]) {
    float sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    float mean = sum / n;
    result[0] = mean;
    result[1] = squares / n - mean * mean;
}

void normalise(int n, float mean, float deviation, float *x) {
    for (int i = 0; i < n; i++)
        x[i] = (x[i] - mean) / deviation;
}

void covariance(int n, int m, const float x[n][m], float c[m][m]) {
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            float t = 0;
            for (int k = 0; k < n; k++)
                t += x[k][i] * x[k][j];
            c[i][j] = t;
            c[j][i] = t;
        }
}

void moving_average(int n, const int *in, int *out) {
    for (int i = 0; i < n - 3; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++)
            sum += in[i + k];
        out[i] = sum / 4;
    }
}

void count_positive(int n, const int *a, int result[1]) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            count++;
    result[0] = count;
}

void weighted_index_sum(int n, const int *a, int result[1]) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i * a[i];
    result[0] = sum;
}

void linear_regression(int n, const int *x, const int *y, int sums[4]) {
    int sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
    }
    sums[0] = sx;
    sums[1] = sy;
    sums[2] = sxx;
    sums[3] = sxy;
}

void exponential_average(int n, float alpha, const float *x, float *y) {
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = alpha * x[i] + (1.0f - alpha) * y[i - 1];
}

/* Machine learning. */

void relu(int n, float *x) {
    for (int i = 0; i < n; i++)
        if (x[i] < 0)
            x[i] = 0;
}

void leaky_relu(int n, const float *x, float *y) {
    for (int i = 0; i < n; i++)
        y[i] = x[i] > 0.0f ? x[i] : 0.01f * x[i];
}

void relu_backward(int n, const float *x, const float *dy, float *dx) {
    for (int i = 0; i < n; i++)
        dx[i] = x[i] > 0.0f ? dy[i] : 0.0f;
}

void hard_sigmoid(int n, const float *x, float *y) {
    for (int i = 0; i < n; i++) {
        float t = 0.2f * x[i] + 0.5f;
        y[i] = fminf(fmaxf(t, 0.0f), 1.0f);
    }
}

void sigmoid(int n, const float *x, float *y) {
    for (int i = 0; i < n; i++)
        y[i] = 1.0f / (1.0f + expf(-x[i]));
}

void softmax(int n, const float *x, float *y) {
    float most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > most)
            most = x[i];
    for (int i = 0; i < n; i++) {
        y[i] = expf(x[i] - most);
        sum += y[i];
    }
    for (int i = 0; i < n; i++)
        y[i] = y[i] / sum;
}

void batch_norm(int n, int c, float x[n][c], const float scale[c], const float shift[c]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < c; j++)
            x[i][j] = x[i][j] * scale[j] + shift[j];
}

void dense_relu(int in, int out, const float w[out][in], const float b[out], const float x[in],
                float y[out]) {
    for (int o = 0; o < out; o++) {
        float sum = b[o];
        for (int i = 0; i < in; i++)
            sum += w[o][i] * x[i];
        y[o] = sum > 0 ? sum : 0;
    }
}

void conv1d(int n, const float x[n + 4], const float w[5], float y[n]) {
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < 5; k++)
            sum += w[k] * x[i + k];
        y[i] = sum;
    }
}

void conv2d_channels(int c, int h, int w, const int8_t x[c][h][w], const int8_t k[c][3][3],
                     int y[h][w]) {
    for (int i = 0; i < h - 2; i++)
        for (int j = 0; j < w - 2; j++) {
            int sum = 0;
            for (int ch = 0; ch < c; ch++)
                for (int di = 0; di < 3; di++)
                    for (int dj = 0; dj < 3; dj++)
                        sum += x[ch][i + di][j + dj] * k[ch][di][dj];
            y[i][j] = sum;
        }
}

void quantise(int n, const float *x, int8_t *q, float scale) {
    for (int i = 0; i < n; i++) {
        float t = x[i] * scale;
        if (t > 127.0f) t = 127.0f;
        if (t < -128.0f) t = -128.0f;
        q[i] = (int8_t)t;
    }
}

void requantise(int n, const int *acc, int8_t *q, int multiplier) {
    for (int i = 0; i < n; i++) {
        int t = (acc[i] * multiplier + (1 << 7)) >> 8;
        q[i] = t > 127 ? 127 : t < -128 ? -128 : t;
    }
}

void squared_distances(int n, int d, const float x[n][d], const float centre[d], float out[n]) {
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k < d; k++) {
            float diff = x[i][k] - centre[k];
            sum += diff * diff;
        }
        out[i] = sum;
    }
}

void knn_l1(int n, int d, const uint8_t x[n][d], const uint8_t query[d], int distance[n]) {
    for (int i = 0; i < n; i++) {
        distance[i] = 0;
        for (int k = 0; k < d; k++)
            distance[i] += abs(x[i][k] - query[k]);
    }
}

void knn_nearest(int n, const int *x, const int *y, int qx, int qy, int nearest[1]) {
    int best = INT_MAX, at = -1;
    for (int i = 0; i < n; i++) {
        int dx = x[i] - qx, dy = y[i] - qy;
        int d = dx * dx + dy * dy;
        if (d < best) {
            best = d;
            at = i;
        }
    }
    nearest[0] = at;
}

void sgd_momentum(int n, float rate, float momentum, const float *g, float *v, float *w) {
    for (int i = 0; i < n; i++) {
        v[i] = momentum * v[i] - rate * g[i];
        w[i] += v[i];
    }
}

void rms_norm(int n, const float *x, float *y) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    float root = sqrtf(sum / n + 1e-5f);
    for (int i = 0; i < n; i++)
        y[i] = x[i] / root;
}

void euclidean(int n, const float *x, const float *y, float *r) {
    for (int i = 0; i < n; i++)
        r[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}

/* Cryptography and bits. */

void xor_cipher(int n, const uint8_t *in, const uint8_t *key, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = in[i] ^ key[i];
}

void rotate_words(int n, uint32_t *x) {
    for (int i = 0; i < n; i++)
        x[i] = (x[i] << 7) | (x[i] >> 25);
}

void rotate_by(int n, const uint32_t *x, const uint32_t *by, uint32_t *out) {
    for (int i = 0; i < n; i++) {
        uint32_t r = by[i] & 31;
        out[i] = (x[i] << r) | (x[i] >> ((32 - r) & 31));
    }
}

void popcount_builtin(int n, const uint32_t *x, int *count) {
    for (int i = 0; i < n; i++)
        count[i] = __builtin_popcount(x[i]);
}

void popcount_by_hand(int n, const uint32_t *x, uint8_t *count) {
    for (int i = 0; i < n; i++) {
        uint32_t v = x[i];
        v = v - ((v >> 1) & 0x55555555);
        v = (v & 0x33333333) + ((v >> 2) & 0x33333333);
        v = (v + (v >> 4)) & 0x0f0f0f0f;
        count[i] = (v * 0x01010101) >> 24;
    }
}

void popcount_loop(int n, const uint8_t *x, int *count) {
    for (int i = 0; i < n; i++) {
        int c = 0;
        for (int b = 0; b < 8; b++)
            c += (x[i] >> b) & 1;
        count[i] = c;
    }
}

void quarter_rounds(int n, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d) {
    for (int i = 0; i < n; i++) {
        a[i] += b[i];
        d[i] ^= a[i];
        d[i] = (d[i] << 16) | (d[i] >> 16);
        c[i] += d[i];
        b[i] ^= c[i];
        b[i] = (b[i] << 12) | (b[i] >> 20);
    }
}

void xtime(int n, const uint8_t *in, uint8_t *out) {
    for (int i = 0; i < n; i++)
        out[i] = (in[i] << 1) ^ ((in[i] & 0x80) ? 0x1b : 0);
}

void hash_words(int n, const uint32_t *in, uint32_t *out) {
    for (int i = 0; i < n; i++) {
        uint32_t h = in[i];
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        out[i] = h;
    }
}

void checksum(int n, const uint8_t *in, uint32_t result[1]) {
    uint32_t x = 0;
    for (int i = 0; i < n; i++)
        x ^= in[i];
    result[0] = x;
}

void hamming_distance(int n, const uint32_t *a, const uint32_t *b, int result[1]) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += __builtin_popcount(a[i] ^ b[i]);
    result[0] = sum;
}

/* Databases and graphs. */

void filter_range(int n, const int *key, int low, int high, uint8_t *match) {
    for (int i = 0; i < n; i++)
        match[i] = key[i] >= low && key[i] <= high;
}

void sum_where(int n, const int *key, const int *value, int wanted, int result[1]) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (key[i] == wanted)
            sum += value[i];
    result[0] = sum;
}

void gather(int n, int m, const int *index, const int *table, int *out) {
    for (int i = 0; i < n; i++)
        out[i] = table[index[i] & 15];
}

void triangle_count(int n, const uint8_t a[n][n], int result[1]) {
    int count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < j; k++)
                count += a[i][j] & a[j][k] & a[i][k];
    result[0] = count;
}

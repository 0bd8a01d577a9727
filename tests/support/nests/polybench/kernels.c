// PolyBench's kernels in C, for what gcc makes of them: sizes first, then scalars and arrays in the
// order of their nests.

#include <math.h>

void kernel_correlation(int n, int m, float data[n][m], float mean[m], float stddev[m],
                        float corr[m][m]) {
  for (int j = 0; j < m; ++j) {
    mean[j] = 0.0f;
    for (int i = 0; i < n; ++i) mean[j] += data[i][j];
    mean[j] /= (float)n;
  }
  for (int j = 0; j < m; ++j) {
    stddev[j] = 0.0f;
    for (int i = 0; i < n; ++i) {
      float off = data[i][j] - mean[j];
      stddev[j] += off * off;
    }
    stddev[j] = sqrtf(stddev[j] / (float)n);
    if (stddev[j] <= 0.1f) stddev[j] = 1.0f;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) data[i][j] = (data[i][j] - mean[j]) / (sqrtf((float)n) * stddev[j]);
  for (int i = 0; i < m; ++i)
    for (int j = i; j < m; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < n; ++k) sum += data[k][i] * data[k][j];
      corr[i][j] = corr[j][i] = i == j ? 1.0f : sum;
    }
}

void kernel_covariance(int n, int m, float data[n][m], float mean[m], float cov[m][m]) {
  for (int j = 0; j < m; ++j) {
    mean[j] = 0.0f;
    for (int i = 0; i < n; ++i) mean[j] += data[i][j];
    mean[j] /= (float)n;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) data[i][j] -= mean[j];
  for (int i = 0; i < m; ++i)
    for (int j = i; j < m; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < n; ++k) sum += data[k][i] * data[k][j];
      cov[i][j] = cov[j][i] = sum / ((float)n - 1.0f);
    }
}

void kernel_gemm(int n, int m, int p, float alpha, float beta, float c[n][m], float a[n][p],
                 float b[p][m]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      float sum = c[i][j] * beta;
      for (int k = 0; k < p; ++k) sum += alpha * a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

void kernel_gemver(int n, float alpha, float beta, float a[n][n], float u1[n], float v1[n],
                   float u2[n], float v2[n], float w[n], float x[n], float y[n], float z[n]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] += u1[i] * v1[j], a[i][j] += u2[i] * v2[j];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) x[i] += beta * a[j][i] * y[j];
    x[i] += z[i];
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) w[i] += alpha * a[i][j] * x[j];
}

void kernel_gesummv(int n, float alpha, float beta, float a[n][n], float b[n][n], float tmp[n],
                    float x[n], float y[n]) {
  for (int i = 0; i < n; ++i) {
    float other = tmp[i] = 0.0f;
    for (int j = 0; j < n; ++j) {
      tmp[i] += a[i][j] * x[j];
      other += b[i][j] * x[j];
    }
    y[i] = alpha * tmp[i] + beta * other;
  }
}

void kernel_symm(int n, int m, float alpha, float beta, float c[n][m], float a[n][n],
                 float b[n][m]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      float held = 0.0f;
      for (int k = 0; k < i; ++k) {
        c[k][j] += alpha * b[i][j] * a[i][k];
        held += b[k][j] * a[i][k];
      }
      c[i][j] = beta * c[i][j] + alpha * b[i][j] * a[i][i] + alpha * held;
    }
}

void kernel_syr2k(int n, int m, float alpha, float beta, float c[n][n], float a[n][m],
                  float b[n][m]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      c[i][j] *= beta;
      for (int k = 0; k < m; ++k) c[i][j] += a[j][k] * alpha * b[i][k] + b[j][k] * alpha * a[i][k];
    }
}

void kernel_syrk(int n, int m, float alpha, float beta, float c[n][n], float a[n][m]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      c[i][j] *= beta;
      for (int k = 0; k < m; ++k) c[i][j] += alpha * a[i][k] * a[j][k];
    }
}

void kernel_trmm(int n, int m, float alpha, float a[n][n], float b[n][m]) {
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < n; ++i) {
      float sum = b[i][j];
      for (int k = i + 1; k < n; ++k) sum += a[k][i] * b[k][j];
      b[i][j] = alpha * sum;
    }
}

void kernel_2mm(int n, int m, int p, int q, float alpha, float beta, float tmp[n][m], float a[n][p],
                float b[p][m], float c[m][q], float d[n][q]) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      tmp[i][j] = 0.0f;
      for (int k = 0; k < p; ++k) tmp[i][j] += alpha * a[i][k] * b[k][j];
    }
    for (int j = 0; j < q; ++j) {
      d[i][j] *= beta;
      for (int k = 0; k < m; ++k) d[i][j] += tmp[i][k] * c[k][j];
    }
  }
}

static void product(int n, int m, int p, float c[n][m], float a[n][p], float b[p][m]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      c[i][j] = 0.0f;
      for (int k = 0; k < p; ++k) c[i][j] += a[i][k] * b[k][j];
    }
}

void kernel_3mm(int n, int m, int p, int q, int r, float e[n][m], float a[n][p], float b[p][m],
                float f[m][q], float c[m][r], float d[r][q], float g[n][q]) {
  product(n, m, p, e, a, b);
  product(m, q, r, f, c, d);
  product(n, q, m, g, e, f);
}

void kernel_atax(int n, int m, float a[n][m], float x[m], float y[m], float tmp[n]) {
  for (int i = 0; i < n; ++i) {
    tmp[i] = 0.0f;
    for (int j = 0; j < m; ++j) tmp[i] += a[i][j] * x[j];
  }
  for (int j = 0; j < m; ++j) {
    y[j] = 0.0f;
    for (int i = 0; i < n; ++i) y[j] += a[i][j] * tmp[i];
  }
}

void kernel_bicg(int n, int m, float a[n][m], float s[m], float q[n], float p[m], float r[n]) {
  for (int i = 0; i < n; ++i) {
    q[i] = 0.0f;
    for (int j = 0; j < m; ++j) q[i] += a[i][j] * p[j];
  }
  for (int j = 0; j < m; ++j) {
    s[j] = 0.0f;
    for (int i = 0; i < n; ++i) s[j] += r[i] * a[i][j];
  }
}

void kernel_doitgen(int r, int q, int p, float a[r][q][p], float c4[p][p], float total[p]) {
  for (int i = 0; i < r; ++i)
    for (int j = 0; j < q; ++j) {
      for (int k = 0; k < p; ++k) {
        total[k] = 0.0f;
        for (int s = 0; s < p; ++s) total[k] += a[i][j][s] * c4[s][k];
      }
      for (int k = 0; k < p; ++k) a[i][j][k] = total[k];
    }
}

void kernel_mvt(int n, float x1[n], float x2[n], float y1[n], float y2[n], float a[n][n]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      x1[i] += a[i][j] * y1[j];
      x2[i] += a[j][i] * y2[j];
    }
}

void kernel_cholesky(int n, float a[n][n]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      float sum = a[i][j];
      for (int k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? sqrtf(sum) : sum / a[j][j];
    }
}

void kernel_durbin(int n, float r[n], float y[n], float z[n]) {
  float alpha = -r[0], beta = 1.0f;
  y[0] = alpha;
  for (int k = 1; k < n; ++k) {
    float sum = 0.0f;
    beta *= 1.0f - alpha * alpha;
    for (int i = 0; i < k; ++i) sum += r[k - 1 - i] * y[i];
    alpha = -(r[k] + sum) / beta;
    for (int i = 0; i < k; ++i) z[i] = y[i] + alpha * y[k - 1 - i];
    for (int i = 0; i < k; ++i) y[i] = z[i];
    y[k] = alpha;
  }
}

void kernel_gramschmidt(int n, int m, float a[n][m], float r[m][m], float q[n][m]) {
  for (int k = 0; k < m; ++k) {
    float norm = 0.0f;
    for (int i = 0; i < n; ++i) norm += a[i][k] * a[i][k];
    r[k][k] = sqrtf(norm);
    for (int i = 0; i < n; ++i) q[i][k] = a[i][k] / r[k][k];
    for (int j = k + 1; j < m; ++j) {
      float sum = 0.0f;
      for (int i = 0; i < n; ++i) sum += q[i][k] * a[i][j];
      for (int i = 0; i < n; ++i) a[i][j] -= q[i][k] * sum;
      r[k][j] = sum;
    }
  }
}

void kernel_lu(int n, float a[n][n]) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = a[i][j];
      for (int k = 0; k < (i < j ? i : j); ++k) sum -= a[i][k] * a[k][j];
      a[i][j] = j < i ? sum / a[j][j] : sum;
    }
}

void kernel_trisolv(int n, float a[n][n], float x[n], float b[n]) {
  for (int i = 0; i < n; ++i) {
    float sum = b[i];
    for (int j = 0; j < i; ++j) sum -= a[i][j] * x[j];
    x[i] = sum / a[i][i];
  }
}

void kernel_floyd_warshall(int n, float path[n][n]) {
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (path[i][k] + path[k][j] <= path[i][j]) path[i][j] = path[i][k] + path[k][j];
}

void kernel_fdtd_2d(int n, int m, int steps, float ex[n][m], float ey[n][m], float hz[n][m],
                    float fict[steps]) {
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j)
        ey[i][j] = i == 0 ? fict[t] : ey[i][j] - 0.5f * (hz[i][j] - hz[i - 1][j]);
    for (int i = 0; i < n; ++i)
      for (int j = 1; j < m; ++j) ex[i][j] -= 0.5f * (hz[i][j] - hz[i][j - 1]);
    for (int i = 0; i + 1 < n; ++i)
      for (int j = 0; j + 1 < m; ++j)
        hz[i][j] -= 0.7f * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
  }
}

static void heat(int n, float to[n][n][n], float from[n][n][n]) {
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j)
      for (int k = 1; k < n - 1; ++k) {
        float here = 2.0f * from[i][j][k];
        to[i][j][k] = 0.125f * (from[i + 1][j][k] - here + from[i - 1][j][k]) +
                      0.125f * (from[i][j + 1][k] - here + from[i][j - 1][k]) +
                      0.125f * (from[i][j][k + 1] - here + from[i][j][k - 1]) + from[i][j][k];
      }
}

void kernel_heat_3d(int n, int steps, float a[n][n][n], float b[n][n][n]) {
  for (int t = 0; t < steps; ++t) heat(n, b, a), heat(n, a, b);
}

static void jacobi(int n, float to[n], float from[n]) {
  for (int i = 1; i < n - 1; ++i) to[i] = 0.33333f * (from[i - 1] + from[i] + from[i + 1]);
}

void kernel_jacobi_1d(int n, int steps, float a[n], float b[n]) {
  for (int t = 0; t < steps; ++t) jacobi(n, b, a), jacobi(n, a, b);
}

static void jacobi_of_rows(int n, float to[n][n], float from[n][n]) {
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j)
      to[i][j] = 0.2f * (from[i][j] + from[i][j - 1] + from[i][j + 1] + from[i + 1][j] +
                         from[i - 1][j]);
}

void kernel_jacobi_2d(int n, int steps, float a[n][n], float b[n][n]) {
  for (int t = 0; t < steps; ++t) jacobi_of_rows(n, b, a), jacobi_of_rows(n, a, b);
}

void kernel_seidel_2d(int n, int steps, float a[n][n]) {
  for (int t = 0; t < steps; ++t)
    for (int i = 1; i < n - 1; ++i)
      for (int j = 1; j < n - 1; ++j) {
        float sum = 0.0f;
        for (int y = i - 1; y <= i + 1; ++y)
          for (int x = j - 1; x <= j + 1; ++x) sum += a[y][x];
        a[i][j] = sum / 9.0f;
      }
}

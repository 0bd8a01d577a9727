"""Kernels of C as files have them, by the names of their functions."""

from __future__ import annotations

KERNELS: dict[str, str] = {}

PLACES_OF: dict[str, str] = {}
"""Where in-SRAM computing takes each: of ``memory``, ``near``, ``core`` and ``auto``."""


def _kernel(name: str, text: str, places: str) -> None:
    KERNELS[name], PLACES_OF[name] = text, places


_kernel(
    "down",
    """
void down(int n, float L[n][n], float x[n], const float b[n]) {
  for (int i = n - 1; i >= 0; i--) {
    x[i] = b[i];
    for (int j = i + 1; j < n; j++) x[i] -= L[j][i] * x[j];
    x[i] = x[i] / L[i][i];
  }
}
""",
    "core auto",
)
_kernel(
    "edges",
    """
#include <limits.h>
void edges(int n, int s, int a[n], int b[n]) {
  int most = INT_MAX, least = INT_MIN;
  for (int i = INT_MAX; i > INT_MAX - 3; i--) { if (n > 0) a[0] = a[0] + (i - INT_MAX); }
  for (int i = most; i >= 2147483640; i -= 4) { if (n > 1) a[1] = a[1] + (i - INT_MAX); }
  for (int i = n; i > 0; i--) b[i - 1] = a[i - 1] + i;
  for (int i = n - 1; i > most; i--) b[i] = 7;
  for (int i = least + 2; i > least; i--) { if (n > 2) a[2] = a[2] + (i - INT_MIN); }
  for (int i = s; i > s; i--) b[0] = 9;
}
""",
    "core auto",
)
_kernel(
    "strides",
    """
#include <stddef.h>
void strides(int n, int t, int a[n], int b[n]) {
  int i;
  for (i = n - 1; i > 0; i -= 3) b[i] = a[i - 1] + i;
  for (i = 0; i < n; i += 2) a[i] = b[i] - t;
  for (int k = n - 2; 1 <= k; --k) a[k] = a[k + 1] + a[k - 1];
  for (int k = 0; k + 2 < n; k++) { int x = b[k + 2] = a[k], y = x += 2; b[k] ^= y; }
  for (size_t k = 1; k + 1 < n; k++) b[k - 1] -= a[k + 1];
  int m = 3;
  for (int k = m; k > -2; k = k - 2) { m = k; if (k >= 0 && k < n) b[k] = m; }
}
""",
    "core auto",
)
_kernel(
    "blur",
    """
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static const float W[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
enum { LEFT = -1, RIGHT = 1, BITS = LEFT + 5 };
const float scale = 1.0f / BITS;
void blur(int h, int w, float in[h][w], float out[h][w]) {
  float tmp[h][w];
  for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) tmp[i][j] = MAX(in[i][j], 0.0f);
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      float s = 0;
      for (int di = LEFT; di <= RIGHT; di++)
        for (int dj = -1; dj <= 1; dj++) s += W[di + 1][dj + 1] * tmp[i + di][j + dj];
      out[i][j] = s * scale;
    }
}
""",
    "memory near core auto",
)
_kernel(
    "tables",
    """
#include <stdint.h>
static const uint8_t gamma_of[8] = {0, 3, 9, 27, 81, 100, 200, 255};
void tables(int n, const uint8_t a[n], uint8_t b[n], int c[n]) {
  const int odd[] = {1, 3, 5, 7};
  int count[4] = {0};
  for (int i = 0; i < n; i++) {
    int acc[2] = {a[i], 1};
    b[i] = gamma_of[a[i] % 8];
    count[a[i] % 4]++;
    for (int k = 0; k < 4; k++) acc[k % 2] += odd[k];
    c[i] = acc[0] - acc[1];
  }
  for (int i = 0; i < n; i++) c[i] += count[i % 4];
}
""",
    "core auto",
)
_kernel(
    "helpers",
    """
#include <math.h>
static inline float sq(float x) { return x * x; }
static float clampf(float x, float lo, float hi) {
  if (x < lo) return lo;
  if (x > hi) return hi;
  return x;
}
static int sign_of(int x) { int s = 0; if (x > 0) s = 1; else if (x < 0) s = -1; return s; }
float norm(float x, float y) { float s = sq(x); s += sq(y); return sqrtf(s); }
static float pick(int n, const float v[n], int i) { return i < n ? v[i] : 0.0f; }
void helpers(int n, const float a[n], const float b[n], const int k[n], float x[n], int y[n]) {
  for (int i = 0; i < n; i++) {
    x[i] = norm(a[i], clampf(b[i], -1, 0.5)) + pick(n, a, i + 1);
    y[i] = sign_of(k[i]) * 3 + (int)sq(2);
  }
}
""",
    "core auto",
)
_kernel(
    "pointers",
    """
typedef float real;
static void scaled(int count, real by, const real *v, real *w) {
  for (int i = 0; i < count; i++) w[i] = by * v[i];
}
void pointers(int n, real a, const real *restrict x, real *__restrict y, real *z) {
  real own[n + 2];
  own[n + 1] = own[n] = 0.25;
  scaled(n, a, x, own);
  for (int i = 1; i < n - 1; ++i) y[i] = own[i] + y[i] - x[i + 1] * 0.1;
  for (int i = 0; i < n; i++) z[i] = own[i + 2];
}
""",
    "memory near core auto",
)
_kernel(
    "sized",
    """
#include <stddef.h>
typedef unsigned char byte;
void sized(size_t n, const byte *a, char *b, int *c) {
  for (size_t i = 0; i < n; i++) {
    b[i] = c[i] = a[n - 1 - i] + 200;
    if (i + 1 < n) c[i] += (int)(i * 3 - 7);
  }
  for (size_t i = n; i > 0; i--) b[i - 1] = (char)(b[i - 1] / 3);
}
""",
    "memory core auto",
)
_kernel(
    "called",
    """
static void smooth(int n, const float a[n], float b[n]) {
  float t[n];
  for (int i = 0; i < n; i++) t[i] = a[i] + 1.5;
  for (int i = n - 2; i >= 0; i--) b[i] = t[i] * t[i + 1];
}
void called(int n, float a[n], float b[n]) {
  float t[n];
  for (int i = 0; i < n; i++) t[i] = 2 * a[i];
  smooth(n, t, b);
  smooth(n, b, t);
  for (int i = 0; i < n; i++) { float t2[2]; t2[0] = t[i]; t2[1] = -t2[0]; b[i] = t2[1]; }
  for (int i = 0; i < n; i++) { int t2[1]; t2[0] = i; a[i] = t2[0]; }
  for (int k = 0; k < n; k++) { int i = 2 * k; float t2 = i; b[k] += t2; }
  for (int k = 0; k < n; k++) { int t2 = k + 120, i[2]; i[0] = t2; b[k] *= i[0]; }
}
""",
    "memory core auto",
)

_kernel(
    "product",
    """
void product(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      c[i][j] = 0;
      for (int k = 0; k < p; k++) c[i][j] += a[i][k] * b[k][j];
    }
}
""",
    "memory near core auto",
)
_kernel(
    "scaled_product",
    """
void scaled_product(int n, int m, int p, const float a[n][p], const float b[p][m],
                    float c[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float t = 1;
      for (int k = 0; k < p; k++) t += a[i][k] * b[k][j];
      c[i][j] = t * 0.5f;
    }
}
""",
    "memory near core auto",
)
_kernel(
    "whole_product",
    """
void whole_product(int n, int m, int p, const int a[n][p], const int b[p][m], int c[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int t = 0;
      for (int k = 0; k < p; k++) t = t + a[i][k] * b[k][j];
      c[i][j] = t;
    }
}
""",
    "memory near core auto",
)
_kernel(
    "bytes",
    """
#include <stdint.h>
void bytes(int n, int m, int p, const int8_t a[n][p], const int8_t b[p][m], int8_t c[n][m],
           int16_t d[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int t = 0;
      for (int k = 0; k < p; k++) t += a[i][k] * b[k][j];
      c[i][j] = t;
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      d[i][j] = 3;
      for (int k = 0; k < p; k++) d[i][j] -= a[i][k] * b[k][j];
    }
}
""",
    "memory core auto",
)

_kernel(
    "turned",
    """
void turned(int n, int m, const int a[n][m], int b[n][m], float x[n], const float y[n]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = m - 1; j >= 0; j--) b[i][j] = a[i][j] * 2 + b[i][j];
  for (int i = n - 2; i > 0; i--) x[i] = y[i + 1] - y[i - 1];
}
""",
    "memory near core auto",
)
_kernel(
    "in_order",
    """
void in_order(int n, const int a[n], int b[n], int c[n], float s[1], const float x[n]) {
  for (int i = n - 2; i >= 0; i--) b[i] = b[i + 1] + a[i];
  for (int i = n - 1; i > 0; i--) c[i] = c[i - 1] - a[i];
  for (int i = n - 1; i >= 0; i--) s[0] += x[i];
  for (int i = n - 1; i >= 0; i--) c[0] = a[i];
  for (int i = n - 1; i > 0; i--) { c[i] = a[i - 1]; c[i - 1] = a[i]; }
}
""",
    "memory core auto",
)
_kernel(
    "extremes",
    """
#include <stdint.h>
void extremes(int n, int m, const int a[n], const int8_t b[n], const int c[n][m], int r[2],
              int8_t q[1], int d[n][m]) {
  for (int i = 0; i < n; i++) r[0] = r[0] < a[i] ? r[0] : a[i];
  for (int i = 0; i < n; i++) r[1] = a[i] >= r[1] ? a[i] : r[1];
  for (int i = 0; i < n; i++) q[0] = b[i] > q[0] ? b[i] : q[0];
  for (int k = 0; k < n; k++) for (int j = 0; j < m; j++)
    d[0][j] = d[0][j] > c[k][j] ? c[k][j] : d[0][j];
}
""",
    "memory core auto",
)

_kernel(
    "bits",
    """
void bits(int n, unsigned w, const int a[n], const int b[n], int c[n], const unsigned u[n],
          unsigned v[n], int r[1]) {
  for (int i = 0; i < n; i++) c[i] = ((a[i] & 0xff) | (b[i] << 3)) ^ ~a[i];
  for (int i = 0; i < n; i++) v[i] = (u[i] & ~w) ^ (u[i] >> 5) | 0x80000000;
  for (int i = 0; i < n; i++) { c[i] &= b[i]; c[i] |= 1; c[i] ^= a[i] & -2; }
  for (int i = 0; i < n; i++) r[0] += (a[i] & 7) == 3 | b[i] > 0;
}
""",
    "memory near core auto",
)
_kernel(
    "words",
    """
void words(int n, const int a[n], const int b[n], int c[n], int d[n]) {
  for (int i = 0; i < n; i++) c[i] = ((a[i] & 255) | (b[i] << 3)) ^ ~a[i];
  for (int i = 1; i < n; i++) d[i] = (d[i - 1] ^ a[i]) & b[i];
  for (int i = 0; i < n; i++) if ((a[i] & 1) && (b[i] | 2) > 5) d[i] = i ^ 3;
}
""",
    "memory near core auto",
)
_kernel(
    "octets",
    """
#include <stdint.h>
void octets(int n, const uint8_t a[n], const int8_t b[n], uint8_t c[n], int16_t d[n]) {
  for (int i = 0; i < n; i++) c[i] = a[i] & 0x0f | b[i] << 4;
  for (int i = 0; i < n; i++) d[i] = a[i] ^ b[i];
  for (int i = 0; i < n; i++) c[i] ^= ~b[i];
}
""",
    "memory core auto",
)
_kernel(
    "elements",
    """
#include <stdint.h>
void elements(int n, const int8_t *a, const unsigned *u, int *least, int *count, unsigned *bits,
              int *where) {
  int s = 0, low = 127;
  for (int i = 0; i < n; i++) if (a[i] > 3) s += a[i]; else if (a[i] < -3) s += 2;
  for (int i = 0; i < n; i++) if (low > *(a + i)) low = *(a + i);
  *least = low;
  *count = s + *count;
  for (int i = 0; i < n; i++) bits[i] = __builtin_popcount(u[i]) + (u[i] >> (a[i] & 31));
  for (int i = 0; i < n; i++) where[i] = (i ^ 3) << (n - i & 7);
}
""",
    "memory core auto",
)

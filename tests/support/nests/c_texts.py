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
    "strides",
    """
void strides(int n, int t, int a[n], int b[n]) {
  int i;
  for (i = n - 1; i > 0; i -= 3) b[i] = a[i - 1] + i;
  for (i = 0; i < n; i += 2) a[i] = b[i] - t;
  for (int k = n - 2; 1 <= k; --k) a[k] = a[k + 1] + a[k - 1];
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
    "",
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
    "",
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
}
""",
    "core auto",
)

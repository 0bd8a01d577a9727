/* A stencil of three points on a vector, there and back in each step. */

#define C0 0.25f
#define C1 0.5f

void stencil1d(int n, float a[n], float b[n], int steps) {
    for (int _step = 0; _step < steps; _step++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = C0 * a[i - 1] + C1 * a[i] + C0 * a[i + 1];
        for (int i = 1; i < n - 1; i++)
            a[i] = C0 * b[i - 1] + C1 * b[i] + C0 * b[i + 1];
    }
}

/* Gaussian elimination without pivoting: the upper triangle of a, and b to match. */

void gauss_elim(int n, float a[n][n], float b[n][1], float m[n][1]) {
    for (int k = 0; k < n - 1; k++) {
        for (int i = k + 1; i < n; i++)
            m[i][0] = a[i][k] / a[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                a[i][j] -= m[i][0] * a[k][j];
        for (int i = k + 1; i < n; i++)
            b[i][0] -= m[i][0] * b[k][0];
    }
}

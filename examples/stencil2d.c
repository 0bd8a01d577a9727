/* A stencil of five points on a matrix, there and back in each step. */

#define C0 0.125f
#define C1 0.5f

void stencil2d(int rows, int columns, float a[rows][columns], float b[rows][columns], int steps) {
    for (int _step = 0; _step < steps; _step++) {
        for (int i = 1; i < rows - 1; i++)
            for (int j = 1; j < columns - 1; j++) {
                float around = a[i - 1][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j];
                b[i][j] = C1 * a[i][j] + C0 * around;
            }
        for (int i = 1; i < rows - 1; i++)
            for (int j = 1; j < columns - 1; j++) {
                float around = b[i - 1][j] + b[i][j - 1] + b[i][j + 1] + b[i + 1][j];
                a[i][j] = C1 * b[i][j] + C0 * around;
            }
    }
}

/* A convolution of a matrix with a kernel of 3 x 3 that is the same on both sides. */

void conv2d(int rows, int columns, const float a[rows][columns], float b[rows][columns],
            float corner, float edge, float middle) {
    for (int i = 1; i < rows - 1; i++)
        for (int j = 1; j < columns - 1; j++)
            b[i][j] = corner * a[i - 1][j - 1] + edge * a[i - 1][j] + corner * a[i - 1][j + 1]
                      + edge * a[i][j - 1] + middle * a[i][j] + edge * a[i][j + 1]
                      + corner * a[i + 1][j - 1] + edge * a[i + 1][j] + corner * a[i + 1][j + 1];
}

/* A matrix times a vector. */
void gemv(int rows, int columns, const int a[rows][columns], const int x[columns], int y[rows]) {
    for (int i = 0; i < rows; i++) {
        int sum = 0;
        for (int j = 0; j < columns; j++)
            sum += a[i][j] * x[j];
        y[i] = sum;
    }
}

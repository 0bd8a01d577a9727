/* A matrix times a matrix. */
void gemm(int rows, int inner, int columns, const int a[rows][inner], const int b[inner][columns],
          int c[rows][columns]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            c[i][j] = 0;
            for (int k = 0; k < inner; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}

/* The product of two matrices as a sum of outer products. */

void mm(int rows, int inner, int columns, const float a[rows][inner], const float b[inner][columns],
        float c[rows][columns]) {
    for (int k = 0; k < inner; k++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                c[i][j] += a[i][k] * b[k][j];
}

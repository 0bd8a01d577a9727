/* A vector times a number, added to another. */
void axpy(int n, int a, const int x[n], int y[n]) {
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

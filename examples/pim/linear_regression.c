/* The sums that a line through points is made of. */
enum { X, Y, XX, XY, SUMS };

void linear_regression(int n, const int x[n], const int y[n], int sum[SUMS]) {
    sum[X] = sum[Y] = sum[XX] = sum[XY] = 0;
    for (int i = 0; i < n; i++) {
        sum[X] += x[i];
        sum[Y] += y[i];
        sum[XX] += x[i] * x[i];
        sum[XY] += x[i] * y[i];
    }
}

/* The distance of two vectors by the sum of absolute differences. */
static inline int difference(int a, int b) { return a < b ? b - a : a - b; }

void vector_difference(int n, const int a[n], const int b[n], int sum[1]) {
    sum[0] = 0;
    for (int i = 0; i < n; i++)
        sum[0] += difference(a[i], b[i]);
}

/* The sum of a vector. */

void array_sum(int n, const float a[n], float total[1]) {
    for (int i = 0; i < n; i++)
        total[0] += a[i];
}

/* Sums of all elements up to each one: every iteration needs the one before it. */

void scan(int n, float a[n]) {
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
}

/* How often each of 256 values is there. */
#define BINS 256

void histogram(int n, const int value[n], int count[BINS]) {
    for (int bin = 0; bin < BINS; bin++)
        count[bin] = 0;
    for (int i = 0; i < n; i++)
        count[value[i] & (BINS - 1)] += 1;
}

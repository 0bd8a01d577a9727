/* Which keys are below a limit, and how many. */
void filter_by_key(int n, int limit, const int key[n], int chosen[n], int count[1]) {
    count[0] = 0;
    for (int i = 0; i < n; i++)
        chosen[i] = key[i] < limit;
    for (int i = 0; i < n; i++)
        count[0] += chosen[i];
}

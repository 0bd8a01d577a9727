/* The nearest of some centres for each point of the plane. */
void kmeans(int points, int centres, const int x[points], const int y[points],
            const int cx[centres], const int cy[centres], int nearest[points]) {
    for (int i = 0; i < points; i++) {
        int best = 2147483647;
        for (int k = 0; k < centres; k++) {
            int dx = x[i] - cx[k], dy = y[i] - cy[k], distance = dx * dx + dy * dy;
            if (distance < best) {
                best = distance;
                nearest[i] = k;
            }
        }
    }
}

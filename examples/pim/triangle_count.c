/* Triangles of a graph without directions, each six times: adjacency has 0 and 1. */
void triangle_count(int nodes, const int adjacency[nodes][nodes], int paths[nodes][nodes],
                    int count[1]) {
    for (int i = 0; i < nodes; i++)
        for (int j = 0; j < nodes; j++) {
            int through = 0;
            for (int k = 0; k < nodes; k++)
                through += adjacency[i][k] & adjacency[k][j];
            paths[i][j] = through * adjacency[i][j];
        }
    count[0] = 0;
    for (int i = 0; i < nodes; i++)
        for (int j = 0; j < nodes; j++)
            count[0] += paths[i][j];
}

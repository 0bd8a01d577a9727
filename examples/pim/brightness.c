/* Adds to each byte of an image, up to 255. */
#include <stdint.h>

static inline int clamped(int value, int least, int most) {
    return value < least ? least : value > most ? most : value;
}

void brightness(int rows, int columns, int by, uint8_t image[rows][columns]) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            image[i][j] = (uint8_t)clamped(image[i][j] + by, 0, 255);
}

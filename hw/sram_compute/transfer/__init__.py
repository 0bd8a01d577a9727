"""Arrays from memory to tiles, transposed, and back."""

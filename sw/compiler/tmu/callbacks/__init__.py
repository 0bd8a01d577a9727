"""What callbacks read and write, for the passes that change them."""

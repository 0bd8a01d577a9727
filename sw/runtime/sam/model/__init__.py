"""SAM graphs as their streams see them: an interpreter of the blocks."""

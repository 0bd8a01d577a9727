"""The blocks of SAM graphs, a component each, and their parts."""

"""Fusion tables: the rows are loops, the columns tensors, the cells blocks of a graph to be."""

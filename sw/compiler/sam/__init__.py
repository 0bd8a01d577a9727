"""SAM: from tensor expressions to graphs of sparse dataflow blocks."""

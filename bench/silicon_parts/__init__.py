"""Parts of the benchmark of silicon."""

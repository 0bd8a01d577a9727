"""Parts of the benchmark of models on SAM."""

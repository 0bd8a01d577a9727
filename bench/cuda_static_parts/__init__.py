"""Parts of the benchmark of the CUDA target's compiler."""

"""Parts of the CUDA target's benchmark."""

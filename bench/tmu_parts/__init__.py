"""Parts of the TMU's benchmark."""

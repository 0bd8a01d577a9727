"""Parts of the SAM benchmark."""

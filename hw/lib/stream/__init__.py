"""Parts of streams, which a consumer may hold up, and of memories that are read through them."""

"""Parts of ``bench.host``."""

"""Compilers, golden models and the runtime; only the table of targets knows RTL generators."""

if __name__ != "gnarl.sw":
    raise ImportError(
        f"import gnarl.sw instead of {__name__}: it would be a second copy of all modules",
        name=__name__,
    )

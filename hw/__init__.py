"""What becomes gates: generators of synthesizable hardware, and the contracts software reads."""

if __name__ != "gnarl.hw":
    raise ImportError(
        f"import gnarl.hw instead of {__name__}: it would be a second copy of all modules",
        name=__name__,
    )

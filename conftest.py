"""Settings of all tests, cocotb's included."""

import gc

pytest_plugins = ["tests.support.processor_time", "tests.support.machines.yosys"]


def pytest_collection_finish() -> None:
    """Looks for garbage less often, and not among what is imported: modules of compilers, designs
    and nets are many small objects, so that this took a sixth of the time of compilers' tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)

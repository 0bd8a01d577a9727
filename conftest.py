"""Settings of all tests, cocotb's included."""

pytest_plugins = ["tests.support.processor_time"]

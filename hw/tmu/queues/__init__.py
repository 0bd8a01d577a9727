"""The queues between the units: operands, and tokens behind them."""

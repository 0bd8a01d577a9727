"""The ``gnarl`` command: its commands, their options, and what ends them."""

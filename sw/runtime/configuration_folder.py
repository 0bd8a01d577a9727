"""Where the project's own configurations are."""

from pathlib import Path

CONFIGURATIONS = Path(__file__).parents[2] / "configs"
"""Those that can be called by name."""

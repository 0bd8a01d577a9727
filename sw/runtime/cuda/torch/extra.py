"""PyTorch, which only its own part of the runtime needs: import ``torch`` from here."""

from __future__ import annotations

from hw.lib.errors import GnarlError

try:
    import torch as torch
except ImportError as error:
    raise GnarlError("PyTorch is not installed: pip install 'gnarl[torch]'") from error

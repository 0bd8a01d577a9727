"""What results of modules are called, by the containers that ``forward`` returns them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, short


def result_names(structure: Any) -> list[str]:
    """Keys of dictionaries, fields and numbers of tuples, as ``result0``, joined by _.

    ``structure``: a ``torch.utils._pytree.TreeSpec``.
    """
    from torch.utils._pytree import SequenceKey, tree_leaves_with_path, tree_unflatten

    names = []
    for path, _ in tree_leaves_with_path(tree_unflatten(range(structure.num_leaves), structure)):
        parts = [
            str(getattr(key, "idx", getattr(key, "key", getattr(key, "name", "")))) for key in path
        ]
        unnamed = not path or isinstance(path[0], SequenceKey)
        names.append("result" * unnamed + "_".join(parts))
    return names


def saved_structure(text: str) -> Any:
    """The structure that a file's text says, of containers of Python's own; classes that it names
    are not looked up. Raises ``WorkloadError``."""
    from torch.utils._pytree import tree_structure

    version, tree = json.loads(text)
    if version != 1:
        raise WorkloadError(f"out_spec: version {short(version)}: must be 1")
    return tree_structure(_containers(tree))


def _containers(tree: Mapping[str, Any]) -> Any:
    """The containers with a number in place of each result."""
    kind, children = tree["type"], tree["children_spec"]
    match kind:
        case None:
            return 0
        case "builtins.tuple" | "builtins.list":
            return [_containers(each) for each in children]
        case "builtins.dict":
            keys = json.loads(tree["context"])
            return dict(zip(keys, map(_containers, children), strict=True))
    raise WorkloadError(f"a result is a {short(kind)}: must be a tensor, tuple, list or dict")

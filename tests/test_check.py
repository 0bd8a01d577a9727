"""The tests nearest to a change."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.check import changed, nearest
from tests.mutants.targets import Neighbours


def test_files_that_differ_or_are_new(tmp_path: Path):
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    for name in ("kept.py", "edited.py", "gone.py", "text.md"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "gone.py").unlink()
    for name in ("edited.py", "text.md", "new.py", "ignored.py"):
        (tmp_path / name).write_text("2\n")
    assert changed(tmp_path, "HEAD") == ["edited.py", "new.py"]


def test_changed_tests_come_first_then_the_nearest_of_each_file_in_turn(tmp_path: Path):
    sources = {
        "hw/sam/repeat.py": "",
        "hw/sam/union.py": "import gnarl.hw.sam.repeat\n",
        "tests/hw/sam/test_repeat.py": "from gnarl.hw.sam import repeat\n",
        "tests/hw/sam/test_union.py": "from gnarl.hw.sam import union\n",
        "tests/hw/sam/test_both.py": "from gnarl.hw.sam import repeat, union\n",
        "tests/hw/sam/test_other.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folder = "tests/hw/sam/"
    found = nearest([*list(sources)[:2], f"{folder}test_other.py"], Neighbours(tmp_path))
    names = ("other", "repeat", "union", "both")
    assert found == [f"{folder}test_{name}.py" for name in names]
    assert nearest([], Neighbours(tmp_path)) == []

"""Documentation against the code: generated pages, and the snippets and links of all pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sw.manual import ROOT, commands, configurations, pages

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_generated_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_the_reference_has_every_option_and_field() -> None:
    assert "--no-reassociate" in commands()
    assert "| `pe_stages` | `1` | pipeline registers in a PE," in configurations()


def test_the_example_prints_what_the_readme_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = re.search(r"\$ \.venv/bin/python examples/quickstart\.py\n(.*?)```", text, re.S)
    assert printed
    done = subprocess.run(
        [sys.executable, "examples/quickstart.py"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, printed[1]), done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_make_target_that_pages_name_is_there() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        named = set(re.findall(r"(?:`|^\$ )make ([a-z-]+)", page.read_text(), re.M))
        assert named <= known, page.name


def test_make_alone_lists_every_target_with_its_comment() -> None:
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    targets = re.findall(r"^([a-z-]+):.*## (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert len(targets) > 8
    for name, comment in targets:
        assert re.search(rf"^  make {name} +{re.escape(comment)}$", done.stdout, re.M)

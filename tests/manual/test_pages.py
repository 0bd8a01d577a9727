"""Documentation against the code: generated pages, and the snippets and links of all pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnarl.sw.compiler.sam.examples import EXAMPLES as SAM_EXAMPLES
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from manual.pages import DEMO, QUICKSTARTS, ROOT, commands, configurations, pages
from tests.support.forked import run

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")


def test_generated_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_the_readmes_report_of_a_model_is_the_runs() -> None:
    """On the model, which takes the RTL's cycles."""
    source = str(ROOT / "examples" / "gcn.py") + ":karate"
    report = run_once(
        load_configuration("sam_fp32"), source, backend="model", options={"fuse": "layer"}
    )
    shown = README.partition("GCN on sam_fp32, rtl\n")[2].partition("```")[0]
    assert f"  {report.cycles:,} cycles · {report.figures.operations:,} operations · " in shown
    for name, launch in report.launches.items():
        assert re.search(rf"^  {name} +{launch.cycles:,} ", shown, re.MULTILINE), name


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 300


def test_the_reference_has_every_option_and_field() -> None:
    assert "--no-reassociate" in commands()
    assert "--tensor NAME=PATH" in commands()
    assert "| `pe_stages` | `1` | pipeline registers in a PE," in configurations()
    assert "| `memory` | `local` | `local`: a memory for each array;" in configurations()
    assert '| `expression` | `""` |' in configurations()
    assert "| `fabric` |  |" in configurations()


@pytest.mark.parametrize("name", DEMO)
def test_the_readme_shows_a_run_of_an_example_that_ships(name: str, tmp_path: Path) -> None:
    config, example, backend = DEMO[name]
    target = load_configuration(config).target
    assert example in [one.name for one in target.reader.examples(tmp_path)]
    page = re.search(rf"<!-- {name}:begin -->\n```text\n(.*?)```", README, re.S)
    assert page and f" on {config}, {backend}" in page[1] and "✔ bit-exact" in page[1]


def test_the_command_in_the_readme_is_that_of_the_run_below_it() -> None:
    expression = re.search(r'gnarl run sam_fp32 "(.*?)" \\\n', README)
    assert expression
    shown, shipped = parse(expression[1]), parse(SAM_EXAMPLES["matmul"])
    assert str(shown.result) == str(shipped.result)
    assert (shown.expression, shown.order) == (shipped.expression, shipped.order)
    assert shown.formats == shipped.formats


@pytest.mark.parametrize("name", QUICKSTARTS)
def test_an_example_prints_what_its_page_says(name: str) -> None:
    page = QUICKSTARTS[name].read_text(encoding="utf-8")
    printed = re.search(rf"\$ \.venv/bin/python examples/{name}\.py\n(.*?)```", page, re.S)
    assert printed
    path = f"examples/{name}.py"
    if name == "quickstart":
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, path]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    else:
        code = f"import runpy; runpy.run_path({path!r}, run_name='__main__')"
        done = run(code=code, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, printed[1]), done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        target, _, anchor = link.partition("#")
        if not target.startswith("http"):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in _anchors(file), f"{page.name}: {link}"


def _anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as Git hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


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

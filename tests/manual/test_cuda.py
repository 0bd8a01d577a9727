"""The reference of schedule templates is what the code says."""

from __future__ import annotations

from pathlib import Path

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.templates import templates
from manual.cuda import PATH, manual

CONFIGS = Path(__file__).parents[2] / "configs"


def test_the_page_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == manual(), "run `make docs`"


def test_every_template_and_parameter_is_explained() -> None:
    text = manual()
    for template in templates().values():
        assert f"\n## {template.name}\n" in text
        for parameter in template.parameters:
            assert parameter.meaning


def test_every_architecture_has_a_configuration() -> None:
    found = {path.stem for path in CONFIGS.glob("cuda_*.toml")}
    assert found == {f"cuda_{name.replace('_', '')}" for name in ARCHITECTURES}

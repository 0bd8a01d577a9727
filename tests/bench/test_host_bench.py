"""The benchmark of the host's side, on small memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.host import main
from bench.host_parts import back_door, page
from bench.lib.records import Record, Setting, load, records
from bench.lib.summary import mark


def figures(words: int, **values: float | bool) -> list[Record]:
    labels = {"mebibytes": back_door.MEBIBYTES, "words": words}
    return records(back_door.BENCH, labels, values, back_door.METRICS, Setting("", (), "", 0))


@pytest.mark.slow
def test_small_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    done = CliRunner().invoke(main, ["--quick", "-o", "build/bench", "--json", "all.json"])
    assert done.exit_code == 0, done.output
    values = {record.name: record.value for record in load(Path("all.json"))}
    for words in back_door.WORDS:
        name = f"host.back_door/4/{words}"
        assert values[f"{name}/same"] is True
        assert 0 < values[f"{name}/write_s"] < back_door.LIMIT_S
        assert 0 < values[f"{name}/read_s"]
        assert 0 < values[f"{name}/port_rate"]
    for target in ("sam", "dpu"):
        assert values[f"host.values/{target}/1000/bit_exact"] is True
        assert values[f"host.values/{target}/1000/write_s"] > 0
    assert Path("build/bench/host_back_door.png").read_bytes().startswith(b"\x89PNG")

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert CliRunner().invoke(main, ["page"]).exit_code == 0
    text = Path("docs/results/host.md").read_text()
    assert page.INTROS["back_door"].text in text
    assert "\n| 4 | 64 | " in text


@pytest.mark.parametrize("seconds, good", [(1.25, True), (6.0, False)])
def test_verdict(seconds: float, good: bool) -> None:
    found = figures(1, write_s=0.5, read_s=0.1, port_rate=1.0, same=True)
    found += figures(4, write_s=seconds, read_s=0.1, port_rate=1.0, same=good)
    assert back_door.verdict(found).splitlines() == [
        f"256 MiB written in at most {seconds:.2f} s, limit 5 s {mark(good)}",
        f"words read are those written: {1 + good} of 2 memories",
    ]

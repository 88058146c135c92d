"""The README's example is what a reader gets."""

import json
import re
from pathlib import Path

from course_lib.checks import check

README = Path(__file__).parents[1] / "README.md"


def test_the_verdict_shown_is_the_verdict_given():
    text = README.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)\n*check\(scores\)\n```", text, re.DOTALL)
    names: dict = {}
    exec(code, names)
    verdict = str(check(names["scores"]))
    (shown,) = re.findall(r"```\n(check\(scores\).*?)\n```", text, re.DOTALL)
    assert shown == verdict
    assert verdict.count("  ok ") == 2 and "Reread" in verdict


def test_the_times_and_sizes_are_those_of_the_stored_run():
    text = README.read_text(encoding="utf-8")
    stored = json.loads((README.parent / "notebooks" / "measured" / "tiling.json").read_text())
    for row in stored["rows"]:
        if row["T"] == 4096 and not row["causal"] and not row["backward"]:
            size = row["extra_bytes"]
            said = f"{size / 2**30:.1f} GiB" if size > 2**30 else f"{size / 2**20:.0f} MiB"
            way = {"tiled": "`tiled_attention`"}.get(row["way"], row["way"])
            assert re.search(rf"\| {way}.* \| {row['times_flash']:.2f} \| {said} \|", text), way


def test_figures_of_grading_are_those_of_the_stored_run():
    stored = json.loads((README.parent / "benchmarks" / "grading.json").read_text())
    text = README.read_text(encoding="utf-8")
    assert f"{stored['submissions']} notebooks of five answers" in text
    assert f"took {stored['wall']:.1f} seconds" in text
    assert f"{stored['ms_mean_well_meant']:.1f} ms of CPU" in text
    assert f"nbgrader used {stored['ratio']:.0f} times" in text
    assert stored["unearned"] == stored["without_points"] == 0

"""The README's example is what a reader gets."""

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

"""Pages from templates: everything that is put in is escaped, and shown where it would act."""

import functools
import re
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from course_lib.grading.reports.output import line, visible

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **values: object) -> str:
    """A page of these values; the same values give the same bytes."""
    return _templates().get_template(template).render(values)


def code(text: str) -> Markup:
    """A text in which what stands between backticks is set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def share(part: float, whole: float) -> str:
    """A share in percent; nothing of nothing is none."""
    return f"{100 * part / whole:.0f}" if whole else "0"


@functools.cache
def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,  # for every template, whatever its name ends in
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update(code=code, line=line, visible=visible)
    found.globals.update(share=share)
    return found


def _finalized(value: object) -> object:
    """A last look at a text that no filter made safe."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value, 4_000, lines=True)
    return value

"""The questions of chapter 01: what a call holds, what it costs, and two ways to find a fault."""

from course_lib.checks.shapes import call_bytes, call_flops, call_shapes, first_clash, mended

QUESTIONS = tuple(
    module.QUESTION for module in (call_shapes, call_bytes, call_flops, mended, first_clash)
)
"""In the order of the chapter."""

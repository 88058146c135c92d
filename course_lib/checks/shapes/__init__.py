"""The questions of chapter 01: what a call holds, what it costs, and two ways to find a fault."""

from course_lib.checks.shapes import call_shapes, costs, first_clash, mended

QUESTIONS = (call_shapes.QUESTION, *costs.QUESTIONS, mended.QUESTION, first_clash.QUESTION)
"""In the order of the chapter."""

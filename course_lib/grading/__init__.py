"""Grading a class: what was handed in goes in, a gradebook comes out, and nobody fools it.

A student's code runs in a confined process that decides nothing: it gets inputs and returns
values. Inputs, right values, comparison, points and files stay in the process of the grader.
"""

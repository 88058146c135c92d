"""The course from a terminal: `python -m course_lib progress`, and what else it can do."""

import os
import sys

# Started among what students handed in, Python would take a file of theirs for a module.
if __name__ == "__main__" and os.getcwd() != os.path.dirname(os.path.dirname(__file__)):
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != os.getcwd()]
    os.environ["PYTHONSAFEPATH"] = "1"  # for the processes that it begins

import argparse
from collections.abc import Callable
from pathlib import Path

from course_lib.grading import interrupts, options

ROOT = Path(__file__).resolve().parents[1]


def show_progress(_: argparse.Namespace) -> int:
    """your points and predictions so far"""
    from course_lib.checks import progress

    print(progress())
    return 0


def show_questions(arguments: argparse.Namespace) -> int:
    """every exercise with its points and the proof of its checks; with an id, that one in full"""
    from course_lib.checks import QUESTIONS, find
    from course_lib.checks.proof import anatomy, overview

    if arguments.id:
        question = find(arguments.id)
        known = ", ".join(f"{q.id} {q.name}" for q in QUESTIONS)
        print(
            anatomy(question) if question else f"No question {arguments.id!r}. There are {known}."
        )
        return 0 if question else 1
    holds = True
    for line, proven in overview(QUESTIONS, arguments.seeds):
        print(line, flush=True)
        holds = holds and proven
    return 0 if holds else 1


def show_environment(_: argparse.Namespace) -> int:
    """what this machine has, and what works without the rest"""
    from course_lib.environment import environment

    print(environment())
    return 0


def write_exercises(arguments: argparse.Namespace) -> int:
    """write exercises/ from solutions/ (--check: only say what is out of date)"""
    from course_lib.exercises import generate, stale

    if not arguments.check:
        for path in generate(ROOT / "solutions", ROOT / "exercises"):
            print(path.relative_to(ROOT))
        return 0
    old = stale(ROOT / "solutions", ROOT / "exercises")
    print("\n".join([*old, "run: make exercises"] if old else ["exercises are up to date"]))
    return 1 if old else 0


def write_figures(_: argparse.Namespace) -> int:
    """draw the opening pictures of the chapters into notebooks/figures/"""
    from course_lib.show.openings import write

    for path in write(ROOT / "notebooks" / "figures"):
        print(path.relative_to(ROOT))
    return 0


def grade(arguments: argparse.Namespace) -> int:
    """grade a folder of submissions; `grade doctor` says what walls this machine has"""
    with interrupts.at_once():
        from course_lib.grading.command import run

    return run(arguments)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "progress": show_progress,
    "questions": show_questions,
    "environment": show_environment,
    "exercises": write_exercises,
    "figures": write_figures,
    "grade": grade,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m course_lib", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        if name == "exercises":
            command.add_argument("--check", action="store_true", help="change nothing")
        if name == "questions":
            command.add_argument("id", nargs="?", help="an id such as 02.2, or a function's name")
            command.add_argument("--seeds", type=int, default=1, help="draws of inputs (default 1)")
        if name == "grade":
            options.add_arguments(command)
    chosen = parser.parse_args(arguments)
    return COMMANDS[chosen.command](chosen)


if __name__ == "__main__":
    sys.exit(main())

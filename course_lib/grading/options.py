"""What `python -m course_lib grade` takes; light, so that other commands don't wait for torch."""

import argparse
import os
import re
from pathlib import Path

EPILOG = """\
python -m course_lib grade handed-in/ --out grades/     grade a class
python -m course_lib grade doctor                       what walls this machine has
python -m course_lib grade merge a/ b/ --out grades/    join the parts that --shard made

A merge takes --out alone of the options, and doctor takes none.
"""

JOBS = (os.cpu_count() or 1) + 1


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes."""
    command.epilog, command.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    command.add_argument(
        "submissions",
        type=Path,
        nargs="+",
        metavar="SUBMISSIONS",
        help="a folder or a zip, or what one student handed in",
    )
    command.add_argument("--out", type=Path, metavar="GRADES", help="where the grades go")
    command.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="one secret line from which inputs are drawn; made as GRADES/key if none is given",
    )
    command.add_argument(
        "--jobs",
        type=_jobs,
        help=f"answers at a time (default {JOBS}, one more than cores: some sleep)",
    )
    command.add_argument(
        "--only", type=_chapter, metavar="NN", action="append", help="a chapter, such as 03"
    )
    command.add_argument("--resume", action="store_true", help="go on where a run was stopped")
    command.add_argument("--require-isolation", choices=["full"], help="or grade nothing")
    command.add_argument(
        "--shard", type=shard, metavar="I/N", help="only the I-th of N parts, uneven by chance"
    )
    command.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="on the workers of a Dask cluster, such as tls://host:8786",
    )


def without_meaning(arguments: argparse.Namespace, *meant: str) -> str:
    """The options that were given and aren't meant, as they are written."""
    given = [name for name, value in vars(arguments).items() if value not in (None, False)]
    others = sorted({*given} - {*meant, "command", "submissions"})
    return ", ".join(f"--{name.replace('_', '-')}" for name in others)


def _jobs(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise argparse.ArgumentTypeError(f"expected a number, 1 or more; got {text!r}")
    return int(text)


def _chapter(text: str) -> str:
    if not re.fullmatch(r"\d{1,2}", text):
        raise argparse.ArgumentTypeError(f"expected a chapter's number, such as 03; got {text!r}")
    return text.zfill(2)


def shard(text: str) -> tuple[int, int]:
    """I and N of a part that is called I/N."""
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    i, n = map(int, found.groups()) if found else (0, 0)
    if not 1 <= i <= n:
        raise argparse.ArgumentTypeError(f"expected I/N, such as 1/4; got {text!r}")
    return i, n

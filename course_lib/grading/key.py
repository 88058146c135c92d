"""The secret from which inputs are drawn: a file of one line, made where there is none."""

import contextlib
import secrets
from pathlib import Path

from course_lib.grading.reports.output import write

KEY_BYTES = 32  # at least; and as many as are made, in twice as many digits
KEY_AT_MOST = 1_000


class KeyFileError(ValueError):
    """A file that is no key, or isn't there where it must be; says which and why."""


def key_in(path: Path) -> bytes:
    """The key in a file. A notebook that was meant to be graded is none."""
    text, room = "", KEY_AT_MOST + len("\r\n")
    if not path.is_dir():
        with path.open("rb") as file:
            data = file.read(room + 1)
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode().strip() if len(data) <= room else ""
    if not KEY_BYTES <= len(text) <= KEY_AT_MOST or not text.isprintable():
        sizes = f"{KEY_BYTES} to {KEY_AT_MOST:,}"
        raise KeyFileError(f"{path} is no key: expected one line of {sizes} printable characters.")
    return text.encode()


def make_key(path: Path) -> bytes:
    """Write a new key into a file that only its owner can read."""
    write(path, secrets.token_hex(KEY_BYTES) + "\n", mode=0o600)
    return key_in(path)

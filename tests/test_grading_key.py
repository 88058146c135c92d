"""A key is one line; whatever else was given for one is refused and left alone."""

import os

import pytest

from course_lib.grading.key import KeyFileError, key_in, make_key


def test_a_new_key_is_secret_and_is_read_again(tmp_path):
    made = make_key(tmp_path / "grades" / "key")
    assert len(made) == 64 and key_in(tmp_path / "grades" / "key") == made
    assert make_key(tmp_path / "other") != made
    if os.name == "posix":
        assert (tmp_path / "other").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "data", [b"a" * 32, b"a" * 1_000, "ключ ".encode() * 9, b"b" * 40 + b"\r\n"]
)
def test_a_line_of_text_is_a_key(tmp_path, data):
    (tmp_path / "key").write_bytes(data)
    assert key_in(tmp_path / "key") == data.decode().strip().encode()


NONE = {
    "short": b"a" * 31,
    "long": b"a" * 1_001,
    "long, and blank": b"a" * 1_000 + b" " * 9_000 + b"a",
    "two lines": b"a" * 40 + b"\n" + b"a" * 40,
    "a notebook": b'{\n "cells": [],\n "nbformat": 4,\n "metadata": {}\n}\n',
    "bytes": b"\xff" * 40,
    "null bytes": b"\0" * 40,
    "nothing": b"",
}


@pytest.mark.parametrize("data", NONE.values(), ids=NONE)
def test_anything_else_is_none(tmp_path, data):
    (tmp_path / "key").write_bytes(data)
    with pytest.raises(KeyFileError, match="key is no key: expected one line of 32 to 1,000"):
        key_in(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == data

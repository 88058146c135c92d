"""Parts of a class: a folder says which one it holds, and a merge misses none of them."""

from types import SimpleNamespace

import pytest

from course_lib.grading.reports.rows import ResultsError
from course_lib.grading.row import named
from course_lib.grading.shards import be_that_part, be_whole, keep_shard, part_of, shard_in


def folders(place, *parts: tuple[int, int] | None) -> list:
    """A folder for each part, and one that holds none for each `None`."""
    made = [place / name for name in "abcdefg"[: len(parts)]]
    for folder, part in zip(made, parts, strict=True):
        folder.mkdir()
        keep_shard(folder, part)
    return made


@pytest.mark.parametrize("n", [1, 3, 9])
def test_every_student_is_in_one_part_with_all_their_files(n):
    files = [SimpleNamespace(student=name) for name in "gafbcedgab"]
    parts = [part_of(files, (i, n)) for i in range(1, n + 1)]
    assert sorted(id(file) for part in parts for file in part) == sorted(map(id, files))
    names = [{file.student for file in part} for part in parts]
    assert sum(map(len, names)) == 7 and part_of(files, None) == files


def test_a_late_name_moves_nobody_to_another_part():
    def parts(*names: str) -> list[list[str]]:
        files = [SimpleNamespace(student=name) for name in names]
        return [[file.student for file in part_of(files, (i, 3))] for i in (1, 2, 3)]

    before = parts("amy", "ben", "cat", "dan", "eve", "fay")
    assert before == [["cat", "fay"], ["dan"], ["amy", "ben", "eve"]]
    after = parts("abe", "amy", "ben", "cat", "dan", "eve", "fay")
    assert [[name for name in part if name != "abe"] for part in after] == before
    long, odd = "x" * 300, "\udc80undecodable"
    as_in_rows = [bool(part) for part in parts(named(long))]
    assert [bool(part) for part in parts(long)] == as_in_rows and [odd] in parts(odd)


def test_a_folder_says_which_part_it_holds(tmp_path):
    some, none = folders(tmp_path, (2, 4), None)
    assert shard_in(some) == (2, 4) and shard_in(none) is None and not list(none.iterdir())
    be_that_part(some, (2, 4))
    be_that_part(none, (3, 4))
    for other in (None, (3, 4), (2, 5)):
        with pytest.raises(ResultsError, match="a holds shard 2/4: add --shard 2/4, or give"):
            be_that_part(some, other)
    (some / "shard").write_bytes(b"2 of 4 \xff")
    with pytest.raises(ResultsError, match=r"shard: expected I/N, such as 1/4; got '2 of 4"):
        shard_in(some)


@pytest.mark.parametrize("parts", [[], [None, None], [(1, 1)], [(3, 3), None, (1, 3), (2, 3)]])
def test_all_parts_in_any_order_are_whole_with_folders_that_hold_none(tmp_path, parts):
    made = folders(tmp_path, *parts)
    be_whole(made)
    be_whole(reversed(made))


@pytest.mark.parametrize(
    "parts, said",
    [
        ([(1, 2), None], "Shard 2/2 is missing: give its folder too."),
        ([(1, 4), (4, 4)], "Shards 2/4 and 3/4 are missing: give their folders too."),
        ([(7, 7), None], "Shards 1/7, 2/7, 3/7, 4/7, 5/7 and more are missing: give their folders"),
        ([(1, 3), (2, 3), (3, 3), (2, 3)], "Shard 2/3 is given twice: {0}/b and {0}/d."),
        ([(2, 2), (1, 2), (3, 3)], "have one N: 2/2 is {0}/a, 3/3 is {0}/c."),
    ],
)
def test_parts_that_are_missing_doubled_or_of_another_division_are_named(tmp_path, parts, said):
    with pytest.raises(ResultsError) as error:
        be_whole(reversed(folders(tmp_path, *parts)))
    assert said.format(tmp_path) in str(error.value)

"""results.jsonl holds whole rows whenever the grader is killed, and nothing that isn't a row."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_rows import ASKED, HOSTILE, NAMES, a_class, missing, open_row, row, shuffled

from course_lib.grading.reports.results import Results, joined, keep_rows, read
from course_lib.grading.reports.rows import ROW, ResultsError, by_student, checked, key_of

ROOT = Path(__file__).parents[1]
FIRST, SECOND = ASKED[:2]


def write_all(path: Path, rows: list[dict]) -> None:
    with Results(path) as results:
        for found in rows:
            results.append(found)


def merge(paths: list[Path], out: Path) -> list[dict]:
    rows = joined(paths)
    keep_rows(rows, out)
    return rows


def sorted_rows(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda found: (found["student"], found["question"]))


def test_rows_come_back_as_they_went_whatever_they_hold(tmp_path):
    rows = [*a_class(), row(HOSTILE[:60], FIRST, note=HOSTILE, printed=HOSTILE)]
    write_all(tmp_path / "results.jsonl", shuffled(rows))
    assert read(tmp_path / "results.jsonl") == sorted_rows(rows)


def test_fields_stand_in_their_order(tmp_path):
    turned = dict(reversed(row("ana", FIRST).items()))
    write_all(tmp_path / "results.jsonl", [turned])
    assert list(json.loads((tmp_path / "results.jsonl").read_text())) == list(ROW)


def test_rows_of_a_version_that_told_no_number_are_read(tmp_path):
    rows = [row("ana", FIRST), missing("bo", SECOND)]
    old = [{name: found[name] for name in ROW if name != "number"} for found in rows]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(found) + "\n" for found in old))
    assert read(path) == rows and rows[0]["number"] == ""
    with Results(path) as results:
        assert results.done == {key_of(found) for found in rows}
        results.append(row("cy", FIRST, number="canvas 1234"))
    merged = merge([path], tmp_path / "all" / "results.jsonl")
    assert [found["number"] for found in merged] == ["", "", "canvas 1234"]
    assert read(tmp_path / "all" / "results.jsonl") == merged == read(path)


def test_a_number_that_changed_is_another_row(tmp_path):
    path = tmp_path / "results.jsonl"
    old, new = row("ana", FIRST), row("ana", FIRST, number="moodle 4711")
    write_all(path, [old])
    with Results(path) as results:
        assert key_of(new) not in results.done
        results.append(new)
    assert read(path, {key_of(new)}) == [new] and read(path, {key_of(old)}) == [old]


def test_a_file_cut_at_any_byte_resumes_to_the_same_file(tmp_path):
    rows = [row("ana", FIRST), row("李", FIRST, holds=False), missing("ana", SECOND)]
    whole, path = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    write_all(whole, rows)
    data = whole.read_bytes()
    for cut in range(0, len(data) + 1, 23):
        path.write_bytes(data[:cut])
        kept = data[:cut].count(b"\n")
        assert len(read(path)) == kept, "a torn line counts as a row"
        with Results(path) as results:
            assert results.done == {key_of(found) for found in rows[:kept]}
            for found in rows:
                if key_of(found) not in results.done:
                    results.append(found)
        assert path.read_bytes() == data, cut


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path):
    path = tmp_path / "results.jsonl"
    write_all(path, [row("ana", FIRST)])
    whole = path.read_bytes()
    for torn in (b"x" * 70_000, b"\0" * 200_000):
        path.write_bytes(whole + torn)
        Results(path).__exit__()
        assert path.read_bytes() == whole


KILLED = """
import sys
from course_lib.grading.reports.results import Results, key_of, read
with Results(sys.argv[2]) as results:
    for found in read(sys.argv[1]):
        if key_of(found) not in results.done:
            results.append(found)
            print(flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_minus_nine_and_again_gives_the_same_rows(tmp_path):
    path, whole = tmp_path / "results.jsonl", tmp_path / "whole.jsonl"
    write_all(whole, a_class(40))
    run = [sys.executable, "-c", KILLED, str(whole), str(path)]
    for wait_for in (3, 40):
        process = subprocess.Popen(run, cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(wait_for):
            process.stdout.readline()
        time.sleep(0.003)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        process.stdout.close()
        assert wait_for <= len(read(path)) < len(a_class(40))
    assert subprocess.run(run, cwd=ROOT, capture_output=True).returncode == 0
    assert read(path) == read(whole)


@pytest.mark.parametrize("damage", [b"{}", b'{"student": "a', b"\xff\xfe", b"[" * 100_000, b""])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_damaged_line_is_named(tmp_path, damage, place):
    path = tmp_path / "results.jsonl"
    write_all(path, [row("ana", FIRST), row("bo", FIRST)])
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(place - 1, damage + b"\n")
    path.write_bytes(b"".join(lines))
    for use in (read, Results):
        with pytest.raises(ResultsError, match=rf"results.jsonl, line {place} is damaged"):
            use(path)
    assert path.read_bytes() == b"".join(lines), "a file that can't be read is left alone"


BAD = {
    "points: 3 of": {"points": 3},
    "unknown field 'grade'": {"grade": 5},
    "student can't be ''": {"student": ""},
    "student can't be 7": {"student": 7},
    "question can't be '3.1'": {"question": "3.1"},
    "status can't be 'fine'": {"status": "fine"},
    "points can't be True": {"points": True},
    "points can't be 4.5": {"points": 4.5},
    "points must be null": {"status": "unreadable"},
    "points must be 0": {"status": "missing"},
    "cpu_ms can't be nan": {"cpu_ms": float("nan")},
    "note can't be 7": {"note": 7},
    "group can't be 'xyz'": {"group": "xyz"},
    "submission can't be 'abc'": {"submission": "abc"},
    "number can't be '=1.1'": {"number": "=1+1"},
    "number can't be '1234'": {"number": "1234"},
    "number can't be 'canvas ١٢'": {"number": "canvas ١٢"},
    "number can't be 'canvas 1.n'": {"number": "canvas 1\n"},
    "lines can't be": {"lines": [{}] * 51},
    "lines.0. lacks 'fact'": {"lines": [{}]},
    "lines.0. must be an object": {"lines": ["ok"]},
}


@pytest.mark.parametrize("says", BAD)
def test_a_row_that_is_none_is_refused_with_the_field(tmp_path, says):
    says_it = says.replace("points: 3 of", "points, not 3")
    with Results(tmp_path / "results.jsonl") as results:
        with pytest.raises(ResultsError, match=says_it):
            results.append(row("ana", FIRST) | BAD[says])
        lacking = row("ana", FIRST)
        del lacking["note"]
        with pytest.raises(ResultsError, match="lacks 'note'"):
            results.append(lacking)
    assert (tmp_path / "results.jsonl").read_bytes() == b""


def test_what_others_wrote_is_cut_and_ends_no_batch(tmp_path):
    with Results(tmp_path / "results.jsonl") as results:
        results.append(row("ana", FIRST) | {"note": "x" * 9_000, "path": "p" * 3_000})
    (found,) = read(tmp_path / "results.jsonl")
    assert found["note"] == "x" * 3_999 + "…" and found["path"] == "p" * 1_999 + "…"


def test_what_isnt_graded_is_graded_again(tmp_path):
    path = tmp_path / "results.jsonl"
    waiting, unreadable = open_row("ana", FIRST), open_row("bo", FIRST, "unreadable")
    write_all(path, [waiting, unreadable])
    with Results(path) as results:
        assert results.done == {key_of(unreadable)}
        results.append(row("ana", FIRST))
        assert key_of(waiting) in results.done
    assert [found["status"] for found in read(path)] == ["graded", "unreadable"]


def test_the_last_row_counts_and_a_run_takes_its_own(tmp_path):
    path = tmp_path / "results.jsonl"
    old = row("ana", FIRST, submission="0" * 64)
    new = row("ana", FIRST, holds=False)
    gone = row("left", FIRST)
    write_all(path, [old, gone, new])
    assert read(path) == [new, gone]
    assert read(path, {key_of(old)}) == [old]


def test_two_runs_dont_write_one_file(tmp_path):
    pytest.importorskip("fcntl")
    with (
        Results(tmp_path / "results.jsonl"),
        pytest.raises(ResultsError, match="another run"),
    ):
        Results(tmp_path / "results.jsonl")
    Results(tmp_path / "results.jsonl").__exit__()


def test_shards_become_one_file(tmp_path):
    rows = a_class(12)
    shards = [tmp_path / f"{i}.jsonl" for i in range(3)]
    for i, shard in enumerate(shards):
        mine = [found | {"cpu_ms": found["cpu_ms"] + i} for found in rows]
        write_all(shard, shuffled([f for n, f in enumerate(mine) if n % 3 == i or n < 9], i))
    merged = merge(shards, tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl") == merged
    places = [(found["student"], found["question"]) for found in sorted_rows(rows)]
    assert [(found["student"], found["question"]) for found in merged] == places
    assert all(f["cpu_ms"] == 20.5 for f in merged if f in rows[:9])
    first = (tmp_path / "out.jsonl").read_bytes()
    merge(reversed(shards), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == first


def test_shards_that_differ_are_refused(tmp_path):
    write_all(tmp_path / "0.jsonl", [row("ana", FIRST, path="elsewhere/03.ipynb")])
    write_all(tmp_path / "1.jsonl", [row("ana", FIRST, isolation="none", cpu_ms=1)])
    with pytest.raises(
        ResultsError, match=r"0.jsonl and .*1.jsonl differ about ana, 03.1, in isol"
    ):
        merge([tmp_path / "0.jsonl", tmp_path / "1.jsonl"], tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    write_all(tmp_path / "2.jsonl", [row("ana", FIRST)])
    (found,) = joined([tmp_path / "2.jsonl", tmp_path / "0.jsonl"])
    assert found["path"] == "elsewhere/03.ipynb", "where a file lay is no other grade"


def test_a_disk_that_is_full_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    with Results(path) as results:
        results.append(row("ana", FIRST))
        whole, file = path.read_bytes(), results._file

        class Full:
            def write(self, data):
                return file.write(data[:10])

            def __getattr__(self, name):
                return getattr(file, name)

        monkeypatch.setattr(results, "_file", Full())
        with pytest.raises(OSError, match="took 10 of"):
            results.append(row("bo", FIRST))
        assert path.read_bytes() == whole


def test_a_place_has_one_row():
    with pytest.raises(ResultsError, match="two of ana"):
        by_student([row("ana", FIRST), row("ana", FIRST)])
    assert list(by_student([row("bo", SECOND), row("bo", FIRST)])["bo"]) == ["03.1", "03.2"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_take_every_name(name):
    assert checked(row(name, FIRST))["student"] == name


def test_results_are_read_without_torch():
    code = "import sys, course_lib.grading.reports.results; print('torch' in sys.modules)"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, cwd=ROOT, capture_output=True, text=True).stdout == "False\n"


def test_each_row_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    write_all(tmp_path / "results.jsonl", [row("ana", FIRST), row("bo", FIRST)])
    assert len(synced) == 2 and synced[0] < synced[1]

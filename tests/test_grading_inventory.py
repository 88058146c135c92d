"""The list of the files from which a folder of grades was made."""

import pytest

from course_lib.grading.inventory import Earlier, Inventory, inventory_in, keep_inventory
from course_lib.grading.reports.rows import ResultsError


def test_the_list_of_files_comes_back_as_it_went(tmp_path):
    assert inventory_in(tmp_path) is None
    odd = Earlier("\udc80 李", "03", "a/b", b"", "why", True, "canvas 12", sha="f" * 64)
    whole = Inventory(
        "1", "5f0c", ["03", "04"], [odd, Earlier("bo", "", "x", b"", sha="0" * 64)], ["cy"]
    )
    keep_inventory(tmp_path, whole)
    assert inventory_in(tmp_path) == whole and whole.files[0].digest == "f" * 64


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"files": [{"name": 1}]}'])
def test_a_damaged_list_of_files_says_what_helps(tmp_path, text):
    (tmp_path / "inventory.json").write_text(text)
    with pytest.raises(ResultsError, match=r"inventory.json is damaged: give the whole of"):
        inventory_in(tmp_path)

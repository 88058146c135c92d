"""Whom a cell of a spreadsheet means, after other programs wrote it."""

import unicodedata

import pytest
from made_rows import ASKED, open_row

from course_lib.grading.reports.by_hand import counted_by_hand
from course_lib.grading.reports.called import Called, name_for

CLASS = [
    "0012345",
    "4711",
    "jose",
    "Ünal Ö.",
    "chenwei_20001",
    "chenwei_20002",
    "mar15",
    "007",
    "Éé",
]


@pytest.mark.parametrize(
    "cell, hint",
    [
        ("12345", ". Is it '0012345'?"),
        ("7", ". Is it '007'?"),
        ("ee", ". Is it 'Éé'?"),
        ("JOSE", ". Is it 'jose'?"),
        ("josie", ". Is it 'jose'?"),
        ("unal o.", ". Is it 'Ünal Ö.'?"),
        ("chenwei_2000", ". Is it 'chenwei_20001'?"),
        ("", ""),
        ("zoe", ""),
    ],
)
def test_who_may_be_meant_is_said(cell, hint):
    called = Called(CLASS)
    assert called.alike(cell) == []
    assert called.nobody(cell).replace("chenwei_20002", "chenwei_20001") == (
        f"no student is {cell!r}{hint}"
    )


def test_an_accent_may_be_a_sign_of_its_own():
    forms = [unicodedata.normalize(form, "Ünal Ö.") for form in ("NFC", "NFD")]
    assert forms[0] != forms[1]
    for one in forms:
        assert Called([one]).alike(f" {forms[0]}") == Called([one]).alike(forms[1]) == [one]
        assert Called(forms).alike(one) == [one], "two students, if somebody has such"


@pytest.mark.parametrize(
    "student", ["0012345", "007", "1e5", "3-4", "1.50", "123456789012", "mar15", "DEC 3", "sept-1"]
)
def test_a_name_that_a_spreadsheet_would_convert_stays_one(tmp_path, student):
    assert name_for(student) == f"'{student}"
    rows = [open_row(student, ASKED[0])]
    path = tmp_path / "by_hand.csv"
    counted_by_hand(rows, path)
    text = path.read_text("utf-8-sig")
    assert text.splitlines()[1].startswith(f'"\'{student}",')
    for given in (text, text.replace(f"'{student}", student)):
        path.write_text(given.replace(',"",', ",5,"), encoding="utf-8", newline="")
        assert counted_by_hand(rows, path)[0]["points"] == 5


@pytest.mark.parametrize("student", ["4711", "jose", "mary15", "ab12", "12 monkeys", "marie"])
def test_other_names_stay_as_they_are(student):
    assert name_for(student) == student

"""The commands of `python -m course_lib`."""

from pathlib import Path

import pytest

from course_lib import __main__ as cli


def test_no_command_and_a_wrong_one_say_what_there_is(capsys):
    for arguments in ([], ["grades"]):
        with pytest.raises(SystemExit) as left:
            cli.main(arguments)
        assert left.value.code == 2
    assert "progress" in capsys.readouterr().err


def test_help_has_a_line_for_each_command(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert all(
        name in shown and run.__doc__.split()[0] in shown for name, run in cli.COMMANDS.items()
    )


def test_environment_names_torch(capsys):
    assert cli.main(["environment"]) == 0
    assert "torch" in capsys.readouterr().out


def test_exercises_are_written_and_checked(capsys, monkeypatch, tmp_path):
    (tmp_path / "exercises").mkdir()
    (tmp_path / "solutions").symlink_to(cli.ROOT / "solutions")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    assert cli.main(["exercises", "--check"]) == 1
    assert "make exercises" in capsys.readouterr().out
    assert cli.main(["exercises"]) == 0
    assert "01_shapes.ipynb" in capsys.readouterr().out
    assert cli.main(["exercises", "--check"]) == 0


def test_figures_are_written(monkeypatch, tmp_path):
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    assert cli.main(["figures"]) == 0
    drawn = sorted(path.name for path in (tmp_path / "notebooks" / "figures").iterdir())
    chapters = sorted(
        path.stem for path in (Path(__file__).parents[1] / "notebooks").glob("*.ipynb")
    )
    assert drawn == [f"{chapter}.svg" for chapter in chapters]

"""Every wall is needed: with it an attack is refused, and without it the same attack succeeds."""

import functools
import sys

import pytest

from course_lib.grading.confined import confine
from course_lib.grading.confined.confine import FULL, WALLS
from course_lib.grading.confined.session import Warm
from course_lib.grading.doctor import ATTACKS, gets_through

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


@pytest.fixture(scope="module")
def warm():
    """A warm process without some walls, one for each choice."""
    made: dict[tuple[str, ...], Warm] = {}

    def without(*walls: str) -> Warm:
        held = tuple(wall for wall in WALLS if wall not in walls) or ("none",)
        if held not in made:
            made[held] = Warm(walls=held)
        return made[held]

    child = without().fork(())
    child.end()
    if missing := set(FULL) - set(child.walls):
        pytest.skip(f"this machine has no {' and no '.join(sorted(missing))}")
    yield without
    for one in made.values():
        one.close()


each = functools.partial(pytest.mark.parametrize, "attack", ids=lambda attack: attack.what)


@each(ATTACKS)
def test_all_walls_together_refuse_it(warm, attack, tmp_path):
    assert not gets_through(attack, warm(), tmp_path)


@each(ATTACKS)
def test_without_its_walls_it_succeeds(warm, attack, tmp_path):
    # A user of its own refuses much besides, and a grader that isn't run by root hasn't it.
    assert gets_through(attack, warm("user", *attack.walls), tmp_path)


@each([attack for attack in ATTACKS if len(attack.walls) > 1])
def test_each_of_its_walls_refuses_it_alone(warm, attack, tmp_path):
    for wall in attack.walls:
        others = [other for other in attack.walls if other != wall]
        assert not gets_through(attack, warm("user", *others), tmp_path), wall


@pytest.mark.parametrize("wall", FULL)
def test_every_wall_stands_before_some_attack(wall):
    assert any(wall in attack.walls for attack in ATTACKS)


def test_packages_that_lie_elsewhere_can_be_read_and_the_course_cannot(monkeypatch, tmp_path):
    system, own = tmp_path / "system" / "site-packages", tmp_path / "own"
    for folder in (system / "torch", system / "course_lib", own / "secret"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(system), str(own)])
    found = set(confine.readable())
    assert system / "torch" in found
    assert not found & {system / "course_lib", system, own, own / "secret"}

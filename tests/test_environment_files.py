"""pyproject.toml, constraints.txt, environment.yml and the Makefile name one environment."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text().splitlines()
PINS = [Requirement(line) for line in CONSTRAINTS if line and not line.startswith("#")]
VERSION = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in PINS}
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
EXTRAS = PROJECT["optional-dependencies"]
DIRECT = [
    Requirement(text) for part in (PROJECT["dependencies"], *EXTRAS.values()) for text in part
]
TESTED_PYTHONS = ("3.11", "3.12", "3.13")


def conda_pip_lines() -> list[str]:
    return next(d["pip"] for d in CONDA["dependencies"] if isinstance(d, dict))


def test_constraints_pins_each_package_once_and_exactly():
    assert len(PINS) > 50
    assert len(VERSION) == len(PINS), "a package is pinned twice"
    for pin in PINS:
        assert re.fullmatch(r"==[0-9a-z.]+", str(pin.specifier)), f"{pin} is not one version"


def test_constraints_says_how_it_was_made():
    assert "make constraints" in CONSTRAINTS[0]
    assert re.match(r"# Python 3\.\d+", CONSTRAINTS[1])


def test_constraints_suits_every_machine():
    for pin in PINS:
        assert not re.match(r"(nvidia|cuda)", pin.name), f"{pin} needs NVIDIA's wheels"
        assert pin.url is None and pin.marker is None, f"{pin} binds to one machine"


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_pin_lies_in_the_range_that_pyproject_allows(requirement):
    version = VERSION.get(canonicalize_name(requirement.name))
    assert version, f"{requirement.name} is missing from constraints.txt: make constraints"
    assert requirement.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_direct_dependency_has_a_lower_bound(requirement):
    operators = {specifier.operator for specifier in requirement.specifier}
    assert operators in ({">="}, {"=="}), f"make lowest can't read {requirement}"


def test_conda_python_is_one_that_pyproject_allows():
    spec = next(d for d in CONDA["dependencies"] if re.match(r"python\b", str(d)))
    conda, project = SpecifierSet(spec.removeprefix("python")), PROJECT["requires-python"]
    allowed = [f"3.{minor}" for minor in range(6, 30) if conda.contains(f"3.{minor}")]
    assert tuple(allowed) == TESTED_PYTHONS
    assert all(SpecifierSet(project).contains(python) for python in allowed)


def test_conda_takes_its_versions_from_constraints_and_pins_nothing():
    assert conda_pip_lines() == ["-c constraints.txt", "-e ."]
    others = [d for d in CONDA["dependencies"] if isinstance(d, str)]
    assert sorted(re.split(r"[<>=]", d)[0] for d in others) == ["pip", "python"]


def test_makefile_installs_with_constraints():
    recipes = (ROOT / "Makefile").read_text().split("\n\n")
    stamps = [recipe for recipe in recipes if "$(VENV)/.installed" in recipe.split(":")[0]]
    assert len(stamps) == 2
    for recipe in stamps:
        installs = [line for line in recipe.splitlines() if "$(PIP)" in line]
        assert len(installs) == 2
        assert all("-c constraints.txt" in line for line in installs)

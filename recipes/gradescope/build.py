"""Build the zip that Gradescope takes: `python recipes/gradescope/build.py 03 --key FILE`."""

import argparse
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEY_BYTES, KEY_AT_MOST = 32, 1_000  # as `grade --key` wants it
COURSE = ("course_lib", "pyproject.toml", "constraints.txt", "README.md", "LICENSE")


def files() -> list[Path]:
    """What of the course a grader needs; no solutions, no tests, no notebooks."""
    found = []
    for name in COURSE:
        path = ROOT / name
        found += sorted(path.rglob("*")) if path.is_dir() else [path]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def build(out: Path, chapter: str, key: str) -> None:
    """Write the zip; every file gets the same date, so the same course gives the same bytes."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, data: bytes, mode: int) -> None:
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)

        for script in ("setup.sh", "run_autograder"):
            add(script, (HERE / script).read_bytes(), 0o755)
        add("key", key.encode(), 0o600)
        add("chapter", chapter.encode(), 0o644)
        for path in files():
            add(f"course/{path.relative_to(ROOT).as_posix()}", path.read_bytes(), 0o644)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapter", help="such as 03")
    parser.add_argument("--key", type=Path, required=True, help="the key of `grade --key`")
    parser.add_argument("--out", type=Path, default=Path("autograder.zip"))
    given = parser.parse_args()
    if not list((ROOT / "exercises").glob(f"{given.chapter}_*.ipynb")):
        parser.error(f"chapter {given.chapter!r} has no exercises; expected one such as 03")
    key = given.key.read_text(encoding="utf-8", errors="replace").strip()
    if not KEY_BYTES <= len(key) <= KEY_AT_MOST or not key.isprintable():
        parser.error(f"{given.key} is no key: expected one line of {KEY_BYTES} or more characters")
    build(given.out, given.chapter, key)
    print(f"Written to {given.out}. It holds the key: for instructors alone.")


if __name__ == "__main__":
    main()

"""The picture that opens each chapter, drawn by the chapter's own charts."""

import importlib
from pathlib import Path

CHAPTERS = {
    "00_start_here": "start_here",
    "01_shapes": "shapes",
    "02_attention": "attention",
    "03_masks": "masks",
    "04_heads": "heads",
    "05_positions": "positions",
    "06_tiling": "tiling",
    "07_kernel": "kernel",
}


def write(folder: Path) -> list[Path]:
    """Draw every opening picture into the folder, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chapter, noun in CHAPTERS.items():
        picture = importlib.import_module(f"course_lib.show.{noun}").opening()
        path = folder / f"{chapter}.svg"
        path.write_text(picture.svg, encoding="utf-8")
        written.append(path)
    return written

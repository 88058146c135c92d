"""What every chart of the course is held to."""

import re
from collections.abc import Callable

from course_lib.show.figures import Picture


def assert_vector(draw: Callable[[], Picture], least: float = 400, raster: bool = False) -> None:
    """The picture fits the page, is the same when drawn again, and stays sharp."""
    picture = draw()
    assert least < float(re.search(r'width="([\d.]+)pt"', picture.svg)[1]) < 600
    assert picture.svg == draw().svg
    assert "<image" not in picture.svg or raster

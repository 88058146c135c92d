"""Pictures and tables that keep their description in every front end."""

import base64
import html
import io
import numbers
import re
from collections.abc import Collection, Iterable, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.show import style

MARK = "◀"  # says "look here" to a reader who can't see the shading

# Numbers as text too ("1.5e-3", "4,096", "12 %"), so that their columns line up on the right.
NUMBER_LIKE = re.compile(r"[−+-]?\d[\d., _]*([eE][−+-]?\d+)?( ?[%×]| [A-Za-zµ]{1,5})?")


def rich(text: str) -> str:
    """Escape a text for HTML and set what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


class Picture:
    """A drawn figure with its description, shown once and readable on a dark page."""

    def __init__(self, svg: str, alt: str, caption: str | None = None):
        self.svg = svg
        self.alt = alt
        self.caption = caption

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"

    def _repr_html_(self) -> str:
        # Jupyter drops the alt text of an image output; in HTML it survives.
        data = base64.b64encode(self.svg.encode()).decode()
        caption = f"<figcaption>{rich(self.caption)}</figcaption>" if self.caption else ""
        return (
            '<figure style="margin:0.5em 0">'
            f'<img alt="{html.escape(self.alt)}" src="data:image/svg+xml;base64,{data}"'
            ' style="max-width:100%;height:auto;background:#fff">'
            f"{caption}</figure>"
        )


def figure(fig: Figure, alt: str, caption: str | None = None) -> Picture:
    """Turn a matplotlib figure into a picture that says in words what it shows.

    The same drawing gives the same bytes under one matplotlib version. Closes `fig`, else the
    notebook's backend would show it a second time. `alt` states what a reader should see, not
    that there is a figure.
    """
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"figure: alt must say in words what the figure shows; got {alt!r}")
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": style.HASHSALT}):
        # No date and no version in the file: a diff then means that the drawing changed.
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    svg = re.sub(r"[ \t]+$", "", buffer.getvalue(), flags=re.M)
    # A clip's id hashes the last bits of the layout, which vary from draw to draw: number them.
    clips: dict[str, str] = {}
    svg = re.sub(r"\bp[0-9a-f]{10}\b", lambda m: clips.setdefault(m[0], f"clip{len(clips)}"), svg)
    return Picture(svg, " ".join(alt.split()), caption)


class Table:
    """A table with a caption and header cells, as HTML or as aligned text."""

    def __init__(
        self,
        rows: list[list[str]],
        columns: list[str],
        caption: str,
        marked: Collection[int | tuple[int, int]] = (),
        row_headers: bool = True,
    ):
        self.rows, self.columns, self.caption = rows, columns, caption
        self._marked, self._row_headers = marked, row_headers
        cells = [[row[c] for row in rows if row[c]] for c in range(len(columns))]
        self._right = [bool(c) and all(map(NUMBER_LIKE.fullmatch, c)) for c in cells]

    def _marks(self, row: int, column: int) -> bool:
        return row in self._marked or (row, column) in self._marked

    def __repr__(self) -> str:
        # A marked row gets one mark at its end, a marked cell its own.
        body = [
            [c + f" {MARK}" * ((r, i) in self._marked) for i, c in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        widths = [max(map(len, column)) for column in zip(self.columns, *body, strict=True)]

        def line(cells: Sequence[str]) -> str:
            sides = zip(cells, widths, self._right, strict=True)
            return "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in sides).rstrip()

        ends = [f"  {MARK}" if r in self._marked else "" for r in range(len(body))]
        lines = [line(row) + end for row, end in zip(body, ends, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([self.caption, "", line(self.columns), rule, *lines])

    def _repr_html_(self) -> str:
        heads = "".join(
            f'<th scope="col" style="{self._style(c)}">{rich(name)}</th>'
            for c, name in enumerate(self.columns)
        )
        body = "".join(
            f'<tr style="outline:{int(r in self._marked)}px solid currentColor">'
            f"{''.join(self._cell(r, c) for c in range(len(self.columns)))}</tr>"
            for r in range(len(self.rows))
        )
        return (
            '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0.5em 0">'
            '<caption style="caption-side:top;text-align:left;font-weight:bold;'
            f'color:inherit;padding:0.3em 0">{rich(self.caption)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _style(self, column: int) -> str:
        side = "right" if self._right[column] else "left"
        return f"text-align:{side};padding:0.25em 0.8em;vertical-align:top"

    def _cell(self, row: int, column: int) -> str:
        text, look = rich(self.rows[row][column]), self._style(column)
        if self._marks(row, column):
            look += ";font-weight:bold"
            if (row, column) in self._marked:
                look += ";outline:1px solid currentColor"
            if (row, column) in self._marked or column == len(self.columns) - 1:
                text += f" {MARK}"
        if column == 0 and self._row_headers:
            return f'<th scope="row" style="{look}">{text}</th>'
        return f'<td style="{look}">{text}</td>'


def table(
    rows: Iterable[Iterable],
    columns: Sequence[str],
    caption: str,
    marked: Collection[int | tuple[int, int]] = (),
    row_headers: bool = True,
) -> Table:
    """Lay out rows under named columns, with numbers lined up on the right.

    Whole numbers get thousands separators, other numbers four significant digits; pass text where
    you want another form. `marked` points out rows (3) or single cells ((3, 1)) with a sign as
    well as a frame. The first column names its row unless `row_headers` is False.
    """
    if not isinstance(caption, str) or not caption.strip():
        raise ValueError(f"table: caption must say what the table shows; got {caption!r}")
    names = [str(name) for name in columns]
    if not names:
        raise ValueError("table: columns must name at least one column; got none")
    texts = [[_text(cell) for cell in row] for row in rows]
    for r, row in enumerate(texts):
        if len(row) != len(names):
            raise ValueError(f"table: rows[{r}] has {len(row)} cells for {len(names)} columns")
    for mark in marked:
        r, c = mark if isinstance(mark, tuple) else (mark, 0)
        if not (0 <= r < len(texts) and 0 <= c < len(names)):
            raise ValueError(
                f"table: marked has {mark!r}; there are {len(texts)} rows and {len(names)} columns"
            )
    return Table(texts, names, caption, marked, row_headers)


def _text(cell: object) -> str:
    if not isinstance(cell, str) and hasattr(cell, "item"):
        cell = cell.item()  # a tensor or array of one element
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, numbers.Integral):
        return f"{int(cell):,}"
    if isinstance(cell, numbers.Real):
        return f"{float(cell):.4g}"
    return "" if cell is None else str(cell)

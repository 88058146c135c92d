"""The still view of the programs: its tiles and bytes are the kernel's, its row the softmax's."""

import torch
from pictures import assert_vector

from course_lib.heads import share
from course_lib.masks import causal
from course_lib.show.explorables import defaults
from course_lib.show.programs import programs_inputs, programs_view


def test_view_is_vector_fits_the_page_and_draws_the_same_twice():
    assert_vector(programs_view)


def test_view_shows_how_each_program_of_the_kernel_reads_its_tiles():
    state, alt = defaults("programs"), programs_view().alt
    head, passes = state["program"] // 3, []
    for i, first in enumerate(range(0, 40, 16)):
        # `whole` and `stop` of kernel.forward.
        place = first + 44 - 40
        whole, stop = min(32, (place + 1) // 16 * 16), min(44, place + 16)
        starts = range(0, 44, 16)
        read = ["not read" if s >= stop else "mask" if s >= whole else "no mask" for s in starts]
        rows, keys = min(16, 40 - first), min(44, -(-stop // 16) * 16)
        moved = 2 * (2 * rows * 16 + 2 * keys * 16) + 4 * rows
        passes.append(f"program ({i}, {head}) {', '.join(read)}, {moved} bytes")
    assert "; ".join(passes) in alt


def test_view_follows_the_row_that_the_explorable_starts_with():
    state, alt = defaults("programs"), programs_view().alt.replace("−", "-")
    tile, head = state["program"] % 3, state["program"] // 3
    query = 16 * tile + state["row"]
    q, k, v = programs_inputs(state).values()
    scores = (q[0, head, query] @ share(k, 4)[0, head].T / 4).masked_fill(
        ~causal(40, 44)[0, 0, query], -torch.inf
    )
    values, top = share(v, 4)[0, head, :, 0], torch.tensor(-torch.inf, dtype=torch.float64)
    assert f"Query {query} after tile 1" in alt
    for j, end in enumerate((16, 32, 44)):
        before, top = top, scores[:end].max()
        row_sum = (scores[:end] - top).exp().sum()
        acc = scores[:end].softmax(0) @ values[:end] * row_sum
        rescale = (before - top).exp()
        shown = "0" if rescale == 0 else f"{rescale:.3f}"
        numbers = f"row_max {top:.3f}, rescale {shown}, row_sum {row_sum:.3f}, acc[0] {acc:.3f}"
        assert f"tile {j + 1}: {numbers}" in alt
    assert f"Its first output is {acc / row_sum:.3f}." in alt

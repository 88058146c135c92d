"""What a learner meets: every chapter in JupyterLab, in a real browser, by keyboard and mouse.

`SHOTS=folder` also saves how each chapter looks, at two widths.
"""

import ast
import json
import os
import re
from pathlib import Path

import axe_playwright_python
import nbformat
import pytest
from lab import FLAGS, Notebook, find_browser, serve
from playwright.sync_api import Locator, sync_playwright

ROOT = Path(__file__).parents[1]
CHAPTERS = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
BROWSER = find_browser()
CONTROLS = "input[type=range], td button"

pytestmark = pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")

# From the key to the frame that shows its effect.
STOPWATCH = """widget => {
  let pressed = null;
  window.waits = [];
  widget.addEventListener("keydown", () => { pressed = performance.now(); }, true);
  new MutationObserver(() => {
    if (pressed === null) return;
    const start = pressed;
    pressed = null;
    requestAnimationFrame(() => setTimeout(() => window.waits.push(performance.now() - start)));
  }).observe(widget.querySelector("[aria-live]"),
    { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def address(scratch):
    with serve(ROOT / "notebooks", scratch) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(request, address, browser):
    """A chapter with every cell run."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    notebook = Notebook(page, address, request.param)
    notebook.run_all()
    yield notebook
    notebook.shut_down()
    page.close()


def written_calls(name: str, function: str) -> list[ast.Call]:
    """The calls of a function in a chapter's source, in order."""
    found = []
    for cell in nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4).cells:
        if cell.cell_type == "code":
            tree = ast.parse(re.sub(r"^(\s*)[%!]", r"\1# ", cell.source, flags=re.MULTILINE))
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            found += [call for call in calls if getattr(call.func, "id", "") == function]
    return found


def explorables(chapter: Notebook) -> list[Locator]:
    return chapter.page.locator(".explorable:has(.controls)").all()


def predictions(chapter: Notebook) -> list[tuple[Locator, str, dict[str, str]]]:
    """Each prediction with its answer and its options, which the page doesn't show."""
    shown = chapter.page.locator(".explorable:has(fieldset):not(:has(.controls))").all()
    calls = written_calls(chapter.name, "predict")
    assert len(shown) == len(calls) >= 5
    asked = [{k.arg: ast.literal_eval(k.value) for k in call.keywords} for call in calls]
    return [(s, a["answer"], a["options"]) for s, a in zip(shown, asked, strict=True)]


def words(widget: Locator) -> str:
    return widget.locator("[aria-live]").inner_text()


def plain(text: str) -> str:
    return text.replace("`", "")


def first_control(widget: Locator) -> Locator:
    """What a reader moves first: a slider, or a cell that can be pressed."""
    return widget.locator(CONTROLS).first


def is_slider(control: Locator) -> bool:
    return control.get_attribute("type") == "range"


def test_every_cell_runs_without_an_error(chapter):
    for cell in chapter.cells():
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error", f"{cell['id']}: {output['evalue']}"
            assert output.get("name") != "stderr", f"{cell['id']}: {output['text']}"
    assert chapter.page_errors == []


def test_nothing_outside_is_asked_for(chapter):
    assert chapter.outside == []


def test_every_widget_is_drawn(chapter):
    assert len(explorables(chapter)) == len(written_calls(chapter.name, "explorable"))
    assert len(predictions(chapter)) == len(written_calls(chapter.name, "predict"))


def test_every_picture_is_drawn_and_described(chapter):
    images = chapter.page.locator(".jp-Notebook img").all()
    assert images
    for image in images:
        assert image.get_attribute("alt"), "a picture without alt text"
        assert image.evaluate("e => e.decode().then(() => e.naturalWidth > 0)")


def test_outputs_have_no_accessibility_fault(chapter):
    chapter.page.evaluate(AXE.read_text())
    with chapter.unrolled():
        outputs = "{include: [['.jp-OutputArea-output']]}"
        found = chapter.page.evaluate(f"() => axe.run({outputs})")
    assert {"color-contrast", "label"} <= {rule["id"] for rule in found["passes"]}
    faults = [
        (fault["id"], fault["help"], fault["nodes"][0]["html"][:200])
        for fault in found["violations"]
    ]
    assert not faults, "\n".join(map(str, faults))


def test_explorables_answer_the_keyboard(chapter):
    for widget in explorables(chapter):
        widget.evaluate(STOPWATCH)
        control = first_control(widget)
        control.focus()
        keys = ("ArrowRight", "ArrowLeft") if is_slider(control) else ("Space",)
        if is_slider(control):
            control.press("Home")
        for press in range(20):
            before = words(widget)
            control.press(keys[press % len(keys)])
            chapter.page.wait_for_function("n => window.waits.length > n", arg=press)
            assert words(widget) != before
        waits = sorted(chapter.page.evaluate("() => window.waits"))
        label = widget.get_attribute("aria-label")
        p95 = waits[int(0.95 * (len(waits) - 1))]
        print(f"{chapter.name}, {label}: 95 % of {len(waits)} keys painted within {p95:.0f} ms")


def test_explorables_answer_the_mouse(chapter):
    for widget in explorables(chapter):
        for control in widget.locator(f"{CONTROLS}, input[type=checkbox]").all():
            control.scroll_into_view_if_needed()
            before = words(widget)
            if is_slider(control):
                box, value = control.bounding_box(), control.evaluate("e => e.value / e.max")
                control.click(position={"x": box["width"] * (0.2 if value > 0.5 else 0.8), "y": 8})
            else:
                control.click()
            assert words(widget) != before


def test_keys_in_a_control_leave_the_notebook_alone(chapter):
    for widget in explorables(chapter):
        control = first_control(widget)
        control.click()
        before = chapter.state()
        for key in ("ArrowDown", "ArrowUp", "ArrowRight", "j", "k", "a", "b", "d", "d", "x", "m"):
            control.press(key)
        assert chapter.state() == before
        assert widget.evaluate("e => e.contains(document.activeElement)")


def test_looks(chapter):
    if "SHOTS" not in os.environ:
        pytest.skip("no SHOTS=folder to save pictures in")
    folder = Path(os.environ["SHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    for width in (800, 1280):
        chapter.screenshots(folder, width)


def test_narrow_window_cuts_nothing_off(chapter):
    chapter.page.set_viewport_size({"width": 800, "height": 900})
    chapter.page.wait_for_timeout(300)
    wide = chapter.page.locator(".explorable, figure").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 99))"
    )
    chapter.page.set_viewport_size({"width": 1280, "height": 900})
    assert wide == []


def test_predictions_give_a_verdict_and_are_kept(chapter, scratch):
    (first, answer, options), (second, right, others) = predictions(chapter)[:2]
    first.get_by_role("button", name="Commit").click()
    assert "Choose an option first" in words(first)

    first.locator("input[type=radio]").nth(list_index(first, answer)).check()
    first.get_by_role("button", name="Commit").click()
    assert "Noted" in words(first) and plain(options[answer]) not in words(first)
    first.get_by_role("button", name="Show the answer").click()
    assert "Right" in words(first) and plain(options[answer]) in words(first)

    wrong = next(label for label in others if label != right)
    radio = second.locator("input[type=radio]").nth(list_index(second, wrong))
    radio.focus()
    radio.press("Space")
    for name in ("Commit", "Show the answer"):
        button = second.get_by_role("button", name=name)
        button.focus()
        button.press("Enter")
    for said in (wrong, others[wrong], right, others[right]):
        assert plain(said) in words(second)
    assert second.locator("input[type=radio]:enabled").count() == 0

    expected = [(answer, True), (wrong, False)]
    record, kept = scratch / "progress.jsonl", []
    for _ in range(50):
        lines = record.read_text().splitlines() if record.exists() else []
        kept = [json.loads(line) for line in lines][-2:]
        if [(entry["chosen"], entry["right"]) for entry in kept] == expected:
            return
        chapter.page.wait_for_timeout(100)
    raise AssertionError(f"kept {kept}, not {expected}")


def list_index(widget: Locator, label: str) -> int:
    """Which radio of a prediction has this label."""
    values = widget.locator("input[type=radio]").evaluate_all("all => all.map(e => e.value)")
    return values.index(label)


# --- the explorables with controls or labels that the tests above don't meet ---

CROWDED = """svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent,
    t.getBoundingClientRect()]);
  const out = texts.filter(([, a]) => a.left < frame.left - 1 || a.right > frame.right + 1
    || a.top < frame.top - 1 || a.bottom > frame.bottom + 1);
  const over = texts.filter(([, a], i) => texts.some(([, b], j) => j > i && a.left < b.right
    && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2));
  return [...out, ...over].map(([text]) => text);
}"""


@pytest.fixture(scope="module")
def gallery(address, browser, scratch):
    """A notebook with these explorables and the figures of their first views, run."""
    source = [
        "%load_ext course_lib",
        "from course_lib.show import explorable",
        "from course_lib.show.clock import clock_view",
        "from course_lib.show.offsets import offsets_view",
        "from course_lib.show.routes import routes_view",
        "from course_lib.show.stepper import stepper_view",
        "display(routes_view(), explorable('routes'), clock_view(), explorable('clock'))",
        "display(offsets_view(), explorable('offsets'), stepper_view(), explorable('stepper'))",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("\n".join(source))])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, scratch / "notebooks" / "gallery.ipynb")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    notebook = Notebook(page, address, "gallery")
    notebook.run_all()
    yield notebook
    notebook.shut_down()
    page.close()


def test_routes_answer_each_control_by_keyboard(gallery):
    widget = explorables(gallery)[0]
    assert words(widget).startswith("“crossed” reads cat (0.92) with head A, and road (0.83)")
    widget.evaluate(STOPWATCH)
    before = gallery.state()
    query = widget.get_by_role("radio", name="crossed")
    query.focus()
    query.press("ArrowRight")
    assert words(widget).startswith("“a” reads every word alike (0.17) with head A, and road")
    assert widget.get_by_role("radio", name="a", exact=True).is_checked()
    widget.locator("input:focus").press("ArrowLeft")
    heads = widget.locator("select")
    heads.focus()
    heads.press("End")
    assert words(widget).startswith("“crossed” reads cat (0.41) and road (0.41) with the wide head")
    loud = widget.locator("input[type=range]")
    loud.focus()
    loud.press("End")
    assert words(widget).startswith("“crossed” reads cat (0.50) and road (0.50) with the wide head")
    for control in (widget.locator("input:checked"), heads, loud):
        control.focus()
        for key in ("j", "k", "a", "b", "d", "d", "x", "m"):
            control.press(key)
        assert widget.evaluate("e => e.contains(document.activeElement)")
    assert gallery.state()[1:] == before[1:] and gallery.page_errors == gallery.outside == []
    gallery.page.wait_for_timeout(100)
    print(f"routes: slowest key painted within {max(gallery.page.evaluate('window.waits')):.0f} ms")


def test_gallery_has_no_accessibility_fault(gallery):
    gallery.page.evaluate(AXE.read_text())
    with gallery.unrolled():
        found = gallery.page.evaluate("() => axe.run({include: [['.jp-OutputArea-output']]})")
    assert {"color-contrast", "label"} <= {rule["id"] for rule in found["passes"]}
    assert [(fault["id"], fault["help"]) for fault in found["violations"]] == []


@pytest.mark.parametrize("width", [480, 800, 1280])
def test_routes_overlap_no_labels_and_cut_nothing_off(gallery, width):
    widget = explorables(gallery)[0]
    gallery.page.set_viewport_size({"width": width, "height": 900})
    gallery.page.wait_for_timeout(300)
    for heads in "0123":
        widget.locator("select").select_option(heads)
        for radio in widget.locator("input[type=radio]").all():
            radio.check()
            assert widget.locator("svg").evaluate(CROWDED) == []
            assert widget.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    if "SHOTS" in os.environ:
        widget.screenshot(path=Path(os.environ["SHOTS"]) / f"routes-{width}.png")
    gallery.page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("width", [480, 800, 1280])
def test_sliders_overlap_no_labels_and_cut_nothing_off(gallery, width):
    gallery.page.set_viewport_size({"width": width, "height": 900})
    gallery.page.wait_for_timeout(300)
    for widget in explorables(gallery)[1:3]:
        for option in range(widget.locator("option").count() or 1):
            if option:
                widget.locator("select").select_option(str(option))
            for slider in widget.locator("input[type=range]").all():
                for key in ("Home", "ArrowRight", "End"):
                    before = words(widget)
                    slider.press(key)
                    assert words(widget) != before
                    for drawing in widget.locator("svg").all():
                        assert drawing.evaluate(CROWDED) == []
        assert widget.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    gallery.page.set_viewport_size({"width": 1280, "height": 900})


def test_stepper_answers_each_control_by_keyboard(gallery):
    widget = explorables(gallery)[3]
    assert words(widget).startswith("Tile 2 of 4: the maximum rises from 0 to 1, so what was")
    before = gallery.state()
    step, (plan, broken) = widget.locator("input"), widget.locator("select").all()
    widget.evaluate(STOPWATCH)
    step.press("End")
    assert words(widget).endswith("The result is 5.679, as the direct softmax of the 11 keys read.")
    broken.press("ArrowDown")
    assert words(widget).endswith("The result is 3.956, the direct softmax gives 5.679.")
    plan.press("ArrowDown")
    assert words(widget).endswith("11 keys read. The fault does not show here.")
    plan.press("End")
    for key, result in (("End", "0"), ("ArrowUp", "NaN")):  # the tail, then the start
        broken.press(key)
        assert words(widget).endswith(f"The result is {result}, the direct softmax gives 5.679.")
    for control in (step, plan, broken):
        for key in ("j", "k", "a", "b", "d", "d", "x", "m"):
            control.press(key)
        assert widget.evaluate("e => e.contains(document.activeElement)")
    assert gallery.state()[1:] == before[1:] and gallery.page_errors == gallery.outside == []
    gallery.page.wait_for_timeout(100)
    print(f"stepper: slowest key painted in {max(gallery.page.evaluate('window.waits')):.0f} ms")


@pytest.mark.parametrize("width", [480, 800, 1280])
def test_stepper_overlaps_no_labels_and_cuts_nothing_off(gallery, width):
    widget = explorables(gallery)[3]
    gallery.page.set_viewport_size({"width": width, "height": 900})
    gallery.page.wait_for_timeout(300)
    step, (plan, broken) = widget.locator("input"), widget.locator("select").all()
    for tiles in "0123456":
        for fault in "034":
            plan.select_option(tiles)
            broken.select_option(fault)
            for key in ("End", "ArrowLeft"):
                step.press(key)
                assert widget.locator("svg").evaluate(CROWDED) == []
                assert widget.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    if "SHOTS" in os.environ:
        widget.screenshot(path=Path(os.environ["SHOTS"]) / f"stepper-{width}.png")
    gallery.page.set_viewport_size({"width": 1280, "height": 900})

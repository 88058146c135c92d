"""A course on attention: from the shapes of one call to a GPU kernel of your own."""


def hold_to_signatures() -> None:
    """Check every call of the modules that compute against the types and shapes they declare.

    For tests and notebooks, and for modules imported afterwards. Otherwise nothing is checked but
    what `course_lib.shapes.shaped` checks, and importing a module stays cheap.
    """
    from pathlib import Path

    import jaxtyping

    # Not the kernels: Triton compiles their source, and knows no function that is wrapped. Nor the
    # simulator: numbers and tiles stand for one another there, and its own words help more. Nor
    # what looks at every operation of torch: checked, it takes several times as long.
    left_out = {"kernel", "kernel_tuned", "simulator", "slow_memory", "refusals", "made"}
    names = {path.stem for path in Path(__file__).parent.glob("[!_]*.py")} - left_out
    modules = [f"course_lib.{name}" for name in sorted(names)]
    jaxtyping.install_import_hook(modules, "beartype.beartype")


def load_ipython_extension(ipython) -> None:
    """Hold the library and the functions of a notebook's cells to their signatures.

    `%load_ext course_lib`, the first line of every chapter. Also sets the style of its figures.
    """
    hold_to_signatures()
    ipython.run_line_magic("load_ext", "jaxtyping")
    ipython.run_line_magic("jaxtyping.typechecker", "beartype.beartype")

    from course_lib.show import style

    style.apply()

"""A course on attention: from the shapes of one call to a GPU kernel of your own."""


def load_ipython_extension(ipython) -> None:
    """Turn on shape checking and the course's plot style: `%load_ext course_lib`.

    From here on every function a cell defines is held to the shapes in its signature, and so is
    every module of this library that is imported afterwards. Outside a notebook nothing is checked
    but what `course_lib.shapes.shaped` checks, so that importing one module stays cheap.
    """
    import jaxtyping

    from course_lib.show import style

    jaxtyping.install_import_hook("course_lib", "beartype.beartype")
    ipython.run_line_magic("load_ext", "jaxtyping")
    ipython.run_line_magic("jaxtyping.typechecker", "beartype.beartype")
    style.apply()

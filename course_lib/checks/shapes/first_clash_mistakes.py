"""The mistakes of 01.5: searches that miss a clash or name another."""

from functools import partial

from course_lib.checks.question import Mistake


def _clashes(dims, shapes):
    """Every clash as (entry, dim, the entry that said it first)."""
    known, found = {}, []
    for name, axes in dims.items():
        for dim, size in zip(axes.split(), shapes[name], strict=True):
            first, owner = known.setdefault(dim, (size, name))
            if first != size:
                found.append((name, dim, owner))
    return found


def _dim_by_dim(dims, shapes):
    order = list(dict.fromkeys(" ".join(dims.values()).split()))
    found = sorted(_clashes(dims, shapes), key=lambda clash: order.index(clash[1]))
    return found[0][:2] if found else None


def _scanning(axes, known_by=lambda place, dim: dim):
    """The right loop over other axes, or with another memory."""

    def run(dims, shapes):
        known = {}
        for name in dims:
            for place, (dim, size) in enumerate(axes(dims[name], shapes[name])):
                if known.setdefault(known_by(place, dim), size) != size:
                    return name, dim
        return None

    return run


def _axes(text, shape):
    return list(zip(text.split(), shape, strict=True))


_right = _scanning(_axes)


def _against(pick):
    """Compare each entry with one earlier entry alone."""

    def run(dims, shapes):
        names = list(dims)
        pairs = [(names[pick(i)], names[i]) for i in range(1, len(names))]
        found = [_right({name: dims[name] for name in pair}, shapes) for pair in pairs]
        return next(filter(None, found), None)

    return run


def _first_agreement(dims, shapes):
    known = {}
    for name in dims:
        for dim, size in _axes(dims[name], shapes[name]):
            if dim in known:
                return None if known[dim] == size else (name, dim)
            known[dim] = size
    return None


def _agreement(dims, shapes):
    known = {}
    for name in dims:
        for dim, size in _axes(dims[name], shapes[name]):
            if known.get(dim) == size:
                return name, dim
            known[dim] = size
    return None


def _place(dims, shapes):
    known = {}
    for name in dims:
        for place, (dim, size) in enumerate(_axes(dims[name], shapes[name])):
            if known.setdefault(dim, size) != size:
                return name, place
    return None


_wrong = partial(Mistake, reread='01, "Write the ledger first"')
_shows = partial(Mistake, reread='01, "When sizes are equal"')

MISTAKES = (
    _wrong(
        "the last clash",
        lambda dims, shapes: next((c[:2] for c in reversed(_clashes(dims, shapes))), None),
        "You go on after a clash, and report the last.",
        "When is the answer known?",
    ),
    _wrong(
        "dim by dim",
        _dim_by_dim,
        "You take one dim after the other through the whole ledger.",
        "First in what: in the order of dims, or in the order of entries?",
    ),
    _wrong(
        "the earlier one",
        lambda dims, shapes: next((c[:0:-1] for c in _clashes(dims, shapes)), None),
        "You name the entry that said it first, and it disagrees with nothing before it.",
        "Which of the two came second?",
    ),
    _wrong(
        "dim before name",
        lambda dims, shapes: next((c[1::-1] for c in _clashes(dims, shapes)), None),
        "You give the dim first and the entry second.",
        "In which order does the question want the two?",
    ),
    _wrong(
        "the neighbour alone",
        _against(lambda i: i - 1),
        "You compare each entry with the one just before it.",
        "What do you still know of the entries before that?",
    ),
    _wrong(
        "the first entry alone",
        _against(lambda i: 0),
        "You compare each entry with the first.",
        "Who remembers a dim that the first entry doesn't have?",
    ),
    _wrong(
        "each entry for itself",
        lambda dims, shapes: next(filter(None, (_right({n: dims[n]}, shapes) for n in dims)), None),
        "You forget every size at the end of an entry.",
        "Where must the memory begin, so that the next entry still finds it?",
    ),
    _shows(
        "one fits anything",
        _scanning(lambda text, shape: [pair for pair in _axes(text, shape) if pair[1] != 1]),
        "You let a size of 1 pass, as broadcasting does.",
        "Is a ledger there to allow a broadcast or to report it?",
    ),
    _wrong(
        "one size a dim",
        _scanning(lambda text, shape: dict(_axes(text, shape)).items()),
        "You keep one size for each dim of an entry: of two axes with one name, the first is lost.",
        "When is an axis compared: when all are collected, or as it comes?",
    ),
    _wrong(
        "the first of its name",
        _scanning(lambda text, shape: [(d, shape[text.split().index(d)]) for d in text.split()]),
        "Of two axes with one name you look at the first, twice.",
        "How can you walk along names and sizes together?",
    ),
    _wrong(
        "paired by place",
        lambda dims, shapes: _right(dims, dict(zip(dims, shapes.values(), strict=True))),
        "You lay the first of dims beside the first of shapes, whatever their names are.",
        "What do an entry's dims and its sizes have in common?",
    ),
    _wrong(
        "letters for dims",
        _scanning(lambda text, shape: zip(text, shape, strict=False)),
        "You go through the text letter by letter, spaces too.",
        "What turns a text into its words?",
    ),
    _wrong(
        "place for name",
        _scanning(_axes, known_by=lambda place, dim: place),
        "You compare the first axis with the first and the second with the second.",
        "What says which axes must agree, their place or their name?",
    ),
    _wrong(
        "the order of shapes",
        lambda dims, shapes: _right({name: dims[name] for name in shapes}, shapes),
        "You go through the entries in the order of shapes.",
        "Which of the two arguments sets the order?",
    ),
    _wrong(
        "all clashes",
        lambda dims, shapes: [clash[:2] for clash in _clashes(dims, shapes)],
        "You return a list of all clashes.",
        "How many does the question ask for, and what if there are none?",
    ),
    _wrong(
        "the name alone",
        lambda dims, shapes: (_right(dims, shapes) or [None])[0],
        "You return the entry and not the dim.",
        "Which two things does the question want?",
    ),
    _wrong(
        "the dim alone",
        lambda dims, shapes: (_right(dims, shapes) or [None, None])[1],
        "You return the dim and not the entry.",
        "Which two things does the question want?",
    ),
    _wrong(
        "a pair of None",
        lambda dims, shapes: _right(dims, shapes) or (None, None),
        "You return a pair where nothing clashes.",
        "What does the question want when all agree?",
    ),
    _wrong(
        "first entry alone read",
        lambda dims, shapes: _right(dict([next(iter(dims.items()))]), shapes),
        "Your function ends after the first entry.",
        "How far in does your last return stand?",
    ),
    _wrong(
        "the first agreement",
        _first_agreement,
        "You answer None as soon as one axis agrees.",
        "Can one axis speak for those that come after it?",
    ),
    _wrong(
        "agreement for clash",
        _agreement,
        "You report the first axis that agrees with an earlier one.",
        "Is a clash two sizes that are equal, or two that differ?",
    ),
    _wrong(
        "the alphabet",
        lambda dims, shapes: _right({name: dims[name] for name in sorted(dims)}, shapes),
        "You go through the entries in the order of the alphabet.",
        "Which order does the question ask for, and who keeps it?",
    ),
    _wrong(
        "the number of the axis",
        _place,
        "You return the entry and the number of the axis, counted from 0.",
        "What does the question want for the axis, its place or its dim?",
    ),
    _wrong(
        "a memory that stays",
        lambda dims, shapes: _right({"": "B H"} | dims, {"": (2, 3)} | shapes),
        "Your function remembers the sizes of an earlier call.",
        "Where is your memory made: once for all calls, or anew in each?",
    ),
    _wrong(
        "one string",
        lambda dims, shapes: " ".join(_right(dims, shapes) or "") or None,
        "You join entry and dim into one string.",
        "How does a function return two things that can be told apart?",
    ),
    _wrong(
        "always None",
        lambda dims, shapes: None,
        "You find no clash, and None comes back.",
        "With what is each size compared, and when was that written down?",
    ),
)

"""Predictions: the reader commits to an answer before the number appears."""

import hashlib
import re

import anywidget
import traitlets

from course_lib.checks.progress import record_prediction, recorded_prediction
from course_lib.show.explorables import bundle, with_text
from course_lib.show.figures import rich

ID = re.compile(r"\d\d\.[a-z][a-z0-9_-]*")


class Measured:
    """What was measured, beside what was predicted."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<p class="measured">{rich(self.text)}</p>'


class Prediction(anywidget.AnyWidget):
    """A question with options; once committed, the choice can't be changed.

    The answer comes with the measurement in a later cell. The front end can show it too, when
    asked, so that a page without a kernel loses nothing.
    """

    question_id = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    options = traitlets.List().tag(sync=True)  # pairs [label, reason], in the order shown
    chosen = traitlets.Unicode("").tag(sync=True)  # "" until the commit
    _esm = traitlets.Unicode().tag(sync=True)

    _committed = ""

    @traitlets.validate("chosen")
    def _keep_first(self, proposal: traitlets.Bunch) -> str:
        choice = self._committed or proposal["value"]
        if choice not in ["", *dict(self.options)]:
            raise traitlets.TraitError(
                f"prediction {self.question_id}: chosen must be an option; got {choice!r}"
            )
        return choice

    @traitlets.observe("chosen")
    def _record(self, change: traitlets.Bunch) -> None:
        if self._committed or not change["new"]:
            return
        self._committed = change["new"]
        if recorded_prediction(self.question_id) is None:
            record_prediction(self.question_id, self._committed, self._committed == self.answer)

    def measured(self, label: str) -> Measured:
        """Confront the prediction with the label computed from the measured numbers.

        Raises AssertionError where the measurement isn't the declared answer: then the question
        is out of date, whatever the reader chose.
        """
        if label != self.answer:
            raise AssertionError(
                f"prediction {self.question_id}: measured {label!r}, but its answer says "
                f"{self.answer!r}"
            )
        if not self.chosen:
            return Measured(
                f"Measured: {label}. (You made no prediction: go back to the question.)"
            )
        reasons = dict(self.options)
        if self.chosen == self.answer:
            return Measured(f"Measured: {label}, as you predicted. {reasons[label]}")
        return Measured(
            f"Measured: {label}. {reasons[label]} "
            f"You predicted “{self.chosen}”. {reasons[self.chosen]}"
        )

    def __repr__(self) -> str:
        labels = "\n".join(f"  ( ) {label}" for label, _ in self.options)
        return f"Predict: {self.question}\n{labels}"

    def _repr_mimebundle_(self, **kwargs):
        return with_text(super()._repr_mimebundle_(**kwargs), repr(self))


def predict(id: str, question: str, answer: str, options: dict[str, str]) -> Prediction:
    """Ask for a prediction and hold the reader to it.

    `options` maps each label to the reason a person would choose it; `answer` is the label that
    the next cell will measure. The options appear in an order fixed by `id`, so the right one has
    no habitual place. A choice committed in an earlier run is shown as committed.
    """
    _validate(id, question, answer, options)

    def place(option: tuple[str, str]) -> str:
        return hashlib.sha256(f"{id} {option[0]}".encode()).hexdigest()

    earlier = recorded_prediction(id)
    return Prediction(
        question_id=id,
        question=question,
        answer=answer,
        options=[list(option) for option in sorted(options.items(), key=place)],
        chosen=earlier if earlier in options else "",
        _esm=bundle("predict"),
    )


def _validate(id: str, question: str, answer: str, options: dict[str, str]) -> None:
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise ValueError(f'predict: id must look like "02.growth" (chapter, dot, name); got {id!r}')
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"predict: question must not be empty; got {question!r}")
    if not isinstance(options, dict) or len(options) < 2:
        raise ValueError(f"predict: options must map at least two labels to reasons; got {options}")
    for label, reason in options.items():
        if not isinstance(label, str) or not label.strip():
            raise ValueError(f"predict: options has an empty label; got {label!r}")
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"predict: options[{label!r}] needs a reason; got {reason!r}")
    if answer not in options:
        raise ValueError(f"predict: answer must be one of {list(options)}; got {answer!r}")

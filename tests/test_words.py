"""The hand-made word vectors: what they promise, and what they refuse."""

import pytest

from course_lib.tasks.words import FEATURES, WORDS, embed


def test_embed_gives_one_vector_a_word_with_named_features():
    x = embed("the river by the bank")
    assert x.shape == (1, 1, 5, len(FEATURES))
    assert x[0, 0, 1, FEATURES.index("water")] == 3


def test_same_word_has_same_vector_in_every_sentence():
    first, second = embed("the bank"), embed("bank approved")
    assert first[0, 0, 1].equal(second[0, 0, 0])


def test_every_word_has_every_feature_and_no_two_are_equal():
    assert all(len(vector) == len(FEATURES) for vector in WORDS.values())
    assert len(set(WORDS.values())) == len(WORDS)


def test_bank_leans_to_neither_sense():
    water, money = (FEATURES.index(name) for name in ("water", "money"))
    assert WORDS["bank"][water] == WORDS["bank"][money] > 0


@pytest.mark.parametrize("sentence", ["", "  ", None, ["bank"]])
def test_embed_refuses_what_is_no_sentence(sentence):
    with pytest.raises(ValueError, match="sentence: expected words"):
        embed(sentence)


def test_embed_names_the_word_it_lacks():
    with pytest.raises(ValueError, match="no vector for 'otter'"):
        embed("the otter")

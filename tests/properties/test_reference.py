"""The reference against values computed by hand, so that the core can be compared with it."""

import math

import pytest

from reference import (
    CannotUnlearnError,
    Reference,
    Term,
    centre_and_spread,
    fold,
    read_terms,
    sanction,
    significance,
    two_means,
)


def words_of(text, **options):
    return [
        [[term.word for term in terms] for terms in sentences]
        for sentences in read_terms(text, **options)
    ]


def ngrams_of(document):
    return [
        " ".join(ngram.words)
        for paragraph in document.blocks
        for sentence in paragraph.blocks
        for ngram in sentence.blocks
    ]


# --- text -----------------------------------------------------------------------------------------


def test_words_and_breaks_carry_spans():
    assert read_terms("Hi, you") == [[[Term(0, 2, "hi"), Term(2, 3, None), Term(4, 7, "you")]]]


def test_empty_text_has_no_paragraph():
    assert read_terms("") == read_terms(" \n\t\r\n ") == []


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Straße", "strasse"),
        ("CAFÉ", "cafe"),
        ("cafe\u0301", "cafe"),
        ("½", "12"),
        ("ﬁn", "fin"),
        ("İ", "i"),
        ("don\u2019t", "don't"),
        ("co\u00adop", "coop"),
        ("\u0915\u093f", "\u0915\u093f"),  # a vowel sign of Devanagari stays
        ("\u037a", ""),  # a lone iota subscript is a letter that decomposes to an accent
    ],
)
def test_folding(word, folded):
    assert fold(word) == folded


def test_word_that_folds_to_nothing_is_a_break():
    assert read_terms("\u037a") == [[[Term(0, 1, None)]]]


def test_one_apostrophe_between_word_characters_joins():
    assert words_of("don't 'tis dogs' a''b") == [
        [["don't", None, "tis", "dogs", None, "a", None, None, "b"]]
    ]


def test_joiner_between_word_characters_is_ignored():
    assert read_terms("a\u200db \u200dc") == [
        [[Term(0, 3, "ab"), Term(4, 5, None), Term(5, 6, "c")]]
    ]


def test_joiners_may_be_several_and_before_a_mark():
    assert words_of("a\u200c\u200db a\xad\u0301b a\u200c\u200d c\u200d'd") == [
        [["ab", "ab", "a", None, None, "c", None, None, "d"]]
    ]


def test_mark_joins_only_after_a_word_character():
    assert words_of("\u0301a\u0301'b a'\u0301b") == [[[None, "a'b", "a", None, None, "b"]]]


def test_lone_surrogate_and_nul_are_breaks():
    assert words_of("a\ud800b\0c") == [[["a", None, "b", None, "c"]]]


@pytest.mark.parametrize("end", ["\n", "\v", "\f", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_line_end_ends_a_paragraph(end):
    assert words_of(f"a{end}b") == [[["a"]], [["b"]]]


def test_information_separator_is_only_a_blank():
    assert words_of("a\x1cb") == [[["a", "b"]]]


def test_blank_lines_rule_reads_on_over_one_line_end():
    assert words_of("a\r\nb\n \nc\n\n\nd", paragraphs="blank_lines") == [
        [["a", "b"]],
        [["c"]],
        [["d"]],
    ]


def test_sentence_ends_where_a_blank_follows_the_terminator():
    assert words_of("a. b.c? 3.5!") == [
        [["a", None], ["b", None, "c", None], ["3", None, "5", None]]
    ]


def test_closing_quote_belongs_to_the_sentence():
    assert words_of('"a." b.') == [[[None, "a", None, None], ["b", None]]]


def test_ideographic_full_stop_needs_no_blank():
    assert words_of("日。本") == [[["日", None], ["本"]]]


# --- learning -------------------------------------------------------------------------------------


def test_training_figure_of_the_paper():
    model = Reference(max_ngram=3)
    model.learn("Mobile APIs, for mobile developers", "technology")
    assert model.counts() == {
        "apis": {"technology": 1},
        "developers": {"technology": 1},
        "for": {"technology": 1},
        "for mobile": {"technology": 1},
        "for mobile developers": {"technology": 1},
        "mobile": {"technology": 2},
        "mobile apis": {"technology": 1},
        "mobile developers": {"technology": 1},
    }


def test_no_ngram_crosses_a_document():
    model = Reference()
    model.learn("a", "x")
    model.learn("b", "x")
    assert model.counts() == {"a": {"x": 1}, "b": {"x": 1}}


def test_unlearning_removes_every_trace():
    model = Reference()
    model.learn("a b", "x")
    model.learn("a", "y")
    model.unlearn("a b", "x")
    assert model.labels == ["y"]
    assert model.counts() == {"a": {"y": 1}}


def test_unlearning_what_was_not_learnt_is_refused():
    model = Reference()
    model.learn("a b", "x")
    model.learn("c", "x")
    with pytest.raises(CannotUnlearnError):
        model.unlearn("a a", "x")
    assert model.counts()["a"] == {"x": 1}


def test_pruning_is_per_label():
    model = Reference(max_ngram=2)
    model.learn("a b. a b. c", "x")
    model.learn("a. a b", "y")
    assert model.prune(floor=1)[:2] == (3, 3)  # c in x; b and "a b" in y
    assert model.counts() == {"a": {"x": 2, "y": 2}, "a b": {"x": 2}, "b": {"x": 2}}


def test_pruning_spares_what_is_too_short():
    model = Reference(max_ngram=2)
    model.learn("a b", "x")
    assert model.prune(floor=1, shortest=2)[:2] == (1, 1)
    assert model.counts() == {"a": {"x": 1}, "b": {"x": 1}}


def test_periodic_pruning_counts_words_over_all_labels():
    model = Reference(max_ngram=1, prune_period=3, prune_floor=1)
    model.learn("a a", "x")
    model.learn("b", "y")  # the third word
    assert model.counts() == {"a": {"x": 2}}
    model.learn("b", "y")
    assert model.counts() == {"a": {"x": 2}, "b": {"y": 1}}


# --- values ---------------------------------------------------------------------------------------


def test_local_value_is_relative_to_the_most_frequent_of_that_length():
    model = Reference(smoothness=0.5)
    model.learn("a, a, a, a b", "x")
    assert model.values(("a",))["x"].lv == 1
    assert model.values(("b",))["x"].lv == 0.5
    assert model.values(("a", "b"))["x"].lv == 1


def test_local_value_is_zero_below_the_minimal_count():
    model = Reference(min_count=2)
    model.learn("a, a, b", "x")
    assert model.values(("b",))["x"].lv == 0


def test_centre_of_an_even_number_is_the_smaller_middle_one():
    centre, spread = centre_and_spread([0.9, 0.2, 0.6, 0.1])
    assert centre == 0.2
    assert spread == pytest.approx((0.1 + 0 + 0.4 + 0.7) / 4)


def test_centre_and_spread_of_two_are_the_smaller():
    assert centre_and_spread([0.7, 0.3]) == (0.3, 0.3)


def test_significance_of_three_labels():
    # centre .5, spread (.3 + 0 + .3) / 3 = .2
    expected = 0.5 * math.tanh(3 * 0.3 / 0.2 - 3) + 0.5
    assert significance([0.8, 0.2, 0.5], 0, 1.0, "vanilla") == pytest.approx(expected)


def test_significance_of_two_labels_is_half_at_one_plus_lambda_times_the_smaller():
    assert significance([0.2, 0.8], 1, 3.0, "vanilla") == pytest.approx(0.5)


def test_significance_without_spread_is_all_or_nothing():
    assert significance([0.0, 0.7], 1, 1.0, "vanilla") == 1
    assert significance([0.0, 0.7], 0, 1.0, "vanilla") == 0
    assert significance([0.4], 0, 1.0, "vanilla") == 1


def test_lambda_of_zero_makes_nothing_significant_where_there_is_spread():
    assert significance([0.8, 0.2, 0.5], 0, 0.0, "vanilla") == 0


def test_xai_floor_of_the_spread():
    assert significance([0, 0, 0.06], 2, 1.0, "vanilla") == pytest.approx(
        0.5 * math.tanh(3 * 0.06 / 0.02 - 3) + 0.5
    )
    assert significance([0, 0, 0.06], 2, 1.0, "xai") == pytest.approx(0.5 * math.tanh(3) + 0.5)


def test_xai_silences_a_high_centre():
    assert significance([0.3, 0.3, 1.0], 2, 1.0, "vanilla") > 0.4
    assert significance([0.3, 0.3, 1.0], 2, 1.0, "xai") == 0


def test_xai_silences_what_is_alike_everywhere():
    assert significance([0.1, 0.1, 0.15], 2, 1.0, "xai") == 0


def test_xai_guard_looks_at_the_spread_after_the_floor():
    # spread .1, but λ·spread = .01 is raised to .03: the spread counts as .3
    assert significance([0.1, 0.1, 0.4], 2, 0.1, "xai") == pytest.approx(1)


def test_sanction_by_hand():
    significances = [1.0, 0.5, 0.0]
    assert [sanction(significances, i, 1.0) for i in range(3)] == pytest.approx([0.5, 0.25, 0.1])
    assert sanction(significances, 0, 2.0) == pytest.approx(0.25)
    assert sanction([0.3], 0, 1.0) == 1


def test_global_value_is_the_product():
    model = Reference(smoothness=0.5)
    model.learn("w, w, w, w", "x")
    model.learn("w, v, v, v, v", "y")
    value = model.values(("w",))
    # lv 1 and .5, centre and spread .5: sg(x) = ½ at (1 + λ) times the smaller
    assert value["x"].sg == pytest.approx(0.5)
    other = 0.5 * math.tanh(-3) + 0.5
    assert value["y"].sg == pytest.approx(other)
    assert value["x"].sn == pytest.approx((2 - (other + 1)) / (other + 1))
    assert value["x"].gv == pytest.approx(0.5 * (1 - other) / (1 + other))


def test_an_unseen_sequence_has_value_0_and_causes_no_sanction():
    model = Reference()
    model.learn("a", "x")
    model.learn("b", "y")
    assert model.values(("c",))["x"] == (0, 0, 0, 1, 0, 0)


def test_normalised_confidence_divides_by_the_largest_of_that_length():
    model = Reference(smoothness=1, confidence_function="norm_gv")
    model.learn("a, a, a, a", "x")
    model.learn("a, a, a, a, a, b", "y")
    assert model.values(("b",))["y"].gv == 0.2
    assert model.values(("b",))["y"].cv == 1  # a, being everywhere, is worth less


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("a b. a b. a.", 1 + (1 + 2 / 3)),  # both words count: G is added
        ("a b." + ", a" * 199, 1.0),  # b is worth .005: G is not added
        ("a b." + ", c" * 100, 0.0),  # a and b are worth .01 each: G = .02 is too little
    ],
)
def test_xai_confidence_of_a_bigram(text, confidence):
    model = Reference(smoothness=1, confidence_function="norm_gv_xai")
    model.learn(text, "x")
    assert model.values(("a", "b"))["x"].cv == pytest.approx(confidence)


# --- reading --------------------------------------------------------------------------------------


@pytest.fixture
def small_model():
    model = Reference(smoothness=0.5)
    model.learn("Machine learning, is, is, is, is. Learning.", "technology")
    model.learn("is. is. is. is. used.", "sports")
    return model


def test_reading_figure_of_the_paper(small_model):
    document = small_model.read("Machine learning is being widely used")
    assert ngrams_of(document) == ["machine learning", "is", "being", "widely", "used"]


def test_reading_values_by_hand(small_model):
    assert small_model.labels == ["sports", "technology"]
    sentence = small_model.read("Machine learning is being widely used").blocks[0].blocks[0]
    common = 0.5 * math.tanh(-3) + 0.5  # sg of a word that is as frequent in both
    common *= (1 - common) / (1 + common)
    assert [ngram.value for ngram in sentence.blocks] == [
        [0, 1],  # alone of its length, and in one label only
        pytest.approx([common, common]),
        [0, 0],
        [0, 0],
        [0.5, 0],
    ]
    assert [(ngram.start, ngram.end) for ngram in sentence.blocks] == [
        (0, 16),
        (17, 19),
        (20, 25),
        (26, 32),
        (33, 37),
    ]


def test_break_ends_the_path(small_model):
    assert ngrams_of(small_model.read("machine, learning")) == ["machine", "learning"]


def test_shorter_wins_a_tie():
    model = Reference()
    model.learn("a b", "x")
    assert ngrams_of(model.read("a b")) == ["a", "b"]


def test_threshold_silences_and_then_the_word_is_taken():
    model = Reference(smoothness=1, alpha=0.5)
    model.learn("a b, c d, c d, c, c, c", "x")
    document = model.read("a b c")
    assert ngrams_of(document) == ["a", "b", "c"]
    assert [n.value for n in document.blocks[0].blocks[0].blocks] == [[0], [0], [1]]


@pytest.mark.parametrize(("fillers", "expected"), [(6, ["a b"]), (5, ["a", "b"])])
def test_sum_of_the_words_can_outweigh_the_ngram(fillers, expected):
    # words 3/6 + 3/6 are not more than the bigram's 1, words 3/5 + 3/5 are
    text = "a b. a b. a b" + ", c" * fillers
    model = Reference(smoothness=1, reading="words_sum")
    model.learn(text, "x")
    assert ngrams_of(model.read("a b")) == expected


def test_sum_runs_along_the_whole_matched_path():
    model = Reference(smoothness=1, reading="words_sum")
    model.learn("a b c, a b, d e f, d e f, g, g, g, g", "x")
    # paths: ½ + ½ + ¼ along "a b c", ½ + ½ along "a b"; the bigram is worth 1 in both readings
    assert ngrams_of(model.read("a b c"))[0] == "a"
    assert ngrams_of(model.read("a b z"))[0] == "a b"


def test_sum_of_words_counts_the_path_of_each_label_alone():
    model = Reference(smoothness=1, reading="words_sum")
    model.learn("a b, c, c", "x")
    model.learn("b, b", "y")
    # in x: a is worth ½, b nothing much; y knows b, but not the path
    assert ngrams_of(model.read("a b")) == ["a b"]


# --- summary, contribution, decision --------------------------------------------------------------


@pytest.fixture
def counted_words():
    """Return parameters and text for which a is worth 1, b ½, c ¼."""
    return {"smoothness": 1, "max_ngram": 1}, "a a a a b b c"


@pytest.mark.parametrize(
    ("summary", "value"),
    [
        ("sum", 2.0),
        ("max", 1.0),
        ("mean", ((0.5 + 0.25) / 2 + 0.25) / 2 / 2 + 1 / 2),
        ({"sentence": "sum", "paragraph": "max", "document": "mean"}, (0.75 + 1) / 2),
        (lambda rows: rows[-1], 1.0),
    ],
)
def test_summary_level_by_level(counted_words, summary, value):
    parameters, text = counted_words
    model = Reference(**parameters, summary=summary)
    model.learn(text, "x")
    assert model.confidence("b c. c.\na\n...") == {"x": pytest.approx(value)}


def test_contributions_with_the_mean(counted_words):
    parameters, text = counted_words
    model = Reference(**parameters, summary="mean")
    model.learn(text, "x")
    paragraph = model.read("b c\na").blocks[0]
    assert paragraph.contribution == [0.375 / 2]
    assert [ngram.contribution for ngram in paragraph.blocks[0].blocks] == [[0.5 / 4], [0.25 / 4]]


def test_maximum_is_contributed_by_the_first_that_attains_it(counted_words):
    parameters, text = counted_words
    model = Reference(**parameters, summary="max")
    model.learn(text, "x")
    first, second = model.read("c a a\na").blocks
    assert [ngram.contribution for ngram in first.blocks[0].blocks] == [[0], [1], [0]]
    assert second.contribution == [0]


def test_no_contribution_through_an_operator_of_the_user(counted_words):
    parameters, text = counted_words
    summary = {"sentence": lambda rows: rows[0], "paragraph": "sum", "document": "sum"}
    model = Reference(**parameters, summary=summary)
    model.learn(text, "x")
    sentence = model.read("c a").blocks[0].blocks[0]
    assert sentence.contribution == [0.25]
    assert [ngram.contribution for ngram in sentence.blocks] == [None, None]


def test_tie_goes_to_the_earlier_label():
    model = Reference()
    model.learn("a", "y")
    model.learn("b", "x")
    assert model.predict("a b") == "x"


def test_without_evidence_the_label_with_most_words_is_predicted():
    model, other = Reference(), Reference(default_label="x")
    for one in (model, other):
        one.learn("a", "x")
        one.learn("b b", "y")
    assert model.predict("unheard") == "y"
    assert other.predict("unheard") == "x"


@pytest.mark.parametrize(
    ("values", "upper"),
    [
        ([9, 0, 8, 1], [0, 2]),
        ([0, 1, 2], [1, 2]),  # the middle goes up
        ([10.0, 2.9, 2.8, 1.4, 1.0, 0.0], [0]),
        ([1, 1, 0], [0, 1]),
        ([1, 1], []),
        ([0.3], []),
    ],
)
def test_two_means(values, upper):
    assert two_means(values) == upper


def test_by_ratio_the_spread_of_many_is_their_centre():
    assert centre_and_spread([0.5, 0.1, 0.3, 0.2], "ratio") == (0.2, 0.2)
    assert centre_and_spread([0.4], "ratio") == (0.4, 0)


def test_by_label_counts_are_compared_with_all_words():
    model = Reference(max_ngram=1, ngram_scale="label", smoothness=1)
    model.learn("a a b c", "x")  # half of the words are a
    model.learn("b b b c d e f g h i j k", "y")  # a fourth of them are b
    assert model.gvs(("a",))["x"].lv == 1
    assert model.gvs(("b",))["x"].lv == 0.5
    assert model.gvs(("b",))["y"].lv == 0.5

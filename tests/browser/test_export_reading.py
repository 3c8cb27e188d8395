"""Exported pages in a real browser: texts are read as in the core and painted as in Python."""

import itertools
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from browser import watched
from offline_pages import OfflineReader, characters_of, exported, pruned
from painted import with_shares
from strategies import any_texts, corpora, parameters
from watchword.show.blocks import as_value

pytestmark = pytest.mark.quick

TEACHING = [
    ("I want to kill myself, I cannot sleep.", "at risk"),
    ("Cannot sleep again. I want to sleep! Nothing matters…", "at risk"),
    ("Kill the lights, I want to sleep well", "well"),
    ("The film was great; I want to see it again.", "well"),
    ("Zoë’s café isn't far: I can't wait — über-nice", "well"),
    ("机器学习很有趣。我喜欢！ Машинное обучение", "other"),
    ("हिन्दी भाषा। שָׁלוֹם עולם مَرْحَبًا", "other"),
]

TEXTS = [
    "",
    " \n\t ",
    "...!?",
    "I want to kill myself. I want to sleep! Cannot sleep again, nothing matters",
    "KILL MYSELF… ﬁlm Film ﬁ½² ŉ ǅ İ ſ ß ẞ",
    '"Stop!" he said. \'Tis 3.14 (really?) yes.) no',
    "don't don’t 'don't' o'clock' rock'n'roll ’tis a'́b co­op a‌b a‍b ­",
    "র\u200d\u09cdযাব co\xad\xadop a\u200c\u200db c\u200d d\u200d'e",
    "cafe\u0301 café CAFÉ \u0301cafe e\u20dd n\u0303o",
    "机器学习很有趣。我喜欢！机器学习、很有趣？「好。」たのしいｶﾞ가각힣",
    "مَرْحَبًا بالعالم؟ שָׁלוֹם עולם \u202ereversed\u202c हिन्दी भाषा। ไทย",
    "👩\u200d💻 want 😀 to🇩🇪sleep 𝔘𝟙 𝒦𝒾𝓁𝓁 \U000e0041",
    "half \ud800 of \udfffa pair \udc00\ud800 want\ud83dto",
    "a\r\nb\rc\n\nd\n \t\n e\u2028f\u2029g\x85h\vi\fj\x1ck\x00l",
    "want  to\u3000sleep\u00a0again\ufeffnow",
]


# The page reads text by Unicode's rules only.
READABLE = parameters(own_operators=False).map(lambda found: found | {"tokenization": "unicode"})


@pytest.fixture(scope="module")
def reader(tmp_path_factory, browser_process):
    model = ww.TauSS3()
    model.learn_one("any", "label")
    path, _ = exported(tmp_path_factory.mktemp("export"), model, floor=0)
    with watched(browser_process) as browser:
        yield OfflineReader(browser.open(path.as_uri(), offline=True))


def taught(**arguments):
    model = ww.TauSS3(**arguments)
    model.learn_many([text for text, _ in TEACHING], [label for _, label in TEACHING])
    return model


def assert_alike(theirs, ours):
    """Check for equal data: shown numbers within a millionth, values to the last bit."""
    if isinstance(ours, dict):
        assert theirs.keys() == ours.keys()
        for name, value in ours.items():
            if name in ("lv", "sg", "sn"):
                assert theirs[name] == pytest.approx(value, abs=1e-6)
            else:
                assert_alike(theirs[name], value)
    elif isinstance(ours, list):
        assert len(theirs) == len(ours)
        for their, our in zip(theirs, ours, strict=True):
            assert_alike(their, our)
    else:
        assert theirs == ours


def assert_reads_alike(reader, model, texts):
    reader.open(model)
    for text in map(characters_of, texts):
        assert_alike(reader.paint(text), with_shares(model.explain(text)))


@pytest.mark.parametrize("reading", ["paper", "words_sum"])
@pytest.mark.parametrize("max_ngram", [1, 2, 3, 4])
def test_texts_of_many_scripts_are_read_as_the_core_reads_them(reader, reading, max_ngram):
    model = taught(reading=reading, max_ngram=max_ngram)
    assert_reads_alike(reader, model, TEXTS + [text for text, _ in TEACHING])


@pytest.mark.parametrize("operators", list(itertools.product(["sum", "max", "mean"], repeat=3)))
def test_summary_operators_of_all_levels(reader, operators):
    summary = dict(zip(["sentence", "paragraph", "document"], operators, strict=True))
    text = "I want to kill myself. Unknown words! Sleep\nI want to see it\n\n...\nNothing matters."
    assert_reads_alike(reader, taught(summary=summary), [text, *TEXTS])


@pytest.mark.parametrize("paragraphs", ["lines", "blank_lines"])
def test_both_kinds_of_paragraphs(reader, paragraphs):
    assert_reads_alike(reader, taught(paragraphs=paragraphs), TEXTS)


@given(
    corpora(any_texts(), min_labels=2, max_labels=5),
    READABLE,
    st.lists(any_texts(), max_size=4),
    st.sampled_from([0, 0, 0, 1]),
)
def test_any_model_reads_any_text_as_the_core_does(reader, corpus, arguments, texts, floor):
    model = ww.TauSS3(**arguments)
    model.learn_many([text for text, _ in corpus], [label for _, label in corpus])
    assert_reads_alike(reader, pruned(model, floor), [*texts, *(text for text, _ in corpus)])


ROUNDED = ("value", "contribution", "counted", "corrected", "weight", "bias")


def assert_nearly_alike(theirs, ours):
    """Check for equal data of a refined model, whose parts are not added in the same order."""
    if isinstance(ours, dict):
        assert theirs.keys() == ours.keys()
        for name, value in ours.items():
            if name in ROUNDED:
                assert theirs[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
            elif name in ("lv", "sg", "sn"):
                assert theirs[name] == pytest.approx(value, abs=1e-6)
            elif name == "share":
                assert theirs[name] == pytest.approx(value, abs=1.01e-4)
            elif name == "speaks":
                lower, higher = ([0, 0, *sorted(ours["share"])])[-2:]
                assert theirs[name] == value or higher - lower < 2.1e-4
            elif name == "label":
                continue  # where scores tie, rounding decides
            else:
                assert_nearly_alike(theirs[name], value)
    elif isinstance(ours, list):
        assert len(theirs) == len(ours)
        for their, our in zip(theirs, ours, strict=True):
            assert_nearly_alike(their, our)
    else:
        assert theirs == ours


def assert_scores_alike(reader, model, texts):
    reader.open(model)
    for text in map(characters_of, texts):
        found, expected = reader.paint(text), with_shares(model.explain(text))
        assert_nearly_alike(found, expected)
        if not any(expected["value"]):
            assert found["label"] == expected["label"]
        else:
            best = expected["value"][expected["labels"].index(found["label"])]
            assert best == pytest.approx(max(expected["value"]), abs=1e-9)


@pytest.mark.parametrize("max_ngram", [1, 3, 4])
def test_refined_texts_of_many_scripts_are_scored_as_the_core_scores_them(reader, max_ngram):
    model = taught(max_ngram=max_ngram)
    learnt = [text for text, _ in TEACHING]
    model.refine(learnt, [label for _, label in TEACHING])
    assert min(model.explain(learnt[0]).value) < 0
    assert_scores_alike(reader, model, TEXTS + learnt)


@given(
    corpora(any_texts(), min_labels=2, max_labels=5),
    READABLE.map(lambda found: found | {"summary": "sum"}),
    st.lists(any_texts(), max_size=4),
    st.sampled_from([0, 0, 0, 1]),
)
def test_any_refined_model_scores_any_text_as_the_core_does(reader, corpus, own, texts, floor):
    model = ww.TauSS3(**own)
    learnt, labels = [text for text, _ in corpus], [label for _, label in corpus]
    model.learn_many(learnt, labels)
    model.refine(learnt, labels)
    assert_scores_alike(reader, pruned(model, floor), [*texts, *learnt])


def test_a_long_text_is_added_up_as_the_core_adds(reader):
    text = " ".join(text for text, _ in TEACHING * 700)
    model = taught()
    reader.open(model)
    value = reader.call("(model, text) => model.explain(text).value", text)
    assert value == list(model.explain(text).value)


def test_words_on_the_path_can_outweigh_an_ngram(reader):
    # Both rules must be at work here, or the tests above would prove little.
    text = "I want to sleep well, I cannot sleep again"
    ngrams = []
    for reading in ("paper", "words_sum"):
        reader.open(taught(reading=reading))
        [paragraph] = reader.explain(text)["blocks"]
        ngrams.append([block["ngram"] for block in paragraph["blocks"][0]["blocks"]])
    assert ngrams[0] != ngrams[1]


@pytest.mark.parametrize("other", ["a", "c"])
def test_the_first_label_decides_between_equal_values(reader, other):
    parameters = ww.TauSS3.pyss3(max_ngram=2, confidence_function="norm_gv").parameters
    model = ww.TauSS3(**parameters | {"tokenization": "unicode"})
    model.learn_one("so good. so good. " + "garden. " * 200, other)
    model.learn_one("so. " * 9, "b")
    assert model.value("so")["b"].cv == model.value("so good")[other].cv == 1
    assert_reads_alike(reader, model, ["so good"])


def test_values_below_alpha_count_as_zero(reader):
    assert_reads_alike(reader, taught(alpha=0.2), TEXTS)
    assert_reads_alike(reader, taught(alpha=0.2, reading="words_sum"), TEXTS)


def test_values_equal_to_alpha_count_as_zero(reader):
    model = taught()
    alpha = model.value("sleep")["at risk"].cv
    assert alpha > 0
    assert_reads_alike(reader, model.replace(alpha=alpha), TEXTS)


def test_whole_numbers_as_labels(reader):
    model = ww.TauSS3(default_label=7)
    model.learn_many(["so good", "so bad"], [-3, 7])
    assert_reads_alike(reader, model, ["so good", "so bad", "unknown"])


def test_large_integer_labels_stay_distinct(reader):
    model = ww.TauSS3()
    model.learn_many(["so good", "so bad"], [2**62, 2**62 + 1])
    reader.open(model)
    assert reader.explain("good")["labels"] == [str(2**62), str(2**62 + 1)]


TIES = [at / 16 for at in range(-40, 40)]  # numbers that lie exactly between two of three digits


@given(st.lists(st.floats(-1e6, 1e6) | st.floats(-0.01, 0.01) | st.sampled_from(TIES), min_size=9))
def test_numbers_are_written_as_in_python(reader, numbers):
    written = reader.call(f"() => {json.dumps(numbers)}.map(watchword.number)", "")
    assert written == list(map(as_value, numbers))


def is_assigned(character):
    return unicodedata.category(character) not in ("Cn", "Co")


@pytest.mark.slow
# Around each character, what shows its kind: is it part of a word, of a sentence's end?
@pytest.mark.parametrize("probe", ["a{0}b ", "{0} x ", "a.{0} {0}b "])
def test_character_classes_equal_those_of_the_core(reader, probe):
    everything = map(chr, range(sys.maxunicode + 1))
    shown = (c for c in everything if is_assigned(c) or ord(c) % 53 == 0)
    text = characters_of("".join(map(probe.format, shown)))
    reader.open(taught())
    terms = reader.terms(text)
    theirs = [
        (start, end, word if isinstance(word, str) else None)
        for start, end, word in zip(terms["starts"], terms["ends"], terms["symbols"], strict=True)
        if isinstance(word, str) or word == -2
    ]
    ours = [
        tuple(term)
        for paragraph in ww.model.read_terms(text)
        for sentence in paragraph
        for term in sentence
    ]
    assert theirs == ours

"""Many threads on one model: every reading sees a state between two documents."""

import functools
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import watchword as ww
from sanitizing import SANITIZED

WORDS = [
    "the",
    "queen",
    "takes",
    "old",
    "bread",
    "oven",
    "is",
    "hot",
    "paint",
    "new",
    "with",
    "king",
]
LABELS = ["art", "bread", "chess"]
# Long enough for the reading of them to overlap with learning.
PROBES = [
    "the queen takes the old bread. the oven is hot. " * 100,
    "old paint, new paint\na king with the queen\n" * 100,
    "unheard of",
]
READERS = 4
DOCUMENTS = 120


def corpus():
    """Return documents whose words change over time, so that every state reads differently."""
    documents = []
    for number in range(DOCUMENTS):
        text = " ".join(WORDS[(number * step + step * step) % len(WORDS)] for step in range(1, 12))
        documents.append((f"{text}. word{number} {text}. " * 20, LABELS[number * 7 // 3 % 3]))
    return documents


def frozen(confidence):
    return tuple(confidence.items())


def states(parameters, start):
    """Return the model after `start` documents and the readings of every state from there on."""
    model = ww.TauSS3(**parameters)
    readings = []
    for number, (text, label) in enumerate(corpus()):
        if number >= start:
            readings.append(tuple(frozen(model.confidence_one(probe)) for probe in PROBES))
        model.learn_one(text, label)
    readings.append(tuple(frozen(model.confidence_one(probe)) for probe in PROBES))
    return model, readings


def taught(parameters, documents):
    model = ww.TauSS3(**parameters)
    for text, label in documents:
        model.learn_one(text, label)
    return model


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def run_beside_readers(steps, read):
    """Take the steps while threads repeat `read`; return the readings of each thread in order.

    Every few steps the readers get time, so that they see many states.
    """
    done = threading.Event()
    started = threading.Barrier(READERS + 1)
    seen = [[] for _ in range(READERS)]

    def keep_reading(readings):
        started.wait()
        while not done.is_set():
            readings.append(read())
        readings.append(read())

    def let_them_read(futures):
        enough = sum(map(len, seen)) + READERS
        while sum(map(len, seen)) < enough and not any(future.done() for future in futures):
            time.sleep(0.0002)

    with ThreadPoolExecutor(READERS) as pool:
        futures = [pool.submit(keep_reading, readings) for readings in seen]
        started.wait()
        try:
            for number, step in enumerate(steps):
                step()
                if number % 4 == 0:
                    let_them_read(futures)
        finally:
            done.set()
        for future in futures:
            future.result()
    return seen


def learning(model, documents):
    return [functools.partial(model.learn_one, text, label) for text, label in documents]


def assert_never_goes_back(seen, expected):
    """Check that each reading belongs to a state, and that states only advance."""
    at = 0
    for reading in seen:
        while at < len(expected) and expected[at] != reading:
            at += 1
        assert at < len(expected), "a reading that belongs to no state, or to an earlier one"


PARAMETERS = [
    pytest.param({}, id="online values"),
    pytest.param({"confidence_function": "norm_gv"}, id="values that need a pass"),
    pytest.param({"significance_function": "xai", "reading": "words_sum"}, id="words' sum"),
]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("probe", range(len(PROBES)))
def test_reading_one_text_while_another_thread_learns(parameters, probe):
    start = 4
    documents = corpus()
    sequential, readings = states(parameters, start)
    model = taught(parameters, documents[:start])
    steps = learning(model, documents[start:])

    expected = [reading[probe] for reading in readings]
    for seen in run_beside_readers(steps, lambda: frozen(model.confidence_one(PROBES[probe]))):
        assert_never_goes_back(seen, expected)
        assert seen[-1] == expected[-1]
    assert model.to_bytes() == sequential.to_bytes()


def test_a_batch_is_read_in_one_state_while_another_thread_learns():
    start = 4
    documents = corpus()
    sequential, readings = states({}, start)
    model = taught({}, documents[:start])
    steps = learning(model, documents[start:])

    def read():
        return tuple(map(tuple, model.confidence_many(PROBES, threads=2).tolist()))

    expected = [
        tuple(tuple(value for _, value in probe) for probe in reading) for reading in readings
    ]
    for seen in run_beside_readers(steps, read):
        assert_never_goes_back(seen, expected)
    assert model.to_bytes() == sequential.to_bytes()


def test_new_labels_appear_whole_to_readers():
    documents = [(f"word{number} queen", f"label {number:03}") for number in range(60)]
    model = taught({}, documents[:1])
    sequential = taught({}, documents)
    steps = learning(model, documents[1:])

    expected = [
        frozen(taught({}, documents[:size]).confidence_one("queen")) for size in range(1, 61)
    ]
    for seen in run_beside_readers(steps, lambda: frozen(model.confidence_one("queen"))):
        assert_never_goes_back(seen, expected)
    assert model.to_bytes() == sequential.to_bytes()


def test_readings_during_learn_many_belong_to_a_state_between_documents():
    start = 4
    documents = corpus()
    sequential, readings = states({}, start)
    model = taught({}, documents[:start])
    texts, labels = zip(*documents[start:], strict=True)
    expected = [reading[0] for reading in readings]

    steps = [lambda: model.learn_many(texts, labels)]
    for seen in run_beside_readers(steps, lambda: frozen(model.confidence_one(PROBES[0]))):
        assert_never_goes_back(seen, expected)
    assert model.to_bytes() == sequential.to_bytes()


def test_readings_while_another_thread_corrects_belong_to_a_state_between_documents():
    documents = [
        (f"{text} own{number}", f"label {number % 40}") for number, (text, _) in enumerate(corpus())
    ]
    model, sequential, expected = ww.TauSS3(), ww.TauSS3(), []
    for at, (text, label) in enumerate(documents):
        sequential.learn_one(text, label, correct=True)
        if at == 0:
            model.learn_one(text, label, correct=True)
        expected.append(frozen(sequential.confidence_one(PROBES[0])))
    steps = [functools.partial(model.learn_one, *pair, correct=True) for pair in documents[1:]]
    for seen in run_beside_readers(steps, lambda: frozen(model.confidence_one(PROBES[0]))):
        assert_never_goes_back(seen, expected)
    assert model.to_bytes() == sequential.to_bytes()


def test_a_correction_goes_to_the_label_of_the_document_while_others_are_added():
    def tokenizer(text):
        if text == "now king":  # as if another thread learnt labels that are sorted before
            model.learn_one("queen", f"a{len(model.labels)}")
        return [(0, len(text), text.split()[-1])]

    model = ww.TauSS3(tokenizer=tokenizer)
    model.learn_many(["king", "king", "oven"], ["m", "m", "z"])
    model.learn_one("now king", "z", correct=True)
    explanation = model.explain("king")
    [ngram] = explanation.ngrams
    corrected = dict(zip(explanation.labels, ngram.corrected, strict=True))
    assert [label for label, part in corrected.items() if part > 0] == ["z"]


def test_several_threads_may_learn_at_once():
    documents = corpus()
    model = ww.TauSS3()
    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(lambda pair: model.learn_one(*pair), documents))
    assert model.to_bytes() == taught({}, documents).to_bytes()


@pytest.mark.slow
def test_every_way_of_reading_survives_learning_and_unlearning_beside_it():
    documents = corpus()
    model = taught({}, documents[:10])
    before = model.to_bytes()
    forget = [functools.partial(model.unlearn_one, *pair) for pair in documents[10:]]
    steps = learning(model, documents[10:]) + forget

    def read():
        model.explain(PROBES[0]).to_dict()
        model.predict_one(PROBES[1])
        model.predict_labels_many(PROBES)
        model.value("the queen")
        model.top_ngrams("art")
        model.next_words("the")
        model.stop_words()
        model.counts()
        ww.TauSS3.from_bytes(model.to_bytes())
        model.replace(smoothness=0.3).predict_one(PROBES[0])

    run_beside_readers(steps, read)
    assert model.to_bytes() == before


def test_two_models_may_merge_into_each_other_without_a_deadlock():
    documents = corpus()
    first, second = taught({}, documents[:5]), taught({}, documents[5:10])

    def merge(pair):
        pair[0].merge(pair[1])

    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            futures = [pool.submit(merge, pair) for pair in ((first, second), (second, first))]
            for future in futures:
                future.result(timeout=60)
    words = sum(first.statistics.words.values())
    assert words == sum(
        count for ngram, row in first.counts().items() if " " not in ngram for count in row.values()
    )


def distinct_words(count):
    return " ".join(f"w{number}" for number in range(count))


def learns_in_a_child():
    """Fork a process that learns enough to need large tables; return its exit code."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a process that waits for a lock forever is killed
        model = ww.TauSS3()
        model.learn_one(distinct_words(20_000), "x")
        os._exit(0 if model.labels == ("x",) else 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.skipif(SANITIZED, reason="the sanitizers' own memory does not survive forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_learn_while_threads_of_its_parent_learn():
    over = threading.Event()

    def learn():
        while not over.is_set():
            ww.TauSS3().learn_one(distinct_words(5_000), "x")

    beside = [threading.Thread(target=learn) for _ in range(2)]
    for thread in beside:
        thread.start()
    try:
        assert [learns_in_a_child() for _ in range(10)] == [0] * 10
    finally:
        over.set()
        for thread in beside:
            thread.join()


def resident_megabytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.skipif(SANITIZED, reason="the sanitizers keep memory that was freed")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_memory_of_a_large_model_goes_back_to_the_system():
    words = [f"w{number}" for number in range(20_000)]
    text = " ".join(random.Random(0).choices(words, k=1_500_000))

    def learn():
        model = ww.TauSS3(max_ngram=3)
        model.learn_many([text], ["x"], threads=2)
        assert learns_in_a_child() == 0
        return resident_megabytes()

    learn()
    before = resident_megabytes()
    assert learn() > before + 50
    assert resident_megabytes() < before + 10

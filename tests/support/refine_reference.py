"""Refinement in plain Python: scores over all n-grams of a text, and the fit of corrections."""

from __future__ import annotations

import math
from collections import Counter

from reference import Reference

MASK = 2**64 - 1


def next_random(state: int) -> tuple[int, int]:
    """Return a random number of SplitMix64, and the next state."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    mixed = state
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & MASK
    return mixed ^ mixed >> 31, state


class RefinedReference:
    """Corrections around the counts of a reference model."""

    def __init__(self, counted: Reference, *, decay=0.5, strength=1.0, cost=1.0, bias=0.05):
        self.counted = counted
        counted.refined = True
        counted.forget_values()
        self.decay, self.strength, self.cost, self.bias = decay, strength, cost, bias
        self.weights: Counter[tuple[tuple[str, ...], object]] = Counter()
        self.biases: Counter[object] = Counter()
        self.margins, self.texts = 0.0, 0

    @property
    def scale(self) -> float:
        return self.strength * self.texts / self.margins if self.margins > 0 else 0.0

    def features(self, text: str) -> dict[tuple[str, ...], float]:
        """Return the n-grams of a text that the model knows, with their weights in it."""
        documents = sum(self.counted.documents.values())
        found = {}
        runs = [terms for sentences in self.counted.read_terms(text) for terms in sentences]
        for ngram, times in self.counted.occurrences(runs).items():
            counts = [tree.get(ngram, 0) for tree in self.counted.trees.values()]
            if not any(counts):
                continue
            idf = math.log((1 + documents) / (1 + min(documents, sum(counts)))) + 1
            found[ngram] = (1 + math.log(times)) * idf * self.decay ** (len(ngram) - 1)
        norm = math.sqrt(sum(weight**2 for weight in found.values()))
        return {ngram: weight / norm for ngram, weight in found.items()}

    def counted_scores(self, text: str) -> list[float]:
        """Return Σ x · (cv - mean of cv over the labels), per label."""
        labels = self.counted.labels
        scores = [0.0] * len(labels)
        for ngram, x in self.features(text).items():
            values = self.counted.vector(ngram)
            mean = sum(values) / len(labels)
            scores = [score + x * (v - mean) for score, v in zip(scores, values, strict=True)]
        return scores

    def scores(self, text: str) -> list[float]:
        features = self.features(text)
        if not features:
            return [0.0] * len(self.counted.labels)
        scores = []
        for label, counted in zip(self.counted.labels, self.counted_scores(text), strict=True):
            corrected = sum(x * self.weights[ngram, label] for ngram, x in features.items())
            scores.append(self.biases[label] + self.scale * counted + corrected)
        return scores

    def fit(self, texts, label_sets, *, passes=5, balanced=False, seed=0):
        """Fit corrections by dual coordinate descent, text by text in a random order."""
        labels = self.counted.labels
        self.texts = len(texts)
        for text, own in zip(texts, label_sets, strict=True):
            counted = self.counted_scores(text)
            margins = [counted[labels.index(label)] for label in own]
            self.margins += sum(margins) / len(margins) if margins else 0.0
        duals: Counter[tuple[int, object]] = Counter()
        order, state = list(range(len(texts))), seed
        for _ in range(passes):
            for left in range(len(order), 1, -1):
                drawn, state = next_random(state)
                at = drawn % left
                order[left - 1], order[at] = order[at], order[left - 1]
            for index in order:
                self.correct(texts[index], label_sets[index], index, duals, label_sets, balanced)

    def take_back(self, lean, label_sets):
        """Move the biases away from labels with many texts."""
        texts = Counter(label for own in label_sets for label in own)
        mean = sum(math.log(own) for own in texts.values()) / len(texts)
        for label, own in texts.items():
            self.biases[label] -= lean * (math.log(own) - mean)

    def scores_without_itself(self, text, own):
        """Return the scores of a learnt text without its own counts; totals stay as they are."""
        counted, whole = self.counted, self.counted.trees
        for label in counted.labels:
            for length in range(1, counted.max_ngram + 1):
                counted.largest("count", label, length)  # remembers it
        counted.trees = dict(whole) | {label: whole[label] - counted.count(text) for label in own}
        counted.known_values = {}
        scores = self.scores(text)
        counted.trees, counted.known_values = whole, {}
        return scores

    def correct(self, text, own, index, duals, label_sets, balanced):
        features = self.features(text)
        if not features:
            return
        scores = self.scores(text)
        for label, score in zip(self.counted.labels, scores, strict=True):
            sign = 1 if label in own else -1
            slack = 1 / (2 * self.cost)
            if balanced:
                alike = sum((label in other) == (label in own) for other in label_sets)
                slack *= 2 * alike / len(label_sets)
            held = [ngram for ngram in features if self.counted.trees[label].get(ngram, 0)]
            squares = sum(features[ngram] ** 2 for ngram in held) + self.bias
            dual = duals[index, label]
            stepped = max(0.0, dual - (sign * score - 1 + slack * dual) / (squares + slack))
            duals[index, label] = stepped
            step = sign * (stepped - dual)
            self.biases[label] += step * self.bias
            for ngram in held:
                self.weights[ngram, label] += step * features[ngram]

    def learn(self, text, label):
        """Count a text and correct for it at once."""
        self.counted.learn(text, label)
        if not self.features(text):
            return
        counted = self.counted_scores(text)
        self.margins += counted[self.counted.labels.index(label)]
        self.texts += 1
        self.correct(text, {label}, 0, Counter(), [], False)

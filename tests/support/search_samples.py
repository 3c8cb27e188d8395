"""Small labelled texts and searches on them."""

import numpy as np

import watchword as ww

TOPICS = {
    "tech": "machine learning model code data deep network training",
    "sports": "match goal team player win league deep training",
    "food": "bread soup salt kitchen oven data win machine",
}


def sample(texts=48, *, seed=0, several=False):
    """Return texts, their labels (or sets of labels) and their authors."""
    generator = np.random.default_rng(seed)
    names = list(TOPICS)
    documents, labels, groups = [], [], []
    for at in range(texts):
        label = names[at % len(names)]
        others = [word for name in names for word in TOPICS[name].split()]
        words = [*generator.choice(TOPICS[label].split(), 3), *generator.choice(others, 5)]
        joins = generator.choice([" ", " ", " ", ". ", "\n", "\n\n"], len(words))
        documents.append("".join(f"{word}{join}" for word, join in zip(words, joins, strict=True)))
        more = generator.choice(names, int(generator.integers(0, 2))).tolist()
        labels.append({label, *more} if several else label)
        groups.append(f"writer {int(generator.integers(0, 12))}")
    return documents, labels, groups


def plain(found):
    """Return a result as plain data that can be compared."""
    return found.to_dict()


def by_hand(texts, labels, setting, *, base=None, refine=False, **dealing):
    """Cross-validate one setting with a new model for every fold."""
    chosen = dict(base or {}) | setting
    floor = chosen.pop("prune", 0)
    model = ww.TauSS3(**chosen)
    if not floor:
        return ww.cross_validate(texts, labels, model=model, refine=refine, **dealing)
    several = not isinstance(labels[0], str | int)
    parts = []
    for fold in ww.evaluation.folds.deal(labels, **dealing):
        own = ww.TauSS3(**chosen)
        pairs = [
            (texts[at], one)
            for at in fold.others(len(texts)).tolist()
            for one in (sorted(labels[at]) if several else [labels[at]])
        ]
        own.learn_many([text for text, _ in pairs], [label for _, label in pairs])
        own.prune(floor, own.parameters["prune_shortest"])
        held_out = fold.held_out.tolist()
        parts.append(
            ww.evaluate(own, [texts[at] for at in held_out], [labels[at] for at in held_out])
        )
    return ww.evaluation.Evaluation.pooled(parts)

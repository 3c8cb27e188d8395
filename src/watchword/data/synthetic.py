"""Synthetic subjects with known labels, for demos and tests."""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TypeVar

from watchword.data.subjects import Post, Subject

AT_RISK = "at risk"
CONTROL = "control"

_Item = TypeVar("_Item")


def make_risk_streams(
    n_subjects: int,
    *,
    seed: int,
    prevalence: float = 0.2,
    posts_per_subject: int | tuple[int, int] = (10, 40),
) -> list[Subject]:
    """Return synthetic subjects, some of whom become more and more exhausted.

    `round(prevalence * n_subjects)` subjects are labelled `"at risk"`, the others `"control"`. No
    data of real people is used. The posts contain

    - words of exhaustion, increasingly often in subjects at risk;
    - word sequences: `SEQUENCE_PAIRS`, pairs of sentences of the same words. All subjects write
      them equally often, but subjects at risk increasingly choose the first of a pair, so single
      words carry no signal;
    - distractors: harmless uses of the words of exhaustion by all subjects.

    Everything else is small talk, the same for all. The same seed gives the same subjects in every
    version of Python; `posts_per_subject` is a number, or the lowest and the highest number.

    >>> subjects = make_risk_streams(5, seed=1)
    >>> [subject.label for subject in subjects]
    ['at risk', 'control', 'control', 'control', 'control']
    >>> subjects[0].id, len(subjects[0].posts)
    ('subject1', 36)
    >>> subjects == make_risk_streams(5, seed=1)
    True
    """
    count = operator.index(n_subjects)
    if count < 0:
        raise ValueError(f"n_subjects must not be negative, got {count}")
    if not 0 <= prevalence <= 1:
        raise ValueError(f"prevalence must be in [0, 1], got {prevalence}")
    given = posts_per_subject
    fewest, most = map(operator.index, given if isinstance(given, tuple) else (given, given))
    if not 1 <= fewest <= most:
        raise ValueError(f"posts_per_subject must be at least 1, fewest first, got {given!r}")
    chance = Chance(operator.index(seed))
    at_risk = set(chance.some(range(count), round(prevalence * count)))
    names = [f"subject{place:0{len(str(count))}}" for place in range(1, count + 1)]
    return [
        _subject(name, place in at_risk, chance.between(fewest, most), chance)
        for place, name in enumerate(names)
    ]


class Chance:
    """Seeded chance on `random()` alone, the one method that Python promises never to change."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311

    def happens(self, probability: float) -> bool:
        """Return whether an event of this probability happens."""
        return self._random.random() < probability

    def between(self, fewest: int, most: int) -> int:
        """Draw a whole number, of which both bounds are possible."""
        return fewest + int(self._random.random() * (most - fewest + 1))

    def one(self, items: Sequence[_Item]) -> _Item:
        """Draw one of the items."""
        return items[int(self._random.random() * len(items))]

    def name(self) -> str:
        """Make up a name: as in real language, some are frequent and most are rare."""
        count = len(_SYLLABLES)
        rank = int(count**3 * self._random.random() ** 2)
        return "".join(_SYLLABLES[rank // count**power % count] for power in range(3)).capitalize()

    def some(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """Draw different items, in random order."""
        left = list(items)
        return [left.pop(int(self._random.random() * len(left))) for _ in range(count)]


def _subject(name: str, at_risk: bool, count: int, chance: Chance) -> Subject:
    interests = draw_interests(chance)
    worst = 0.6 + 0.4 * chance.between(0, 100) / 100  # the signal is stronger in some subjects
    time = datetime(2024, 1, 1, tzinfo=timezone.utc)
    posts = []
    for place in range(count):
        time += timedelta(minutes=chance.between(30, 6000))
        progress = (place + 1) / count
        risk = worst * (0.1 + 0.9 * progress) if at_risk else 0.0
        text = " ".join(draw_sentences(interests, risk, chance))
        title = draw_title(chance)
        posts.append(Post(text, title=title, time=time, id=f"{name}-{place + 1}"))
    return Subject(name, posts, AT_RISK if at_risk else CONTROL)


def draw_interests(chance: Chance) -> list[str]:
    """Draw the interests of a subject."""
    return chance.some(list(_INTERESTS), 3)


def draw_title(chance: Chance) -> str:
    """Draw the title of a post; most are empty."""
    return chance.one(_TITLES) if chance.happens(0.25) else ""


def draw_sentences(interests: Sequence[str], risk: float, chance: Chance) -> list[str]:
    """Draw the sentences of a post; `risk`, from 0 to 1, is how strong its signal is."""
    sentences = [draw_small_talk(interests, chance) for _ in range(chance.between(1, 3))]
    if chance.happens(0.5):
        risky, harmless = chance.one(SEQUENCE_PAIRS)
        sentences.append(risky if chance.happens(risk) else harmless)
    if chance.happens(0.5 * risk):
        sentences.append(chance.one(_EXHAUSTION).format(word=chance.one(_WORDS)))
    if chance.happens(0.08):
        sentences.append(chance.one(_DISTRACTORS).format(word=chance.one(_WORDS)))
    return chance.some(sentences, len(sentences))


def draw_small_talk(interests: Sequence[str], chance: Chance) -> str:
    """Draw a sentence without a signal, often about one of the interests."""
    favourite = chance.happens(0.5)  # a subject's topics must not outweigh the signal
    things, doings = _INTERESTS[chance.one(interests if favourite else tuple(_INTERESTS))]
    sentence = chance.one(_FRAMES).format(
        thing=chance.one(things),
        doing=chance.one(doings),
        when=chance.one(_TIMES),
        who=chance.name(),
        where=chance.name(),
    )
    return sentence[0].upper() + sentence[1:]


#: Sentences of the same words; only their order tells exhaustion (first) from none (second).
SEQUENCE_PAIRS: tuple[tuple[str, str], ...] = (
    ("I am not living, just working.", "I am just living, not working."),
    ("I rest all day and never feel well.", "I feel well and never rest all day."),
    ("My days feel empty and my inbox full.", "My days feel full and my inbox empty."),
    ("I cannot sleep, so I work.", "I cannot work, so I sleep."),
    ("I avoid my friends and call my boss.", "I avoid my boss and call my friends."),
    (
        "Everything takes effort, nothing brings joy.",
        "Nothing takes effort, everything brings joy.",
    ),
    ("No energy left for fun, plenty for worry.", "No energy left for worry, plenty for fun."),
    ("More pressure and less sleep this week.", "More sleep and less pressure this week."),
    ("I count the hours, not the good moments.", "I count the good moments, not the hours."),
    ("I used to laugh, now I only nod.", "I used to nod, now I only laugh."),
    ("Nobody here listens, everybody here judges.", "Everybody here listens, nobody here judges."),
    ("I cancel every plan and keep every meeting.", "I cancel every meeting and keep every plan."),
)

_WORDS = ("exhausted", "drained", "overwhelmed", "hopeless", "numb", "burnt out")

_EXHAUSTION = (
    "I feel so {word} lately.",
    "Woke up {word} again.",
    "Honestly, I have been {word} for weeks.",
    "I do not tell anyone, but I am {word}.",
    "Another day of being {word}.",
)

_DISTRACTORS = (
    "The film was about a {word} detective, rather funny.",
    "Our team looked {word} in the second half.",
    "By the end of the quiz we were all {word} and laughing.",
    "A friend wrote an article on feeling {word} at work.",
    "After the race I was {word} but happy.",
)

_INTERESTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cooking": (
        ("lentil soup", "sourdough bread", "apple pie", "mushroom risotto"),
        ("tried a new recipe", "cooked for six people", "burnt the onions"),
    ),
    "football": (
        ("the home match", "our goalkeeper", "the league table", "the new coach"),
        ("watched the derby", "played five a side", "missed a penalty"),
    ),
    "games": (
        ("the final level", "that board game", "the new patch", "my old console"),
        ("beat the dragon", "lost at chess", "played online with my cousin"),
    ),
    "garden": (
        ("the tomato plants", "my little greenhouse", "the apple tree", "the compost"),
        ("planted some beans", "watered the roses", "fought the snails"),
    ),
    "music": (
        ("the new album", "my old guitar", "the concert", "that piano piece"),
        ("learned a new song", "went to a gig", "sang in the choir"),
    ),
    "films": (
        ("the documentary", "that comedy", "the last season", "the book version"),
        ("went to the cinema", "watched three episodes", "saw the sequel"),
    ),
    "travel": (
        ("the night train", "the harbour", "our hostel", "the mountain hut"),
        ("booked a ticket", "walked along the coast", "missed the bus"),
    ),
    "work": (
        ("the quarterly report", "the office kitchen", "our new printer", "the meeting room"),
        ("finished the slides", "answered all my mail", "moved to another desk"),
    ),
    "computers": (
        ("my laptop", "the latest update", "the home network", "an old hard disk"),
        ("fixed the backup", "wrote a small script", "installed more memory"),
    ),
    "pets": (
        ("the neighbour's cat", "my dog", "the vet", "a tiny kitten"),
        ("went for a long walk", "bought a new basket", "cleaned the aquarium"),
    ),
}

_SYLLABLES: tuple[str, ...] = ("na", "la", "ri", "to", "mi", "ka", "lo", "ne", "sa", "ba")
_SYLLABLES += ("di", "ro", "ma", "le", "vi", "ta", "no", "li", "fa", "ju")

_TIMES = ("yesterday", "this morning", "on Sunday", "last night", "after lunch", "today")

_FRAMES = (
    "I {doing} {when}.",
    "We {doing} {when}, and it was fine.",
    "Does anyone here know more about {thing}?",
    "I can recommend {thing} to everybody.",
    "Not sure what to think of {thing}.",
    "{when}, I {doing} and thought about {thing}.",
    "My sister {doing} {when}.",
    "Thanks for the tips about {thing}!",
    "Has {thing} changed, or is it me?",
    "A picture of {thing} is in the album.",
    "{who} asked me about {thing} {when}.",
    "With {who} in {where} {when}, all went well.",
    "{who} from {where} {doing} {when}.",
    "Any news from {who} in {where}?",
)

_TITLES = (
    "Quick question",
    "Today",
    "An update",
    "What do you think?",
    "Small things",
    "Hello all",
)

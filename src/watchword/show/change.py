"""Counterfactual changes as HTML, drawn from `Change.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Sequence

from watchword.show.blocks import PlainData, by_score
from watchword.show.markup import escaped, left_out_html, name_html, table_html

_MOST = 30  # occurrences listed
_OPEN = 8  # occurrences: longer lists are collapsed at first
_MOST_COLUMNS = 4


def changes_html(changes: Sequence[PlainData], shown: Sequence[int] = ()) -> str:
    """Return all changes as HTML; `shown` are the numbers of the posts to link to."""
    note = (
        '<p class="quiet">The contributions of these n-grams are set to 0; the texts are not read '
        "again without them.</p>"
    )
    return note + "".join(change_html(change, shown) for change in changes)


def page_with_changes(page: str, changes: Sequence[PlainData]) -> str:
    """Return a page with a section added at its end: what would change the label."""
    before, end, after = page.rpartition("</main>")  # escaped text cannot contain it
    return f"{before}<h2>What would change the label</h2>\n{changes_html(changes)}\n{end}{after}"


def change_html(plain: PlainData, shown: Sequence[int] = ()) -> str:
    """Return a sentence and a table of the occurrences."""
    sentence = f"<p>{escaped(plain['text'])}</p>"
    occurrences = plain["occurrences"]
    if not occurrences:
        return sentence
    with_posts = occurrences[0]["post"] is not None
    columns = _columns(plain)
    heads = ["n-gram", "post" if with_posts else "offset"]
    heads += [name_html(plain["labels"][at]) for at in columns]
    strongest = sorted(occurrences, key=lambda one: -max(one["contribution"]))[:_MOST]
    rows = [
        (
            name_html(one["ngram"]),
            post_link(one["post"], shown) if with_posts else one["start"],
            *(one["contribution"][at] for at in columns),
        )
        for one in strongest
    ]
    more = left_out_html(len(occurrences) - len(strongest), "n-grams")
    opened = " open" if len(strongest) <= _OPEN else ""
    return (
        f"{sentence}<details{opened}><summary>N-grams</summary>"
        f"{table_html('', heads, rows)}{more}</details>"
    )


def _columns(plain: PlainData) -> list[int]:
    """Return the indices of the labels to which the occurrences contribute most."""
    contributions = (one["contribution"] for one in plain["occurrences"])
    totals = [sum(each) for each in zip(*contributions, strict=True)]
    return sorted(by_score(range(len(totals)), totals)[:_MOST_COLUMNS])


def post_link(number: int, shown: Sequence[int]) -> str:
    """Return the number of a post, linked if the page shows that post."""
    return f'<a href="#post-{number}">{number:,}</a>' if number in shown else f"{number:,}"

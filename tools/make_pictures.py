"""Draw the pictures of README and docs: `python tools/make_pictures.py [--check]`.

The models are taught with synthetic subjects, so that the same pictures come out everywhere. With
--check nothing is written, and the exit code is 1 if a picture is outdated.
"""

import argparse
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import watchword as ww
from watchword.explain.story import Story

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from paper.figures import FIGURES

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
RISK = "at risk"


@cache
def taught() -> ww.TauSS3:
    model = ww.TauSS3()
    for person in ww.make_risk_streams(200, seed=1):
        model.learn_many([post.text for post in person.posts], [person.label] * len(person.posts))
    return model


@cache
def story() -> Story:
    """The one that docs/explaining.md tells."""
    people = ww.make_risk_streams(160, seed=3)
    model = ww.TauSS3()
    ww.teach(model, people[:80])
    return model.story(people[83], ww.Overtakes(RISK, margin=0.05))


PICTURES: dict[str, Callable[[], str]] = {
    "overview-bars.svg": lambda: taught().overview(12).bars(RISK),
    "overview-cloud.svg": lambda: taught().overview(30).cloud(RISK),
    "overview-distribution.svg": lambda: taught().overview(0).distribution(RISK, 3),
    "timeline.svg": lambda: story().timeline_svg(),
    **{f"paper-{name}": draw for name, draw in FIGURES.items()},
}


def outdated() -> dict[Path, str]:
    """What is not there, or would be drawn otherwise now."""
    drawn = {FOLDER / name: draw() + "\n" for name, draw in PICTURES.items()}
    return {
        path: picture
        for path, picture in drawn.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != picture
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    pictures = outdated()
    for path, picture in pictures.items():
        print(f"{path.name} {'is outdated: python tools/make_pictures.py' * check}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(picture, encoding="utf-8", newline="\n")
    return int(check and bool(pictures))


if __name__ == "__main__":
    sys.exit(main())

"""A program that runs services, the command with its door, and kills them; see `command_killable`.

They never end by themselves.
"""

import sys

import watchword.cli
import watchword.service.following
import watchword.service.redis_source
import watchword.service.serving
from command_killable import main, prepared
from service_killable import put_points_in_writing


def run(order, _answer):
    points = prepared(order)
    put_points_in_writing(points.passed)
    sys.argv = ["watchword", *order["arguments"]]
    return watchword.cli.run()


if __name__ == "__main__":
    main(run)

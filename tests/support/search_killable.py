"""A program that runs searches, which tests kill or interrupt.

It reads a line of JSON per search and answers with one. Searches are forked, because starting
Python and importing the package takes far longer than a search.
"""

import json
import os
import signal
import sys
import time
from typing import Any

from search_samples import sample
from watchword import Between, search
from watchword.searching.space import Space

SPACE: Space = {
    "smoothness": Between(0.05, 1),
    "significance": Between(0.1, 4),
    "max_ngram": [1, 2, 3],
}
OPTIONS: dict[str, Any] = {"folds": 4, "threads": 2, "measure": "macro_f1", "refine": False}


def found(order, texts, labels, **more):
    return search(
        texts, labels, SPACE, method=order["method"], trials=order["trials"], **OPTIONS, **more
    )


def run(order, texts, labels, answer):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(answer, b"began\n")  # from now on, Ctrl-C keeps what was found
    result = found(order, texts, labels, keep=order["keep"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # too late for it to matter
    said = {"table": result.to_dict(), "interrupted": result.interrupted}
    os.write(answer, json.dumps(said).encode())


def main():
    texts, labels, _ = sample(240)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            status = 1
            try:
                run(order, texts, labels, writing)
                status = 0
            except KeyboardInterrupt:
                status = 130
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            answer.readline()
            if order["signal"] is not None:
                # The child is reaped below, so no other process has its id.
                time.sleep(order["delay"])
                os.kill(child, order["signal"])
            said = answer.read()
        _, status = os.waitpid(child, 0)
        ended = {"code": os.waitstatus_to_exitcode(status), "said": None}
        print(json.dumps(ended | ({"said": json.loads(said)} if said else {})), flush=True)


if __name__ == "__main__":
    main()

"""Texts and posts for tests of Spark, and the results of one machine."""

import json
import os

import watchword as ww

STRANGE = [
    ("ΜΕΓΆΛΗ Straße, naïve café — 東京 ไทย", "rare"),
    ("emoji 👩‍👩‍👧 and e\u0301 and \u0000 and \x01 inside", "rare"),
    ("", "rare"),
    ("...", "common"),
    ("One line.\nAnother line; a third, and so on!", "common"),
]


def texts(count=300):
    """Return texts with very unequal labels and all kinds of Unicode."""
    people = ww.make_risk_streams(20, seed=3)
    posts = [post.content for person in people for post in person.posts][:count]
    return STRANGE + [(text, "rare" if at % 50 == 0 else "common") for at, text in enumerate(posts)]


def learnt(rows, **parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many([text for text, _ in rows], [label for _, label in rows])
    return model


def frame_of(spark, rows, label="string"):
    return spark.createDataFrame(rows, f"text string, label {label}")


# Streams


def people_and_model(folder, subjects=12, seed=5):
    """Return subjects, and the file of a model trained on similar ones."""
    model = ww.TauSS3()
    ww.teach(model, ww.make_risk_streams(40, seed=0))
    path = folder / "model.ww"
    model.save(path)
    return ww.make_risk_streams(subjects, seed=seed), model, path


SCHEMA = "subject string, seq int, id string, text string"


def posts_of(people):
    """Return one record per post, subject by subject."""
    return [
        {"subject": person.id, "seq": at, "id": f"{person.id}/{at}", "text": post.content}
        for person in people
        for at, post in enumerate(person.posts)
    ]


def in_batches(posts, count):
    """Return the posts in batches: the first posts of all subjects in the first one, and so on."""
    last = max(post["seq"] for post in posts) + 1
    batches = [[] for _ in range(count)]
    for post in posts:
        batches[post["seq"] * count // last].append(post)
    # Only the order column says which post came first.
    return [sorted(batch, key=lambda post: (post["text"], post["id"])) for batch in batches]


def write_batches(folder, batches, begin=0):
    """Write one file per batch, oldest first."""
    folder.mkdir(exist_ok=True)
    for at, batch in enumerate(batches, start=begin):
        path = folder / f"{at:04}.json"
        path.write_text("".join(json.dumps(post) + "\n" for post in batch), encoding="utf-8")
        os.utime(path, (1_700_000_000 + at, 1_700_000_000 + at))


def stream_of(spark, folder):
    """Return a stream in which every file is a batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))


def run(decisions, folder):
    """Read a stream to its end; return all rows written so far."""
    from pyspark.errors import StreamingQueryException

    for last in (False, True):
        try:
            start(decisions, folder).awaitTermination()
            break
        except StreamingQueryException as error:
            # Spark waits ten seconds for a Python process, which a busy machine may need.
            if last or "failed to connect back" not in str(error):
                raise
    return rows_in(decisions.sparkSession, folder)


def start(decisions, folder):
    writer = decisions.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.start(str(folder / "decisions"))


def rows_in(spark, folder):
    return spark.read.parquet(str(folder / "decisions")).collect()


def expected(model, policy, posts):
    """Return the decision of a reader after every post, and the last state of each subject."""
    readers, found = {}, {}
    for post in posts:
        reader = readers.setdefault(post["subject"], model.reader(policy))
        found[post["id"]] = reader.read(post["text"])._replace(subject=post["subject"])
    return found, {subject: reader.to_bytes() for subject, reader in readers.items()}


def as_decision(row):
    return ww.Decision(row["label"], row["delay"], row["posts"], row["confidence"], row["subject"])


def states_in(spark, folder):
    """Return the states that Spark keeps, by subject."""
    reader = spark.read.format("statestore").option("stateVarName", "subject")
    rows = reader.load(str(folder / "checkpoint")).collect()
    return {row["key"]["subject"]: bytes(row["value"]["reader"]) for row in rows}

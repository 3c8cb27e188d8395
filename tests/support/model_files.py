"""Model files taken apart and put together again, for tests that need them slightly wrong."""

import io
import json
import zipfile

import numpy as np

import watchword as ww
from watchword.model.file import container

MANIFEST = "manifest.json"


def taught(**parameters):
    """Return a small model in which every array has something to say."""
    model = ww.TauSS3.paper(**parameters)
    model.learn_one("a b c. a b d, b c", "x")
    model.learn_one("a b c a b é", "y")
    model.learn_one("d d", "z")
    return model


def members(data):
    """Every member's bytes by name, in the order of the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def parts(data):
    """The manifest and the arrays, read with NumPy and the standard library alone."""
    contents = members(data)
    manifest = json.loads(contents.pop(MANIFEST))
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
        for name, content in contents.items()
    }
    return manifest, arrays


def with_parts(data, change):
    """A file whose manifest and arrays were changed, with checksums that are right for them."""
    manifest, arrays = parts(data)
    change(manifest, arrays)
    del manifest["arrays"]
    buffer = io.BytesIO()
    container.write_model(buffer, manifest, arrays)
    return buffer.getvalue()


def zipped(contents, compression=zipfile.ZIP_STORED, prepare=None):
    """A zip of (name, bytes); `prepare` may tamper with its directory before it is written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in contents:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
        if prepare is not None:
            prepare(archive)
    return buffer.getvalue()


def with_members(data, change, **how):
    """A file whose members were changed as bytes; checksums in the manifest stay as they were."""
    contents = members(data)
    change(contents)
    return zipped(contents.items(), **how)


def with_manifest_text(data, text):
    return with_members(data, lambda contents: contents.update({MANIFEST: text}))

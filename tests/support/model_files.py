"""Model files taken apart and reassembled, for tests that need invalid ones."""

import io
import json
import zipfile

import numpy as np

import watchword as ww
from watchword.model.file import container

MANIFEST = "manifest.json"


def taught(**parameters):
    """Return a small model in which no array is trivial."""
    model = ww.TauSS3.paper(**parameters)
    model.learn_one("a b c. a b d, b c", "x")
    model.learn_one("a b c a b é", "y")
    model.learn_one("d d", "z")
    return model


def members(data):
    """Return the bytes of every member by name, in file order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def parts(data):
    """Return the manifest and the arrays, read with NumPy and the standard library only."""
    contents = members(data)
    manifest = json.loads(contents.pop(MANIFEST))
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
        for name, content in contents.items()
    }
    return manifest, arrays


def with_parts(data, change):
    """Return the file with a changed manifest and arrays, and with valid checksums."""
    manifest, arrays = parts(data)
    change(manifest, arrays)
    del manifest["arrays"]
    buffer = io.BytesIO()
    container.write_model(buffer, manifest, arrays)
    return buffer.getvalue()


def zipped(contents, compression=zipfile.ZIP_STORED, prepare=None):
    """Return a zip of (name, bytes); `prepare` may change its directory before it is written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in contents:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
        if prepare is not None:
            prepare(archive)
    return buffer.getvalue()


def with_members(data, change, **how):
    """Return the file with changed members; the checksums in the manifest stay unchanged."""
    contents = members(data)
    change(contents)
    return zipped(contents.items(), **how)


def with_manifest_text(data, text):
    return with_members(data, lambda contents: contents.update({MANIFEST: text}))

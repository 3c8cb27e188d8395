"""The model file: a zip of arrays with a manifest (docs/model-file.md)."""

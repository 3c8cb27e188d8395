"""The experiments and figures of the τ-SS3 paper: `make paper`.

`study` runs the experiments, `report` writes the files, `figures` draws figures 1 to 4. The test
suite checks this package like the library.
"""

"""The experiments and figures of the τ-SS3 paper: `study` runs them, `report` writes the files."""

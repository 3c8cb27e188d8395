"""Plain data as pictures and pages: HTML, SVG. Nothing here computes a value."""

"""HTML pages, SVG pictures and terminal output, drawn from plain data without computing values."""

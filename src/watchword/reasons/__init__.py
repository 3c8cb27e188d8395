"""Why something was decided: stories of subjects, what would have changed it, reports."""

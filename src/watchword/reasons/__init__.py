"""Reasons for decisions: stories of subjects, counterfactual changes and reports."""

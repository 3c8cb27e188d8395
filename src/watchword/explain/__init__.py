"""Explanations: stories, what would have changed a decision, alerts; and their pictures."""

from watchword._display import register_views

# What draws the results of packages below, by name: imported when something is drawn.
VIEWS = {
    "bars_svg": "watchword.explain.pictures",
    "chart_svg": "watchword.explain.chart",
    "cloud_svg": "watchword.explain.pictures",
    "distribution_svg": "watchword.explain.pictures",
    "evaluation_html": "watchword.explain.evaluation_view",
    "evaluation_text": "watchword.explain.evaluation_view",
    "explanation_html": "watchword.explain.text_view",
    "figure_bytes": "watchword.explain.chart",
    "model_html": "watchword.explain.evaluation_view",
    "ngram_html": "watchword.explain.overview_view",
    "notebook_html": "watchword.explain.text_view",
    "overview_html": "watchword.explain.overview_view",
    "plot_chart": "watchword.explain.chart",
    "plot_evaluation": "watchword.explain.chart",
    "result_html": "watchword.explain.evaluation_view",
    "search_html": "watchword.explain.search",
    "search_page": "watchword.explain.search",
}
register_views(VIEWS)

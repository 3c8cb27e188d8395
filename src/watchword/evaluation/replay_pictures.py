"""Pictures of a replay: methods of `Replay` that draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from watchword.evaluation.charts import Chart
    from watchword.evaluation.replay_charts import ReplayChart
    from watchword.evaluation.replaying import Replay


class ReplayPictures:
    """The methods of `Replay` that draw it."""

    def chart(self, kind: ReplayChart, **options: Any) -> Chart:
        """Return a picture as plain data, to be saved, shown in a notebook or plotted.

        `"thresholds"` has each ERDE and F₁ against the policy's threshold; `"frontier"` the best
        precision, or another `measure`, for each median delay, with other thresholds and first
        posts and at least the recall `least_recall` [default: 0.5]; `"delays"` a histogram;
        `"subjects"` the scores of `subjects` [default: typical ones] over their posts;
        `"policies"` the measures of other `policies` on the same scores.

        The frontier is of these subjects: a policy chosen from it must be tested on others.

        >>> import watchword as ww
        >>> people, model = ww.make_risk_streams(80, seed=3), ww.TauSS3()
        >>> ww.teach(model, people[:40])
        >>> found = ww.replay(people[40:], model, ww.Overtakes("at risk", margin=0.05))
        >>> print(found.chart("delays").description)
        correct: 7 of 7 positives; false: 0 of 33 others; the median delay is 4.
        """
        from watchword.evaluation.replay_charts import replay_chart

        return replay_chart(cast("Replay", self), kind, **options)

    def plot(self, kind: ReplayChart, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw one of the charts with matplotlib (`watchword[plot]`) on the given or new axes."""
        return self.chart(kind, **options).plot(ax)

    def _repr_html_(self) -> str:
        from watchword.evaluation.replay_charts import usual_charts
        from watchword.show.early import result_html

        own = cast("Replay", self)
        chart = usual_charts(own)[0].to_dict()
        if own.measures is None:
            return result_html(f"{own!r}; true labels unknown", chart=chart)
        measures = own.measures
        return result_html(repr(own), measures.cells(), caption=measures.counted, chart=chart)

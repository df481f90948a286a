"""The picture of a sweep: a learning curve where it has checkpoints, else a bar per variant."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evalcore.charts import pictures
from evalcore.charts.comparisons import build_learning_curve
from evalcore.charts.plots import build_score_bars
from evalcore.i18n import DEFAULT, t
from evalcore.views.sweeps import SweepReport, build_sweep_frame

_CHECKPOINTS = 2  # from which on a curve can be drawn


def build_sweep_chart(frame: pd.DataFrame, language: str) -> alt.LayerChart:
    """The chart of a frame of `build_sweep_frame`."""
    labels = {
        name: t(f"compare.sweep.{name}", language) for name in ("name", "score", "interval", "step")
    }
    if frame["step"].nunique() >= _CHECKPOINTS:
        return build_learning_curve(frame, labels)
    return build_score_bars(frame, labels)


def draw_sweep(report: SweepReport, form: str) -> bytes:
    """The picture in a format of `pictures.FORMATS`; raises UsageError where the package that draws
    is not installed."""
    frame = build_sweep_frame(report)
    benchmarks = ", ".join(dict.fromkeys(frame["series"]))
    return pictures.render_chart_file(
        build_sweep_chart(frame, DEFAULT).to_dict(),
        form,
        title=f"{t('compare.sweep.title', DEFAULT)}: {benchmarks}",
        source=f"Evalboard · {t('compare.sweep.about', DEFAULT)}",
    )

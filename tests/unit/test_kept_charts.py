"""A chart that is kept is the one that would be built, with its data, every time it is drawn."""

import gc

import altair as alt
import pandas as pd

from evalcore.charts import plots
from evalcore.charts.plots import CachedChart, cache_chart
from evalcore.single_flight import SingleFlightCache

LABELS = {"name": "Target", "score": "Score", "interval": "Interval"}


def frame(score=50.0):
    return pd.DataFrame({"name": ["a", "b"], "score": [score, 20.0], "low": 10.0, "high": 60.0})


def drawn(chart, monkeypatch=None):
    """Specification and data as Streamlit asks for them."""
    taken = {}

    def apart(data, datasets):
        name = f"frame-{len(datasets)}"
        datasets[name] = data
        return {"name": name}

    alt.data_transformers.register("apart", apart)
    with alt.data_transformers.enable("apart", datasets=taken):
        return chart.to_dict(), taken


def test_equal_arguments_give_the_same_chart_and_others_another():
    first = plots.build_score_bars(frame(), LABELS, floors={"floor": 3.0})
    assert plots.build_score_bars(frame(), dict(LABELS), floors={"floor": 3.0}) is first
    for other in (
        plots.build_score_bars(frame(51.0), LABELS, floors={"floor": 3.0}),
        plots.build_score_bars(frame(), LABELS | {"score": "Note"}, floors={"floor": 3.0}),
        plots.build_score_bars(frame(), LABELS, floors={"floor": 4.0}),
        plots.build_score_bars(frame().rename(columns={"low": "least"}).assign(low=1.0), LABELS),
        plots.build_score_bars(frame().iloc[::-1], LABELS, floors={"floor": 3.0}),
    ):
        assert other is not first


def test_an_unchanging_frame_is_looked_at_once_and_stays_the_same_frame(monkeypatch):
    looked = []
    real = pd.util.hash_pandas_object
    monkeypatch.setattr(
        pd.util,
        "hash_pandas_object",
        lambda *args, **named: looked.append(1) or real(*args, **named),
    )
    mine = frame(55.0)
    assert plots.mark_immutable(mine) is mine
    first = plots.build_score_bars(mine, LABELS)
    assert plots.build_score_bars(mine, LABELS) is first
    assert len(looked) == 1
    assert plots.build_score_bars(mine.copy(), LABELS) is first  # equal, and looked at
    assert plots.build_score_bars(mine.assign(score=1.0), LABELS) is not first


def test_what_is_known_of_a_frame_goes_with_it():
    before = len(plots._frame_keys)
    mine = plots.mark_immutable(frame(56.0))
    assert len(plots._frame_keys) == before + 1
    del mine
    gc.collect()
    assert len(plots._frame_keys) == before


def test_a_chart_says_the_same_each_time_and_as_one_that_is_not_kept():
    chart = plots.build_score_bars(frame(60.0), LABELS)
    plain = alt.LayerChart(**chart._kwds)
    (spec, data), (again, same) = drawn(chart), drawn(chart)
    expected, frames = drawn(plain)
    assert spec == again == expected
    assert list(data) == list(same) == list(frames)
    assert chart.to_dict() == plain.to_dict()  # with the data inside


def test_who_changes_a_specification_changes_nobody_elses():
    chart = plots.build_score_bars(frame(70.0), LABELS)
    spec, _ = drawn(chart)
    spec["layer"].clear()
    assert drawn(chart)[0]["layer"]


def test_a_chart_is_checked_and_built_once(monkeypatch):
    built = []

    @cache_chart
    def chart(rows, labels):
        built.append(1)
        return plots.layer_charts(alt.Chart(rows).mark_bar().encode(x="score:Q"), height=10)

    made = [chart(frame(), LABELS) for _ in range(3)]
    assert isinstance(made[0], CachedChart)
    for item in made:
        drawn(item)
    monkeypatch.setattr(alt.LayerChart, "to_dict", None)
    drawn(made[0])
    assert built == [1]


def test_cells_without_a_hash_are_drawn_anew():
    rows = pd.DataFrame({"name": ["a"], "score": [1.0], "low": 0.0, "high": 2.0, "more": [[1]]})
    assert plots.build_score_bars(rows, LABELS) is not plots.build_score_bars(rows, LABELS)


def test_a_chart_that_was_not_asked_for_long_is_let_go(monkeypatch):
    monkeypatch.setattr(plots, "_chart_cache", SingleFlightCache(2))
    first = plots.build_score_bars(frame(1.0), LABELS)
    for score in (2.0, 3.0):
        plots.build_score_bars(frame(score), LABELS)
    assert plots.build_score_bars(frame(1.0), LABELS) is not first

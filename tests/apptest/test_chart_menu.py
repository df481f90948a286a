"""The menu below a chart and the addresses to share, as the pages show them."""

from __future__ import annotations

import pytest

from evalcore.charts import pictures
from tests.support.api import fill
from tests.support.pages import open_page
from tests.support.pages import store as store


@pytest.mark.parametrize("drawn", [True, False])
def test_a_chart_can_be_saved_as_data_and_where_vega_is_at_hand_as_a_picture(
    store, monkeypatch, drawn
):
    fill(store)
    monkeypatch.setattr(pictures, "has_chart_renderer", lambda: drawn)
    app = open_page("metrics")
    assert "Data as CSV" not in [button.label for button in app.get("download_button")]
    app.session_state["chart.metric-scores.menu"] = True
    app.run()
    labels = [button.label for button in app.get("download_button")]
    assert "Data as CSV" in labels
    assert ("SVG image" in labels) == ("PNG image" in labels) == drawn
    captions = [caption.value for caption in app.caption]
    assert any("its host can add the extra “charts”" in text for text in captions) != drawn
    assert not any("pip install" in text for text in captions)


def test_the_ranking_gives_its_addresses(store):
    fill(store)
    app = open_page("ranking", "zh")
    assert [block.value for block in app.code] == ["/?lang=zh", "/share?lang=zh"]

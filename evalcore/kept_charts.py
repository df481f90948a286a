"""Charts that are built once: equal arguments give the same chart, which remembers what it became.

Building a chart and checking it against its schema costs more than all else on a page, and most
reruns of a page draw the same ones. A chart is shared by all sessions: nobody may change one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from hashlib import blake2b
from typing import Any, ParamSpec

import altair as alt
import pandas as pd

from evalcore.store.kept import Kept

P = ParamSpec("P")
_MOST = 64
_charts: Kept[alt.LayerChart] = Kept(_MOST)
#: What `unchanging` frames hold, by their place in memory.
_known: dict[int, tuple[weakref.ref[pd.DataFrame], Hashable]] = {}


class KeptChart(alt.LayerChart):
    """A chart whose specification is made once for each way of passing data beside it.

    A transformer with an option `datasets` takes the frames out of the specification, as Streamlit
    does; what it took is handed out again each time.
    """

    def to_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        apart = alt.data_transformers.options.get("datasets")
        context = options.get("context")
        if apart is None or args or (context and not context.get("top_level", True)):
            return super().to_dict(*args, **options)
        made = self.__dict__.setdefault("_made", {})
        transformer = alt.data_transformers.active
        if transformer not in made:
            taken: dict[str, Any] = {}
            with alt.data_transformers.enable(transformer, datasets=taken):
                made[transformer] = (super().to_dict(**options), taken)
        spec, taken = made[transformer]
        apart.update(taken)
        return deepcopy(spec)


def kept_chart(make: Callable[P, alt.LayerChart]) -> Callable[P, alt.LayerChart]:
    """A function of frames and labels to a layered chart, so that it works once for what is equal.

    A frame whose cells cannot be hashed is drawn anew each time.
    """

    @wraps(make)
    def drawn(*args: P.args, **named: P.kwargs) -> alt.LayerChart:
        try:
            key = (make.__module__, make.__qualname__, _content(args), _content(named))
        except TypeError:
            return make(*args, **named)
        return _charts.get(key, lambda: _keep(make(*args, **named)))

    return drawn


def unchanging(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame, of which is said that nobody ever changes it: its cells are looked at once,
    not each time it is drawn."""
    place = id(frame)
    _known[place] = (weakref.ref(frame, lambda _: _known.pop(place, None)), _content(frame))
    return frame


def _keep(chart: alt.LayerChart) -> KeptChart:
    return KeptChart(**chart._kwds)


def _content(value: Any) -> Hashable:
    """What tells a value from all others; raises TypeError for what is no plain data."""
    if isinstance(value, pd.DataFrame):
        known, content = _known.get(id(value), (None, None))
        if known is not None and known() is value:
            return content
        return (_content([str(name) for name in value.columns]), _cells(value))
    if isinstance(value, Mapping):
        return tuple((key, _content(one)) for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_content(one) for one in value)
    if value is None or isinstance(value, str | int | float | bool):
        return (type(value).__name__, value)
    raise TypeError(f"{type(value).__name__} is no plain data")


def _cells(frame: pd.DataFrame) -> bytes:
    kinds = ",".join(str(kind) for kind in frame.dtypes)
    rows = pd.util.hash_pandas_object(frame, index=True)
    return blake2b(rows.to_numpy().tobytes() + kinds.encode(), digest_size=16).digest()

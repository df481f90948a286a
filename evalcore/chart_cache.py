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

from evalcore.store.cache import SingleFlightCache

P = ParamSpec("P")
_MOST = 64
_chart_cache: SingleFlightCache[alt.LayerChart] = SingleFlightCache(_MOST)
#: What `mark_immutable` frames hold, by their place in memory.
_frame_keys: dict[int, tuple[weakref.ref[pd.DataFrame], Hashable]] = {}


class CachedChart(alt.LayerChart):
    """A chart whose specification is made once for each way of passing data beside it.

    A transformer with an option `datasets` takes the frames out of the specification, as Streamlit
    does; what it took is handed out again each time.
    """

    def to_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        datasets = alt.data_transformers.options.get("datasets")
        context = options.get("context")
        if datasets is None or args or (context and not context.get("top_level", True)):
            return super().to_dict(*args, **options)
        specs = self.__dict__.setdefault("_made", {})
        transformer = alt.data_transformers.active
        if transformer not in specs:
            taken: dict[str, Any] = {}
            with alt.data_transformers.enable(transformer, datasets=taken):
                specs[transformer] = (super().to_dict(**options), taken)
        spec, taken = specs[transformer]
        datasets.update(taken)
        return deepcopy(spec)


def cache_chart(make: Callable[P, alt.LayerChart]) -> Callable[P, alt.LayerChart]:
    """A function of frames and labels to a layered chart, so that it works once for what is equal.

    A frame whose cells cannot be hashed is drawn anew each time.
    """

    @wraps(make)
    def get_chart(*args: P.args, **kwargs: P.kwargs) -> alt.LayerChart:
        try:
            key = (
                make.__module__,
                make.__qualname__,
                _build_cache_key(args),
                _build_cache_key(kwargs),
            )
        except TypeError:
            return make(*args, **kwargs)
        return _chart_cache.get(key, lambda: _to_cached_chart(make(*args, **kwargs)))

    return get_chart


def mark_immutable(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame, of which is said that nobody ever changes it: its cells are looked at once,
    not each time it is drawn."""
    frame_id = id(frame)
    _frame_keys[frame_id] = (
        weakref.ref(frame, lambda _: _frame_keys.pop(frame_id, None)),
        _build_cache_key(frame),
    )
    return frame


def _to_cached_chart(chart: alt.LayerChart) -> CachedChart:
    return CachedChart(**chart._kwds)


def _build_cache_key(value: Any) -> Hashable:
    """What tells a value from all others; raises TypeError for what is no plain data."""
    if isinstance(value, pd.DataFrame):
        frame_ref, content = _frame_keys.get(id(value), (None, None))
        if frame_ref is not None and frame_ref() is value:
            return content
        return (_build_cache_key([str(name) for name in value.columns]), _hash_frame_cells(value))
    if isinstance(value, Mapping):
        return tuple((key, _build_cache_key(item)) for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_build_cache_key(item) for item in value)
    if value is None or isinstance(value, str | int | float | bool):
        return (type(value).__name__, value)
    raise TypeError(f"{type(value).__name__} is no plain data")


def _hash_frame_cells(frame: pd.DataFrame) -> bytes:
    kinds = ",".join(str(kind) for kind in frame.dtypes)
    rows = pd.util.hash_pandas_object(frame, index=True)
    return blake2b(rows.to_numpy().tobytes() + kinds.encode(), digest_size=16).digest()

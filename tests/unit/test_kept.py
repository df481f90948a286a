"""What is kept is made once, by one of those who ask; what nobody asked for goes first."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalcore.single_flight import SingleFlightCache
from evalcore.store.headers import HeaderSnapshot, memoize_on_snapshot
from tests.support.headers import header


def test_many_who_ask_at_once_have_it_made_once():
    made, both = [], threading.Barrier(6)
    store: SingleFlightCache[int] = SingleFlightCache(4)

    def ask(_):
        both.wait()
        return store.get("a", lambda: made.append(1) or len(made))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(6))) == [1] * 6
    assert made == [1]


def test_the_one_not_asked_for_longest_goes_first():
    store: SingleFlightCache[str] = SingleFlightCache(2)
    for key in ("a", "b", "a", "c"):
        store.get(key, lambda key=key: f"first {key}")
    responses = [store.get(key, lambda key=key: f"again {key}") for key in ("a", "c", "b")]
    assert responses == ["first a", "first c", "again b"]


def test_a_failure_is_not_kept_and_blocks_nobody():
    store: SingleFlightCache[int] = SingleFlightCache(2)
    with pytest.raises(ZeroDivisionError):
        store.get("a", lambda: 1 // 0)
    assert store.get("a", lambda: 7) == 7


def test_one_value_may_ask_for_another():
    store: SingleFlightCache[int] = SingleFlightCache(4)
    assert store.get("a", lambda: 1 + store.get("b", lambda: 1)) == 2


def test_answers_live_with_the_snapshot_and_a_plain_list_has_none():
    made = []
    headers = HeaderSnapshot([header("openai:a", 1)])
    for _ in range(2):
        memoize_on_snapshot(headers, "question", lambda: made.append("snapshot"))
    for _ in range(2):
        memoize_on_snapshot(list(headers), "question", lambda: made.append("list"))
    assert made == ["snapshot", "list", "list"]
    assert HeaderSnapshot(headers) == list(headers)

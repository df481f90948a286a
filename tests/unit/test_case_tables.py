"""Tables of a case: cells as text, odd rows found, any shape drawn."""

from __future__ import annotations

from pages.components import tables


def test_null_is_told_apart_from_its_name():
    assert tables.cell(None) == "∅"
    assert tables.cell("NULL") == "NULL"
    assert tables.cell(1.5) == "1.5"
    assert tables.cell(True) == "true"
    assert tables.cell({"a": [1]}) == '{"a":[1]}'


def test_columns_of_one_name_are_told_apart():
    assert tables.unique(["n", "n", "m", "n"]) == ["n", "n (2)", "m", "n (3)"]
    assert list(tables.frame(["n", "n"], [[1, 2]]).columns) == ["n", "n (2)"]


def test_a_made_up_name_may_stand_there_already():
    names = tables.unique(["n", "n (2)", "n"])
    assert len(set(names)) == 3


def test_ragged_rows_are_filled():
    frame = tables.frame(["a"], [[1, 2], [3]])
    assert list(frame.columns) == ["a", "2"]
    assert frame.to_numpy().tolist() == [["1", "2"], ["3", ""]]


def test_no_rows_and_no_columns_make_an_empty_frame():
    assert tables.frame([], []).empty
    assert list(tables.frame(["a"], []).columns) == ["a"]


def test_each_odd_row_marks_one_copy_the_last_first():
    rows = [["x"], ["y"], ["x"], ["x"]]
    assert tables.marks(rows, [["x"], ["x"]]) == [False, False, True, True]
    assert tables.marks(rows, []) == [False] * 4
    assert tables.marks([], [["x"]]) == []


def test_rows_with_lists_in_them_can_be_marked():
    assert tables.marks([[[1, 2]], [None]], [[None]]) == [False, True]


def test_an_odd_row_says_so_in_words_and_in_colour():
    frame = tables.marked(["a"], [[1], [2]], [False, True], word="missing")
    assert frame.iloc[:, 0].tolist() == ["", "missing"]
    html = tables.coloured(frame, [False, True], tables.MISSING).to_html()
    assert html.count("rgba(191, 75, 68") == 1

"""Tables of a case: cells as text, odd rows found, any shape drawn."""

from __future__ import annotations

from pages.shared import tables


def test_null_is_told_apart_from_its_name():
    assert tables.format_cell(None) == "∅"
    assert tables.format_cell("NULL") == "NULL"
    assert tables.format_cell(1.5) == "1.5"
    assert tables.format_cell(True) == "true"
    assert tables.format_cell({"a": [1]}) == '{"a":[1]}'


def test_columns_of_one_name_are_told_apart():
    assert tables.make_names_unique(["n", "n", "m", "n"]) == ["n", "n (2)", "m", "n (3)"]
    assert list(tables.build_text_frame(["n", "n"], [[1, 2]]).columns) == ["n", "n (2)"]


def test_a_made_up_name_may_stand_there_already():
    names = tables.make_names_unique(["n", "n (2)", "n"])
    assert len(set(names)) == 3


def test_ragged_rows_are_filled():
    frame = tables.build_text_frame(["a"], [[1, 2], [3]])
    assert list(frame.columns) == ["a", "2"]
    assert frame.to_numpy().tolist() == [["1", "2"], ["3", ""]]


def test_no_rows_and_no_columns_make_an_empty_frame():
    assert tables.build_text_frame([], []).empty
    assert list(tables.build_text_frame(["a"], []).columns) == ["a"]


def test_each_odd_row_marks_one_copy_the_last_first():
    rows = [["x"], ["y"], ["x"], ["x"]]
    assert tables.mark_odd_rows(rows, [["x"], ["x"]]) == [False, False, True, True]
    assert tables.mark_odd_rows(rows, []) == [False] * 4
    assert tables.mark_odd_rows([], [["x"]]) == []


def test_rows_with_lists_in_them_can_be_marked():
    assert tables.mark_odd_rows([[[1, 2]], [None]], [[None]]) == [False, True]


def test_an_odd_row_says_so_in_words_and_in_colour():
    frame = tables.add_mark_column(["a"], [[1], [2]], [False, True], word="missing")
    assert frame.iloc[:, 0].tolist() == ["", "missing"]
    html = tables.colour_odd_rows(frame, [False, True], tables.MISSING).to_html()
    assert html.count("rgba(191, 75, 68") == 1

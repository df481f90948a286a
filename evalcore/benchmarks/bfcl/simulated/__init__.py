"""Simulated APIs of our own for multi-turn cases: plain classes whose public methods are tools.

`_load_scenario` sets the whole state; the public attributes are the state that is compared. No
clock, no network, no running numbers: calls that do not depend on each other give the same states
and answers in any order. Their documents are `datasets/bfcl/multi_turn_func_doc/<module>.json`.
"""

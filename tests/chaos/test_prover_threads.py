"""Proofs in several threads, while the garbage collector frees the terms of each from any of them:
a context of z3 that does not expect that crashes or hangs its process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc, threading
from evalcore.sqlkit import prover
from evalcore.sqlkit.schema import read_schema

schema = read_schema(
    ("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "CREATE TABLE u (id INT PRIMARY KEY, t_id INT)"),
    "sqlite",
)
sql = "SELECT t.a, SUM(u.id) FROM t JOIN u ON u.t_id = t.id WHERE t.a > {} GROUP BY t.a"
gc.set_threshold(50)

def work(start):
    for number in range(start, start + 60):
        proof = prover.prove_equivalence(schema, sql.format(number), sql.format(-number), "sqlite")
        assert proof.status in ("refuted", "undecided"), proof

threads = [threading.Thread(target=work, args=(1000 * n + 1,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("ended")
"""


@pytest.mark.full
def test_terms_are_freed_by_any_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr[-2000:]

"""Finished runs of one target on the same tasks, whose simulated users differ."""

from __future__ import annotations

from typing import Any

import msgspec

from evalcore.benchmarks.tau_bench.card import CARD
from evalcore.records import Episode, Sample, TargetSpec, Verdict, content_hash
from evalcore.results import RunSummary
from evalcore.scoring.aggregation import score_benchmark
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from tests.support.stored_runs import SCORING, spec_of

BENCHMARK = CARD.key
RULES = {"use_llm_user": False, "user_model": ""}
MODEL = {"use_llm_user": True, "user_model": "openai:user"}


def make_user_run(
    settings: Settings, run_id: str, user: dict, outcomes: dict, *, target="openai:m", **more: Any
) -> None:
    """`outcomes` by task hold one for each repetition. `wishes` in `more` are what tasks ask for
    instead of the usual, so that their content differs; `options` are further ones."""
    wishes, chosen = (
        more.get("wishes", {}),
        {"protocol": "board", **user, **more.get("options", {})},
    )
    declared = [
        Sample(metric="retail", id=name, input={"wish": wishes.get(name, name)})
        for name in outcomes
    ]
    hashes = [sample.case_hash for sample in declared]
    plain = spec_of(run_id, epochs=max(map(len, outcomes.values())))
    fields = {"key": BENCHMARK, "suite": CARD.suite, "options": chosen, "weights": CARD.weights}
    sizes = {"dataset_hash": content_hash(hashes), "samples": len(declared)}
    column = content_hash([chosen, hashes], 12)
    benchmark = msgspec.structs.replace(plain.benchmarks[0], column=column, **fields, **sizes)
    spec = msgspec.structs.replace(plain, target=TargetSpec(target), benchmarks=(benchmark,))
    folder = RunFolder(settings.runs_dir / run_id)
    folder.create(spec, [(BENCHMARK, sample) for sample in declared])
    verdicts = []
    for sample in declared:
        for epoch, outcome in enumerate(outcomes[sample.id]):
            score = {"passed": 1.0, "failed": 0.0}.get(outcome)
            verdicts.append(Verdict("retail", sample.id, outcome, epoch, score))
            with Journal(folder.path / "generations" / "w1.jsonl") as journal:
                episode = Episode(key=sample.key, epoch=epoch, answer="Done.")
                journal.append(StoredEpisode(BENCHMARK, episode))
            with Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as journal:
                journal.append(StoredVerdict(BENCHMARK, verdicts[-1]))
    own = score_benchmark(
        CARD, declared, verdicts, CARD.weights, column=column, full=True, epochs=spec.epochs
    )
    summary = RunSummary(run_id, spec.target, "done", SCORING, {BENCHMARK: own})
    folder.write_summary(msgspec.structs.replace(summary, created_at=spec.created_at))
    record_run(settings, folder)

"""The workers of a cluster in this process, any of which may be lost at any exchange."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from evalcore.runner.node import (
    Introduction,
    NodeTask,
    NodeWorker,
    Orders,
    PackedReason,
    Report,
    WorkerLost,
    decode,
    encode,
)
from evalcore.settings import Settings


class FakeWorker:
    """A `NodeWorker` behind the methods of `RayWorker`. `is_lost` sees every report before the
    coordinator does: where it says so, the report never arrives."""

    def __init__(self, number: int, is_lost: Callable[[int, Report], bool]) -> None:
        self.number, self.is_lost, self.worker = number, is_lost, NodeWorker()
        self.gone = False

    async def introduce(self) -> Introduction:
        introduction = decode(Introduction, await self.worker.introduce())
        return msgspec.structs.replace(introduction, node=f"node{self.number}")

    async def list_keys(self, task: NodeTask) -> tuple[str, ...]:
        return msgspec.json.decode(await self.worker.list_keys(encode(task)), type=tuple[str, ...])

    async def open(self, task: NodeTask, keys: dict[str, str]) -> PackedReason:
        return decode(PackedReason, await self.worker.open(encode(task), keys))

    async def exchange(self, orders: Orders) -> Report:
        report = decode(Report, await self.worker.exchange(encode(orders)))
        if self.gone or self.is_lost(self.number, report):
            self.gone = True
            await self.worker.finish()
            raise WorkerLost("the node is gone")
        return report

    async def finish(self) -> Report:
        return decode(Report, await self.worker.finish())


class FakePool:
    """`RayPool` with `worker_count` workers of this process; `started` are all that it had."""

    worker_count = 3

    def __init__(self, settings: Settings, is_local: bool) -> None:
        self.started: list[FakeWorker] = []

    @staticmethod
    def is_lost(number: int, report: Report) -> bool:
        return False

    def start_worker(self) -> FakeWorker:
        worker = FakeWorker(len(self.started) + 1, type(self).is_lost)
        self.started.append(worker)
        return worker

    def end_worker(self, worker: FakeWorker) -> None:
        worker.gone = True

    def disconnect(self) -> None:
        pass


def build_pool(
    is_lost: Callable[[int, Report], bool] = lambda number, report: False, workers: int = 3
) -> type[FakePool]:
    """A class to put in the place of `ray_workers.RayPool`."""

    class Pool(FakePool):
        worker_count = workers

    Pool.is_lost = staticmethod(is_lost)
    return Pool

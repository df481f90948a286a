"""Workers as actors of Ray: connect to a cluster, start them, and notice that one is lost."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable
from typing import Any

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.errors import MissingDependency, UsageError
from evalcore.i18n import Note
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

_CONNECT_SECONDS = 10.0
_IN_FLIGHT = 4  # calls of an actor at once: an exchange, and the one that ends it


class RayWorker:
    """One actor, behind typed methods that raise WorkerLost where it is gone."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    async def introduce(self) -> Introduction:
        return decode(Introduction, await _get_result(self.handle.introduce.remote()))

    async def list_keys(self, task: NodeTask) -> tuple[str, ...]:
        names = await _get_result(self.handle.list_keys.remote(encode(task)))
        return msgspec.json.decode(names, type=tuple[str, ...])

    async def open(self, task: NodeTask, keys: dict[str, str]) -> PackedReason:
        return decode(PackedReason, await _get_result(self.handle.open.remote(encode(task), keys)))

    async def exchange(self, orders: Orders) -> Report:
        return decode(Report, await _get_result(self.handle.exchange.remote(encode(orders))))

    async def finish(self) -> Report:
        return decode(Report, await _get_result(self.handle.finish.remote()))


async def _get_result(reference: Awaitable[bytes]) -> bytes:
    import ray.exceptions

    try:
        return await reference
    except ray.exceptions.RayError as error:
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        last = lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
        raise WorkerLost(scrub_secrets(last.strip())[:300]) from None


def _check_reachable(address: str) -> None:
    """Raises UsageError where nothing listens at HOST:PORT: Ray would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdecimal()):
        return  # auto, local
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UsageError(Note("cluster_unreachable", address=address, message=error)) from None


class RayPool:
    """A connection to the cluster that `ray_address` names; `worker_count` is how many workers it
    has room for: a GPU each for a local model, where there are any, else a node each."""

    def __init__(self, settings: Settings, is_local: bool) -> None:
        try:
            import ray
        except ImportError:
            raise MissingDependency(Note("cluster_missing")) from None
        address = settings.ray_address
        if not address:
            raise UsageError(Note("cluster_address"))
        if address.startswith("ray://"):
            raise UsageError(Note("cluster_client"))
        _check_reachable(address)
        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            try:
                ray.init(
                    address=address,
                    namespace="evalboard",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    configure_logging=False,
                )
            except Exception as error:  # ray raises many kinds, some of them plain
                message = scrub_secrets(str(error).strip().splitlines()[0])[:300]
                raise UsageError(
                    Note("cluster_unreachable", address=address, message=message)
                ) from None
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        gpus = int(ray.cluster_resources().get("GPU", 0))
        self._resources = {"num_cpus": 1} | ({"num_gpus": 1} if is_local and gpus else {})
        fitting = gpus if is_local and gpus else len(nodes)
        self.worker_count = settings.ray_workers or fitting
        if not fitting:
            raise UsageError(Note("cluster_empty", address=address))

    def start_worker(self) -> RayWorker:
        """An actor that starts as soon as a node has room for it. Ray starts none anew by itself:
        what a worker was handed is known here alone."""
        kind = self._ray.remote(NodeWorker).options(
            scheduling_strategy="SPREAD",
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=_IN_FLIGHT,
            **self._resources,
        )
        return RayWorker(kind.remote())

    def end_worker(self, worker: RayWorker) -> None:
        """Kill the actor, so that one that was given up cannot go on."""
        self._ray.kill(worker.handle, no_restart=True)

    def disconnect(self) -> None:
        if self._is_ours:
            self._ray.shutdown()

"""Calls of the actors on the workers of a Dask cluster, as the client makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pqchain import checks, scheduler
from pqchain.errors import PqchainError
from pqchain.wire.drivers.cluster_worker import Description, WorkerNodes
from pqchain.wire.drivers.job import Job

_CALL_SECONDS = 60.0
"""Time without an answer after which a worker is considered lost; it answers after
`cluster_worker.POLL_SECONDS`."""

PREPARE_SECONDS = 600.0
"""Timeout for all nodes to have their files."""


class WorkerLost(PqchainError):
    """A worker ended, or does not answer."""


@dataclass(eq=False)
class Worker:
    """A worker, its nodes, and its actor once it is started."""

    number: int
    address: str
    client: Any
    scheduler: str
    ports: Mapping[int, int]
    """Port of each of its nodes; 0: any."""
    description: Description
    """Result of `cluster_worker.describe`."""
    actor: Any = None
    lost: bool = False

    async def call(
        self, method: str, *values: Any, seconds: float = _CALL_SECONDS, **named: Any
    ) -> Any:
        """Call a method of the actor; its result must have the type of its annotation.

        Raises WorkerLost, DataError for a result of another type, and the errors of the method.
        """
        if self.lost:
            raise WorkerLost(f"worker {self.address} was lost")
        try:
            reply = await asyncio.wait_for(self.actor.call(method, *values, **named), seconds)
        except scheduler.LOST_ERRORS as error:
            await self._check_scheduler()
            self.lost = True
            raise WorkerLost(f"worker {self.address} was lost ({error})") from error
        word, _, text = str(reply).partition(" ")
        result = get_type_hints(getattr(WorkerNodes, method))["return"]
        kind = result if word == "value" else checks.SentError
        value = checks.loads(text, kind, f"the reply of worker {self.address} to {method!r}")
        if word != "value":
            raise value
        return value

    async def _check_scheduler(self) -> None:
        try:
            await asyncio.wait_for(self.client.scheduler.identity(), _CALL_SECONDS)
        # AttributeError: a client that lost its scheduler has none.
        except (*scheduler.LOST_ERRORS, AttributeError) as error:
            raise PqchainError(
                f"the Dask scheduler {self.scheduler} was lost ({error or type(error).__name__}). "
                "The workers stop the nodes. Start the cluster and the run again."
            ) from error

    async def start(self, job: Job, identities: Mapping[int, Any], in_memory: bool) -> None:
        """Start the actor, which makes and fills the nodes' folders."""
        directory = [identity.public for identity in identities.values()]
        own = {index: identities[index] for index in self.ports}
        future = self.client.submit(
            WorkerNodes, job, own, directory, in_memory=in_memory,
            workers=[self.address], allow_other_workers=False, actor=True, pure=False,
        )  # fmt: skip
        try:
            self.actor = await asyncio.wait_for(
                scheduler.actor(future, WorkerNodes, self.address), _CALL_SECONDS
            )
        except scheduler.LOST_ERRORS as error:
            raise PqchainError(f"worker {self.address} was lost before the start.") from error
        await self.call("open", seconds=PREPARE_SECONDS)

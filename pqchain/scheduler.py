"""Connection to a Dask scheduler, for independent tasks and for nodes on machines of their own.

This is the only module that imports Dask.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from pqchain.errors import PqchainError, Unsupported, UsageError

CONNECT_SECONDS = 5
"""Timeout of the connection to a Dask scheduler."""

INSTALL_COMMAND = "pip install dask distributed"

LOST_ERRORS = (OSError, RuntimeError, asyncio.TimeoutError)
"""Errors of a call over a connection that has ended, or to an actor whose worker has ended."""


_CLOSE_SECONDS = 10


def _client(address: str, *, asynchronous: bool) -> Any:
    """Return a client of the scheduler at `address`, to be awaited if `asynchronous`."""
    try:
        from dask.distributed import Client, Security, comm
    except ImportError:
        raise Unsupported(
            f"Dask must be installed for --scheduler {address}. "
            f"Run `{INSTALL_COMMAND}`, or leave the scheduler out."
        ) from None
    try:
        # Check the address first: a client that fails on a wrong one halfway cannot be closed and
        # keeps the process from ending.
        _, port = comm.get_address_host_port(address)
        if not 0 < port < 2**16:
            raise ValueError(f"port must be from 1 to 65535; got {port}")
        encrypted = Security().get_connection_args("client")["ssl_context"]
        if address.startswith("tls:") and encrypted is None:
            raise ValueError("Dask's configuration has no certificates for TLS")
        return Client(
            address, timeout=CONNECT_SECONDS, set_as_default=False, asynchronous=asynchronous
        )
    except (OSError, ValueError) as error:
        raise _no_answer(address, error) from error


@asynccontextmanager
async def open_client(address: str) -> AsyncIterator[Any]:
    """Connect to the scheduler at `address`, and yield the asynchronous client.

    Addresses are such as "tcp://host:8786", or "tls://host:8786" with the certificates of Dask's
    configuration. Raises Unsupported without Dask and UsageError if no scheduler answers.
    """
    client = _client(address, asynchronous=True)
    try:
        try:
            await client
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise _no_answer(address, error) from error
        # Actors use the current client.
        with client.as_current():
            yield client
    finally:
        # Without a scheduler the client would wait for its timeouts.
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


def _no_answer(address: str, error: Exception) -> UsageError:
    return UsageError(
        f"no Dask scheduler answers at {address!r} within {CONNECT_SECONDS} s ({error}). "
        "Start one with `dask scheduler` and give its address, such as tcp://127.0.0.1:8786."
    )


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    address: str,
    shared: Sequence[Any] = (),
) -> Iterator[tuple[int, Any]]:
    """Call `function(*shared, *task)` for each task on the workers of a scheduler.

    `shared` is sent once and not with each task. Yields each task's position and result, in the
    order in which tasks end. Tasks of workers that die run again on other workers, as often as the
    scheduler's setting `distributed.scheduler.allowed-failures` permits. Raises Unsupported,
    UsageError, the exception of a task, and PqchainError if workers die repeatedly or lack the
    function's module.
    """
    with _client(address, asynchronous=False) as client:
        from dask.distributed import KilledWorker, as_completed

        common = client.scatter(list(shared), hash=False) if shared else []
        futures = {
            client.submit(function, *common, *task, pure=False): number
            for number, task in enumerate(tasks)
        }
        try:
            for future in as_completed(list(futures), loop=client.loop):
                # Popped, so that the scheduler releases each result as soon as it is used.
                number = futures.pop(future)
                yield number, future.result()
        except KilledWorker as error:
            raise PqchainError(
                f"the workers of {address} died repeatedly ({error}). "
                "Use smaller scenarios or a smaller batch if memory ran out."
            ) from error
        except ModuleNotFoundError as error:
            raise PqchainError(
                f"a worker of {address} lacks a module: {error}. Install the same version of "
                "pqchain and its packages on every worker."
            ) from error


def current_worker() -> Any:
    """Return the Dask worker that runs the calling task."""
    from dask.distributed import get_worker

    return get_worker()


def pause_profiling(worker: Any) -> Callable[[], None]:
    """Stop a worker's profiler, which samples stacks every 10 ms; return a function that starts it.

    The profiler takes 2 % of a processor even if the worker has no task.
    """
    names = ("profile", "profile-cycle")
    paused = [
        callback
        for name in names
        if (callback := worker.periodic_callbacks.get(name)) and callback.is_running()
    ]
    for callback in paused:
        callback.stop()

    def resume() -> None:
        # A worker that closes has stopped its callbacks itself.
        if worker.status.name == "running":
            for callback in paused:
                callback.start()

    return resume

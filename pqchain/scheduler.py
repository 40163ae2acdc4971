"""Connection to a Dask scheduler, for independent tasks and for nodes on machines of their own.

This is the only module that imports Dask.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from typing import Any, get_type_hints

from pqchain import checks
from pqchain.errors import (
    DataError,
    InvalidResult,
    PqchainError,
    Unsupported,
    UsageError,
)

CONNECT_SECONDS = 5
"""Timeout of the connection to a Dask scheduler."""

LOST_ERRORS = (OSError, RuntimeError, asyncio.TimeoutError)
"""Errors of a call over a connection that has ended, or to an actor whose worker has ended."""

INSECURE = "insecure-"
"""Prefix of an address, such as "insecure-tcp://host:8786", that allows connections without TLS to
other computers."""

Task = tuple[Any, ...]
"""Arguments of a function that workers call."""

_CLOSE_SECONDS = 10


def _client(address: str, *, asynchronous: bool) -> Any:
    """Return a client of the scheduler at `address`, to be awaited if `asynchronous`."""
    try:
        from dask.distributed import Client, Security, comm
    except ImportError:
        raise Unsupported(
            f"Dask must be installed for --scheduler {address}. "
            "Run `pip install dask distributed`, or leave the scheduler out."
        ) from None
    plain = address.removeprefix(INSECURE)
    with _answering(address):
        # Check the address first: a client that fails on a wrong one halfway cannot be closed and
        # keeps the process from ending.
        _, port = comm.get_address_host_port(plain)
        if not 0 < port < 2**16:
            raise ValueError(f"port must be from 1 to 65535; got {port}")
        encrypted = Security().get_connection_args("client")["ssl_context"]
        if plain.startswith("tls:") and encrypted is None:
            raise ValueError("Dask's configuration has no certificates for TLS")
        _check_connection(address, plain)
        # Results are refused unless they are msgpack, whose reading runs no code of a worker.
        formats = {"deserializers": ["msgpack", "error"], "set_as_default": False}
        return Client(plain, timeout=CONNECT_SECONDS, asynchronous=asynchronous, **formats)


@contextmanager
def _answering(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {address!r} within {CONNECT_SECONDS} s ({error}). "
            "Start one with `dask scheduler` and give its address, such as tcp://127.0.0.1:8786."
        ) from error


def _check_connection(address: str, *peers: str) -> None:
    """Raise UsageError for peers on other computers without TLS, unless `address` allows them."""
    for peer in peers:
        host = peer.partition("://")[2].rpartition(":")[0].strip("[]")
        if peer.startswith("tls:") or address.startswith(INSECURE):
            continue
        if not all(ip_address(row[4][0]).is_loopback for row in socket.getaddrinfo(host, None)):
            raise UsageError(
                f"connections to other computers must use TLS; got {peer}. Over tcp:// any program "
                "on the network can run code on all computers of the cluster and on this one. Use "
                "tls:// with certificates of a CA of your own (docs/tasks/cluster.md), or give "
                f"{INSECURE}{address} in a network in which you trust every program."
            )


async def _check_peers(client: Any, address: str) -> None:
    identity = await client.scheduler.identity()
    _check_connection(address, identity["address"], *await client.scheduler.ncores())


@asynccontextmanager
async def open_client(address: str) -> AsyncIterator[Any]:
    """Connect to the scheduler at `address`, and yield the asynchronous client.

    Addresses are such as "tls://host:8786", with the certificates of Dask's configuration, or
    "tcp://127.0.0.1:8786"; `INSECURE` allows tcp:// to other computers. Raises Unsupported without
    Dask, and UsageError if no scheduler answers, or one on another computer without TLS.
    """
    client = _client(address, asynchronous=True)
    try:
        with _answering(address):
            await client
        await _check_peers(client, address)
        # Actors use the current client.
        with client.as_current():
            yield client
    finally:
        # Without a scheduler the client would wait for its timeouts.
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


def as_json(function: Callable[..., Any], *arguments: Any) -> str:
    """Call a function; return its result as JSON. Workers call this function."""
    return checks.dumps(function(*arguments))


def run_tasks(
    function: Callable[..., Any],
    tasks: Sequence[Task],
    *,
    address: str,
    shared: Sequence[Any] = (),
    check: Callable[[Task, Any], None] = lambda task, result: None,
) -> Iterator[tuple[int, Any]]:
    """Call `function(*shared, *task)` for each task on the workers of a scheduler.

    `shared` is sent once and not with each task. Yields each task's position and result, in the
    order in which tasks end. Tasks of workers that die run again on other workers, as often as the
    scheduler's setting `distributed.scheduler.allowed-failures` permits.

    Results are JSON that must have the type of the function's return annotation; `check` raises
    DataError for a wrong one. Raises Unsupported, UsageError, the exception of a task,
    InvalidResult for a wrong result, and PqchainError if workers die repeatedly or lack a module.
    """
    kind = get_type_hints(function)["return"]
    with _client(address, asynchronous=False) as client:
        from dask.distributed import KilledWorker, as_completed

        client.sync(_check_peers, client, address)
        common = client.scatter(list(shared), hash=False) if shared else []
        futures = {
            client.submit(as_json, function, *common, *task, pure=False): number
            for number, task in enumerate(tasks)
        }
        try:
            for future in as_completed(list(futures), loop=client.loop):
                # Popped, so that the scheduler releases each result as soon as it is used.
                number = futures.pop(future)
                try:
                    result = checks.loads(future.result(), kind, "it")
                    check(tasks[number], result)
                # TypeError: Dask refuses another serialization than msgpack.
                except (DataError, TypeError) as error:
                    if future.status != "finished":
                        raise
                    (workers,) = client.who_has([future]).values()
                    raise InvalidResult(
                        f"result {number} of {function.__name__} from worker {', '.join(workers)} "
                        f"must be one of this task: {error}. Remove the worker, or install the "
                        "same version of pqchain there."
                    ) from error
                yield number, result
        except (KilledWorker, ModuleNotFoundError) as error:
            raise PqchainError(
                f"the workers of {address} must be able to run {function.__name__}; got {error}. "
                "Install the same version of pqchain and its packages on every worker, and use "
                "smaller scenarios or a smaller batch if their memory ran out."
            ) from error


async def actor(client: Any, address: str, actor_class: type, *arguments: Any) -> Any:
    """Return an actor that the worker at an address has made."""
    from dask.distributed import Actor, wait

    placed = {"workers": [address], "allow_other_workers": False}
    future = client.submit(actor_class, *arguments, actor=True, pure=False, **placed)
    await wait(future)
    if future.status != "finished":
        raise OSError(future.status)
    # Not the result of the future, which is a pickle.
    return Actor(actor_class, address, future.key)

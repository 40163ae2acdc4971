"""Every error that pqchain raises on purpose: the value, what was expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_SHOWN_BITS, _MOST_SHOWN_CHARACTERS = 256, 200


def shown(value: object) -> str:
    """Return a value as messages show it: long ones are cut, and Python prints no int of any size.

    >>> shown(10**4000)
    'a whole number of 13288 bits'
    """
    if isinstance(value, int) and value.bit_length() > _MOST_SHOWN_BITS:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = repr(value)
    except ValueError:  # such a number in a list or a table
        return f"a {type(value).__name__} of numbers too long to print"
    return text if len(text) <= _MOST_SHOWN_CHARACTERS else f"{text[:_MOST_SHOWN_CHARACTERS]} ..."


class PqchainError(Exception):
    """Base of all errors of this package."""


class UsageError(PqchainError):
    """An argument has the wrong type, range or combination."""


class UnknownName(UsageError):
    """A name that no table of ours holds; the message suggests the nearest, or names a few."""

    def __init__(self, what: str, name: object, known: Iterable[str], see: str = "") -> None:
        """Build the message from the kind of thing, the name given and the names known.

        Where there are too many names for a message, `see` says where they are listed.
        """
        known = list(known)
        folded = {candidate.casefold(): candidate for candidate in known}
        near = difflib.get_close_matches(shown(name).strip("'").casefold(), folded, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(repr(folded[n]) for n in near)}?" if near else ""
        listed = f"; expected one of {', '.join(known)}" if not near and not see else ""
        # All arguments go to the base class, so that process pools can pickle the error.
        super().__init__(what, name, known, see)
        self.name = name
        self._message = f"unknown {what} {shown(name)}{hint}{listed}"
        if see:
            self._message += f"{'' if near else '.'} See {see}"

    def __str__(self) -> str:
        return self._message


class UnknownAlgorithm(UnknownName):
    """No algorithm of that name is in the registry."""


class UnknownImplementation(UnknownName):
    """No implementation of that name is in the registry."""


class UnknownPaper(UnknownName):
    """No paper, or no table of a paper, has that key."""


class BadLength(UsageError):
    """A key, signature, ciphertext or context has a length that the algorithm cannot have."""


class BadType(UsageError):
    """Something other than bytes was given where bytes are needed."""


class Unsupported(PqchainError):
    """The algorithm or implementation cannot run here; the message says why and what would help."""


class PackageMissing(Unsupported, ImportError):
    """A Python package that this needs is not installed; the message holds the command."""


class NativeLibraryMissing(Unsupported):
    """A native library was not built or not installed; the message holds the command."""


class CryptoFailure(PqchainError):
    """The cryptographic library reported a failure on well-formed input."""


class BitstreamMissing(Unsupported):
    """There is no bitstream to load onto the board; the message says how one is made."""


class BoardFailure(PqchainError):
    """A board did something other than what its driver expects of it."""


class WrongBitstream(BoardFailure):
    """The loaded bitstream lacks our core, or holds another version of it."""


class BoardTimeout(BoardFailure):
    """The core on the board did not finish in the time it was given."""


class BadBoardSignature(BoardFailure):
    """What came back from the board is no valid signature; it was not returned."""


class DataError(PqchainError):
    """A data file or frame breaks its contract."""


class Malformed(DataError):
    """Bytes that are not an encoding of what they should be."""


class MachineMismatch(DataError):
    """Measurements of different machines were about to be mixed."""


class ChunksLost(DataError):
    """Too few intact chunks of a block are within reach; what is stored stays as it is."""

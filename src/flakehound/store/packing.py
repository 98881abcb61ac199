"""Encode orders, outcomes, durations and texts in few bytes, and decode them."""

from __future__ import annotations

import hashlib
import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import Any

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting

SHORT = 8  # tests: orders and outcomes of shorter runs are not compressed, which would only add bytes

# Written out: the numbers are in users' files and must not change with the order of the enum.
SETTING_CODES = {
    Setting.ORIGINAL: 0,
    Setting.SHUFFLED: 1,
    Setting.ALONE: 2,
    Setting.REPEATED: 3,
    Setting.PROBE: 4,
}
SETTINGS = {code: setting for setting, code in SETTING_CODES.items()}
ISOLATION_CODES = {Isolation.FORK: 0, Isolation.SPAWN: 1}
ISOLATIONS = {code: isolation for isolation, code in ISOLATION_CODES.items()}

_LETTERS = {ord(outcome.value): outcome for outcome in Outcome}
_LARGEST_SQL = 2**63 - 1
_LARGEST_UINT32 = 2**32 - 1


def digest_of(content: bytes) -> bytes:
    """A digest of sixteen bytes."""
    return hashlib.blake2b(content, digest_size=16).digest()


def encoded(text: str) -> bytes:
    """UTF-8 that also keeps the halves of surrogate pairs that odd file names leave in node ids."""
    return text.encode("utf-8", "surrogatepass")


def decoded(content: bytes) -> str:
    """The text that was `encoded`."""
    return content.decode("utf-8", "surrogatepass")


def compressed(text: str) -> bytes:
    """A long text, compressed."""
    return zlib.compress(encoded(text))


def decompressed(content: bytes) -> str:
    """The text that was `compressed`."""
    return decoded(zlib.decompress(content))


def column_of(text: str) -> str | bytes:
    """A text as SQLite can hold it: text that is no valid Unicode goes in as bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return encoded(text)
    return text


def text_of(column: str | bytes) -> str:
    """The text behind a column."""
    return column if isinstance(column, str) else decoded(column)


def column_of_number(number: int | None) -> int | str | None:
    """A whole number of any size; SQLite's own end at 64 bits."""
    if number is None or -_LARGEST_SQL <= number <= _LARGEST_SQL:
        return number
    return str(number)


def number_of(column: int | str | None) -> int | None:
    """The number behind a column."""
    return None if column is None else int(column)


def pack_short_order(numbers: Sequence[int]) -> bytes:
    """A few test numbers, two bytes each where that suffices."""
    return _little_endian(array("H" if max(numbers, default=0) < 65536 else "I", numbers))


def unpack_short_order(packed: bytes, length: int) -> array[int]:
    """The `length` numbers that were packed."""
    return _from_little_endian("I" if len(packed) == 4 * length else "H", packed)


def pack_order(numbers: Sequence[int]) -> bytes:
    """Many test numbers; bytes of equal weight side by side, because the high ones hardly differ."""
    return zlib.compress(_apart(_little_endian(array("I", numbers)), 4))


def unpack_order(packed: bytes) -> array[int]:
    """The numbers that were packed."""
    return _from_little_endian("I", _together(zlib.decompress(packed), 4))


def pack_outcomes(outcomes: Sequence[Outcome]) -> bytes:
    """A letter per outcome."""
    letters = "".join([outcome.value for outcome in outcomes]).encode("ascii")
    return letters if len(letters) <= SHORT else zlib.compress(letters)


def unpack_outcomes(packed: bytes, length: int) -> tuple[Outcome, ...]:
    """The `length` outcomes that were packed."""
    letters = packed if length <= SHORT else zlib.decompress(packed)
    return tuple(map(_LETTERS.__getitem__, letters))


def pack_durations(durations_s: Sequence[float]) -> bytes:
    """The upper halves of float32, rounded: right to 0.4 %, exact at zero, and unpacked without a loop."""
    bits: array[int] = array("I")
    bits.frombytes(array("f", durations_s).tobytes())
    halves = array("H", [min(word + 0x8000, _LARGEST_UINT32) >> 16 for word in bits])
    packed = _apart(_little_endian(halves), 2)
    return packed if len(halves) <= SHORT else zlib.compress(packed)


def unpack_durations(packed: bytes, length: int) -> array[float]:
    """The `length` durations, nearly as they were."""
    halves = packed if length <= SHORT else zlib.decompress(packed)
    words = bytearray(4 * length)
    words[2::4], words[3::4] = halves[:length], halves[length:]
    return _from_little_endian("f", words)


def _apart(words: bytes, width: int) -> bytes:
    return b"".join(words[weight::width] for weight in range(width))


def _together(planes: bytes, width: int) -> bytes:
    length = len(planes) // width
    words = bytearray(len(planes))
    for weight in range(width):
        words[weight::width] = planes[weight * length : (weight + 1) * length]
    return bytes(words)


def _little_endian(numbers: array[Any]) -> bytes:
    # The file may be carried to, or merged on, a machine of the other byte order.
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _from_little_endian(typecode: str, packed: bytes | bytearray) -> array[Any]:
    numbers: array[Any] = array(typecode)
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers

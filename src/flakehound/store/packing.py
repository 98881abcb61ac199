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

MAX_SHORT_ORDER = 8  # tests; compressing shorter orders and outcomes would only add bytes

# Explicit numbers, because they are in users' files and must not change with the order of the enum.
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

_OUTCOME_BY_LETTER = {ord(outcome.value): outcome for outcome in Outcome}
_MAX_SQL_INTEGER = 2**63 - 1
_MAX_UINT32 = 2**32 - 1


def digest_of(content: bytes) -> bytes:
    """A digest of sixteen bytes."""
    return hashlib.blake2b(content, digest_size=16).digest()


def encode_text(text: str) -> bytes:
    """UTF-8 that also encodes lone surrogates, which unusual file names put into node ids."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(content: bytes) -> str:
    """The text that `encode_text` has encoded."""
    return content.decode("utf-8", "surrogatepass")


def compress_text(text: str) -> bytes:
    """Compress a long text."""
    return zlib.compress(encode_text(text))


def decompress_text(content: bytes) -> str:
    """The text that `compress_text` has compressed."""
    return decode_text(zlib.decompress(content))


def text_column(text: str) -> str | bytes:
    """A text as a column value; text that is not valid Unicode is stored as bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return encode_text(text)
    return text


def text_of_column(column: str | bytes) -> str:
    """The text in a column."""
    return column if isinstance(column, str) else decode_text(column)


def number_column(number: int | None) -> int | str | None:
    """An integer of any size as a column value; SQLite's integers have 64 bits."""
    if number is None or -_MAX_SQL_INTEGER <= number <= _MAX_SQL_INTEGER:
        return number
    return str(number)


def number_of_column(column: int | str | None) -> int | None:
    """The integer in a column."""
    return None if column is None else int(column)


def pack_short_order(numbers: Sequence[int]) -> bytes:
    """Pack a few test numbers, in two bytes each if that suffices."""
    return _little_endian(array("H" if max(numbers, default=0) < 65536 else "I", numbers))


def unpack_short_order(packed: bytes, length: int) -> array[int]:
    """The `length` numbers that were packed."""
    return _from_little_endian("I" if len(packed) == 4 * length else "H", packed)


def pack_order(numbers: Sequence[int]) -> bytes:
    """Pack many test numbers; all lowest bytes come first, because the higher bytes hardly differ."""
    return zlib.compress(_split_byte_planes(_little_endian(array("I", numbers)), 4))


def unpack_order(packed: bytes) -> array[int]:
    """The numbers that were packed."""
    return _from_little_endian("I", _join_byte_planes(zlib.decompress(packed), 4))


def pack_outcomes(outcomes: Sequence[Outcome]) -> bytes:
    """Pack outcomes as one letter each."""
    letters = "".join([outcome.value for outcome in outcomes]).encode("ascii")
    return letters if len(letters) <= MAX_SHORT_ORDER else zlib.compress(letters)


def unpack_outcomes(packed: bytes, length: int) -> tuple[Outcome, ...]:
    """The `length` outcomes that were packed."""
    letters = packed if length <= MAX_SHORT_ORDER else zlib.decompress(packed)
    return tuple(map(_OUTCOME_BY_LETTER.__getitem__, letters))


def pack_durations(durations_s: Sequence[float]) -> bytes:
    """Pack durations as rounded upper halves of float32: exact to 0.4 % and at zero, and quick to unpack."""
    bits: array[int] = array("I")
    bits.frombytes(array("f", durations_s).tobytes())
    halves = array("H", [min(word + 0x8000, _MAX_UINT32) >> 16 for word in bits])
    packed = _split_byte_planes(_little_endian(halves), 2)
    return packed if len(halves) <= MAX_SHORT_ORDER else zlib.compress(packed)


def unpack_durations(packed: bytes, length: int) -> array[float]:
    """The `length` durations that were packed, exact to 0.4 %."""
    halves = packed if length <= MAX_SHORT_ORDER else zlib.decompress(packed)
    words = bytearray(4 * length)
    words[2::4], words[3::4] = halves[:length], halves[length:]
    return _from_little_endian("f", words)


def _split_byte_planes(words: bytes, word_size: int) -> bytes:
    return b"".join(words[byte::word_size] for byte in range(word_size))


def _join_byte_planes(planes: bytes, word_size: int) -> bytes:
    length = len(planes) // word_size
    words = bytearray(len(planes))
    for byte in range(word_size):
        words[byte::word_size] = planes[byte * length : (byte + 1) * length]
    return bytes(words)


def _little_endian(numbers: array[Any]) -> bytes:
    # The file may be used on a machine with the other byte order.
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _from_little_endian(typecode: str, packed: bytes | bytearray) -> array[Any]:
    numbers: array[Any] = array(typecode)
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers

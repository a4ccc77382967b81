"""Kafka's segment files: record batches one after the other, the records of each maybe compressed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

import cramjam

# baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes (record batch, version 2)
_HEAD = struct.Struct(">qiibIh")
_RECORDS_AT = 61
_LENGTH_FROM = 12
_XERIAL = b"\x82SNAPPY\x00"


def opened(segment: bytes) -> Iterator[bytes]:
    """Give the records' bytes of every compressed batch; plain ones lie open in the file itself.

    A torn last batch ends the walk, as it does for the broker.
    """
    at = 0
    while at + _RECORDS_AT <= len(segment):
        _, length, _, magic, _, attributes = _HEAD.unpack_from(segment, at)
        end = at + _LENGTH_FROM + length
        if length <= 0 or end > len(segment):
            return
        codec = _CODECS.get(attributes & 7)
        if magic == 2 and codec is not None:
            yield codec(bytes(segment[at + _RECORDS_AT : end]))
        at = end


def _gzip(data: bytes) -> bytes:
    return zlib.decompress(data, wbits=31)


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(data))
    # What Java producers write: blocks, each after its length, behind a header of 16 bytes.
    at, parts = 16, []
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        parts.append(bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + size])))
        at += 4 + size
    return b"".join(parts)


def _lz4(data: bytes) -> bytes:
    return bytes(cramjam.lz4.decompress(data))


def _zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.decompress(data))


_CODECS: dict[int, Callable[[bytes], bytes]] = {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}

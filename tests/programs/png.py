"""Reads the pixels of a picture: two pictures may be equal and not their files."""

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def pixels(path):
    """(width, height, bytes of all pixels) of a PNG with eight bits per channel.

    Raises ValueError if it is not one.  Format: ISO 15948, Portable Network Graphics.
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path} is not a PNG")
    at, packed, head = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    if head is None or head[2] != 8 or head[3] not in CHANNELS or head[6] != 0:
        raise ValueError(f"{path} has another form of pixels: {head}")
    return head[0], head[1], unfilter(zlib.decompress(packed), head[0] * CHANNELS[head[3]],
                                      CHANNELS[head[3]])


PREDICTIONS = (
    lambda left, above, corner: 0,
    lambda left, above, corner: left,
    lambda left, above, corner: above,
    lambda left, above, corner: (left + above) // 2,
    lambda left, above, corner: paeth(left, above, corner),
)


def unfilter(data, row_bytes, step):
    """Undoes what each row of bytes was predicted from: left, above, their mean, or Paeth's."""
    above, found = bytearray(row_bytes), bytearray()
    for start in range(0, len(data), row_bytes + 1):
        predict, row = PREDICTIONS[data[start]], bytearray(data[start + 1 : start + 1 + row_bytes])
        for i in range(row_bytes if data[start] else 0):
            left, corner = (row[i - step], above[i - step]) if i >= step else (0, 0)
            row[i] = (row[i] + predict(left, above[i], corner)) & 255
        found += row
        above = row
    return bytes(found)


def paeth(left, above, corner):
    estimate = left + above - corner
    candidates = (left, above, corner)
    return min(candidates, key=lambda it: abs(estimate - it))  # the first of equals

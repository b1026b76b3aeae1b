"""Browsers without a screen: a page of boxes and a canvas, and the picture that they make of it.

Neither speaks to anybody: each has a new profile, what a browser fetches by itself is switched off,
and the proxy that they are told to use does not exist.
"""

import os
import struct
import zlib

from hosts import HostError
from interpreters import source
from program import Program, digest_of

FIREFOX_PREFERENCES = """
user_pref("app.update.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("captivedetect.canonicalURL", "");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("network.proxy.type", 1);
user_pref("services.settings.server", "http://127.0.0.1:9/");
user_pref("toolkit.telemetry.server", "");
"""

CHROMIUM_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-pings "
    "--disable-background-networking --disable-component-update --disable-default-apps "
    "--disable-domain-reliability --disable-extensions --disable-sync --disable-breakpad "
    "--metrics-recording-only --proxy-server=127.0.0.1:9 --window-size=800,600 "
    "--hide-scrollbars --force-device-scale-factor=1"
).split()


def picture(host, result):
    """What must be the same of a browser's run.  Its own chatter on standard error need not be."""
    path = host.path("picture.png")
    if not os.path.exists(path):
        raise HostError(f"no picture, status {result[0]}: {host.said()[-400:]}")
    width, height, data = pixels(path)
    return {"status": result[0], "picture": (width, height, digest_of(data))}


def firefox(host, options):
    """firefox-esr with its processes for pages, and an allocator of its own."""
    page = host.file("page.html", source("page.html"))
    os.mkdir(host.path("new"))
    host.file("new/user.js", FIREFOX_PREFERENCES)
    argv = ["firefox-esr", "--headless", "--no-remote", "--profile", host.path("new")]
    argv += ["--window-size=800,600", "--screenshot", host.path("picture.png"), f"file://{page}"]
    return picture(host, host.run(argv, timeout=min(300, options.timeout_seconds)))


def chromium(host, options):
    """chromium with its zygote, and an allocator of its own."""
    page = host.file("page.html", source("page.html"))
    argv = ["chromium", *CHROMIUM_OPTIONS, f"--user-data-dir={host.path('new')}"]
    argv += [f"--screenshot={host.path('picture.png')}", f"file://{page}"]
    return picture(host, host.run(argv, timeout=min(300, options.timeout_seconds)))


# Both have a malloc of their own; what they start may have the C library's.
OWN_MALLOC = {
    "may_say": r"allomon: malloc is that of the program itself[;:] .*",
    "profiled": False,
}

PROGRAMS = (
    Program("firefox", firefox, (("firefox-esr", "firefox-esr"),), **OWN_MALLOC),
    Program("chromium", chromium, (("chromium", "chromium"),), **OWN_MALLOC),
)


# ---- The pixels of a picture: two pictures may be equal and not their files.

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

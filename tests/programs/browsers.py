"""Browsers without a screen: a page of boxes and a canvas, and the picture that they make of it.

Neither speaks to anybody: each has a new profile, what a browser fetches by itself is switched off,
and the proxy that they are told to use does not exist.
"""

import os

from hosts import HostError
from interpreters import source
from png import pixels
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
    "may_say": r"allomon: malloc is that of the program itself; .*",
    "profiled": False,
}

PROGRAMS = (
    Program("firefox", firefox, (("firefox-esr", "firefox-esr"),), **OWN_MALLOC),
    Program("chromium", chromium, (("chromium", "chromium"),), **OWN_MALLOC),
)

#!/usr/bin/env python3
"""Loads exports in speedscope and in valgrind's dh_view, in a real browser, and compares totals.

Not run by CI: it needs chromium, and speedscope from npm.

    npm install --prefix=FOLDER speedscope
    tests/interchange/viewers_by_hand.py ALLOMON PROFILE FOLDER/node_modules/speedscope
"""

import base64
import html
import json
import os
import re
import subprocess
import sys
import tempfile

DH_VIEW = "/usr/libexec/valgrind/dh_view.js"
SCALES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def page_text(folder, url):
    """What the page shows once it has loaded, without its marks."""
    out = subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
            f"--user-data-dir={folder}/chromium", "--virtual-time-budget=20000", "--dump-dom", url,
        ],
        capture_output=True, check=True, timeout=300,
    ).stdout.decode(errors="replace")
    return html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<script.*?</script>", "", out)))


def export(allomon, profile, folder, name):
    path = os.path.join(folder, name)
    subprocess.run([allomon, "export", "--format=" + name, "-o", path, profile], check=True)
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_speedscope(folder, text, speedscope):
    script = os.path.join(folder, "load.js")
    encoded = base64.b64encode(text.encode()).decode()
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'speedscope.loadFileFromBase64("x.speedscope.json", "{encoded}")')
    page = os.path.join(os.path.realpath(speedscope), "dist/release/index.html")
    shown = page_text(folder, f"file://{page}#view=sandwich&localProfilePath={script}")
    good = True
    for profile in json.loads(text)["profiles"]:
        match = re.search(rf"\b{profile['name']}\s+([\d.]+)\s*([KMGT]?B)\b", shown)
        size = float(match[1]) * SCALES[match[2]] if match else -1
        fits = abs(size - profile["endValue"]) <= 0.006 * SCALES[match[2]] if match else False
        print("speedscope:", profile["name"], profile["endValue"], "shown as",
              match[0] if match else "nothing", "" if fits else "WRONG")
        good &= fits
    return good


def check_dh_view(folder, text):
    with open(DH_VIEW, encoding="utf-8") as file:
        viewer = file.read()
    page = os.path.join(folder, "dh_view.html")
    data = text.replace("<", "\\u003c")
    with open(page, "w", encoding="utf-8") as file:
        file.write(
            f'<!DOCTYPE html><meta charset="utf-8"><body><script>{viewer}</script><script>'
            f'onLoad(); gFilename = "x"; tryFunc(() => {{ gData = {data}; buildTree();'
            " displayTree(0, 0, 0); });</script>"
        )
    shown = page_text(folder, "file://" + page)
    points = json.loads(text)["pps"]
    good = True
    for field, word in [("tb", "Total"), ("gb", "At t-gmax"), ("eb", "At t-end")]:
        total = sum(point.get(field, 0) for point in points)
        match = re.search(rf"{word}:\s+([\d,]+) bytes", shown)
        fits = match is not None and int(match[1].replace(",", "")) == total
        print("dh_view:", word, total, "shown as", match[1] if match else shown[-300:],
              "" if fits else "WRONG")
        good &= fits
    return good


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    allomon, profile, speedscope = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        text = export(allomon, profile, folder, "speedscope")
        good = check_speedscope(folder, text, speedscope)
        good &= check_dh_view(folder, export(allomon, profile, folder, "dhat"))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

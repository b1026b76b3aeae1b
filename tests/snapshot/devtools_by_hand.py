#!/usr/bin/env python3
"""Loads a heap snapshot by the code of Chrome DevTools, and compares what it and allomon heap say.

Not run by CI: it needs node, and DevTools from npm.

    npm install --prefix=FOLDER chrome-devtools-frontend esbuild
    tests/snapshot/devtools_by_hand.py ALLOMON FILE.heapsnapshot FOLDER
"""

import json
import os
import re
import subprocess
import sys

WORKER = "node_modules/chrome-devtools-frontend/front_end/entrypoints/heap_snapshot_worker"
LOCALES = "node_modules/chrome-devtools-frontend/front_end/core/i18n/locales.ts"
UNITS = ["B", "KiB", "MiB", "GiB"]

# What a build of DevTools generates.
NO_LOCALES = """
export const LOCAL_FETCH_PATTERN = '', REMOTE_FETCH_PATTERN = '', DEFAULT_LOCALE = 'en-US';
export const BUNDLED_LOCALES = ['en-US'], LOCALES = ['en-US'];
"""
SCRIPT = """
import {HeapSnapshotLoader} from './WORKER/HeapSnapshotLoader.js';
import * as HeapSnapshot from './WORKER/HeapSnapshot.js';
import * as fs from 'node:fs';
Promise.withResolvers ??= function() {
  let resolve, reject;
  const promise = new Promise((a, b) => { resolve = a; reject = b; });
  return {promise, resolve, reject};
};
const loader = new HeapSnapshotLoader({sendEvent() {}});
const file = fs.createReadStream(process.argv[2], {encoding: 'latin1', highWaterMark: 1 << 24});
for await (const chunk of file) {
  loader.write(chunk);
  await new Promise(done => setImmediate(done));
}
loader.close();
const {port1, port2} = new MessageChannel();
new HeapSnapshot.SecondaryInitManager(port2);
const snapshot = await loader.buildSnapshot(port1);
const retained = {};
const wanted = new Set(JSON.parse(process.argv[3]));
for (let nodes = snapshot.allNodes(); nodes.hasNext(); nodes.next()) {
  const node = nodes.item();
  if (wanted.has(node.id())) retained[node.id()] = node.retainedSize();
}
console.log(JSON.stringify({total: snapshot.rootNode().retainedSize(), retained}));
process.exit(0);
"""


def loaded(folder, path, ids):
    """What DevTools says of a file: the size of all, and what objects retain."""
    locales = os.path.join(folder, LOCALES)
    if not os.path.exists(locales):
        with open(locales, "w", encoding="utf-8") as file:
            file.write(NO_LOCALES)
    with open(os.path.join(folder, "load.ts"), "w", encoding="utf-8") as file:
        file.write(SCRIPT.replace("WORKER", WORKER))
    subprocess.run(["node_modules/.bin/esbuild", "load.ts", "--bundle", "--platform=node",
                    "--format=esm", "--log-level=error", "--outfile=load.mjs"],
                   cwd=folder, check=True)
    out = subprocess.run(["node", "--max-old-space-size=16000", "load.mjs",
                          os.path.realpath(path), json.dumps(ids)],
                         cwd=folder, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def size_text(size):
    unit = 0
    while unit < 3 and size >= (1024 if unit == 0 else 1023.95):
        size /= 1024
        unit += 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.1f} {UNITS[unit]}"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    allomon, path, folder = sys.argv[1:]
    text = subprocess.run([allomon, "heap", "--width=0", path], check=True, capture_output=True,
                          text=True).stdout
    rows = re.findall(r"^ *([\d.]+ \w+) +[\d.]+% .*@(\d+) ", text, re.MULTILINE)
    # DevTools keeps the lower 32 bits of an id.
    theirs = loaded(folder, path, [int(number) % 2**32 for _, number in rows])
    good = size_text(theirs["total"]) in text.splitlines()[0]
    print("all:", theirs["total"], text.splitlines()[0], "" if good else "WRONG")
    for kept, number in rows:
        size = theirs["retained"].get(str(int(number) % 2**32), -1)
        fits = size_text(size) == kept
        print(f"@{number}: {size}, {kept}", "" if fits else "WRONG")
        good &= fits
    sys.exit(0 if good and rows else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Loads exports by the Firefox Profiler's own code, and compares the totals of its call trees.

Not run by CI: it needs node, and a clone of github.com/firefox-devtools/profiler in which its
packages and esbuild are installed (`yarn install`, `npm install esbuild`).

    tests/interchange/firefox_by_hand.py ALLOMON CLONE PROFILE...
"""

import json
import os
import subprocess
import sys
import tempfile

# The viewer's store wants a browser's objects, of which none is used.
BROWSER = """
const fake = () => new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : fake()),
  apply: () => fake(), construct: () => fake(),
});
globalThis.window = globalThis.self = globalThis;
globalThis.document = fake();
globalThis.location = { href: 'http://x/', pathname: '/', search: '', hash: '' };
globalThis.history = { pushState() {}, replaceState() {}, state: null };
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.addEventListener = () => {};
"""

LOAD = """
import { readFileSync } from 'fs';
import { unserializeProfileOfArbitraryFormat } from './src/profile-logic/process-profile';
import { assertProfileIntegrity } from './src/test/fixtures/profile-summary';
import createStore from './src/app-logic/create-store';
import { viewProfile } from './src/actions/receive-profile';
import { getThreadSelectors } from './src/selectors/per-thread';
import { getCounterSelectors } from './src/selectors/profile';
(async () => {
  const text = readFileSync(process.argv[2], 'utf8');
  const profile = await unserializeProfileOfArbitraryFormat(text);
  assertProfileIntegrity(profile);
  const store = createStore();
  await store.dispatch(viewProfile(profile));
  const state = store.getState();
  const threads = profile.threads.map((thread, index) => {
    const of = getThreadSelectors(index);
    const tree = of.getCallTree(state);
    const marker = of.getMarkerGetter(state);
    return {
      name: thread.name,
      total: tree.getRoots().reduce((sum, root) => sum + tree.getNodeData(root).total, 0),
      markers: of.getFullMarkerListIndexes(state).map((i) => marker(i).data.bytes),
    };
  });
  const counters = (profile.counters ?? []).map((_, index) =>
    getCounterSelectors(index).getAccumulateCounterSamples(state).maxCount);
  console.log(JSON.stringify({ threads, counters }));
})();
"""


def bundle(clone, folder):
    """Returns the path of a script that loads a file and prints what the viewer would show."""
    script = os.path.join(folder, "load.js")
    loaders = ["svg=text", "ftl=text", "png=text", "css=empty", "wasm=empty"]
    subprocess.run(
        [
            os.path.join(clone, "node_modules/.bin/esbuild"), "--bundle", "--platform=node",
            "--loader=ts", "--log-level=error", "--alias:firefox-profiler=./src",
            '--define:process.env.NODE_ENV="test"', "--external:@lezer/javascript",
            "--outfile=" + script,
        ] + ["--loader:." + loader for loader in loaders],
        cwd=clone, input=LOAD.encode(), check=True,
    )
    with open(script, encoding="utf-8") as file:
        text = file.read()
    with open(script, "w", encoding="utf-8") as file:
        file.write(BROWSER + text)
    return script


def export(allomon, profile, name):
    out = subprocess.run(
        [allomon, "export", "--format=" + name, profile], capture_output=True, check=True
    )
    return out.stdout


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    allomon, clone, *profiles = sys.argv[1:]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        script = bundle(os.path.realpath(clone), folder)
        for profile in profiles:
            path = os.path.join(folder, "x.json")
            with open(path, "wb") as file:
                file.write(export(allomon, profile, "firefox"))
            environment = dict(os.environ, NODE_PATH=os.path.join(clone, "node_modules"))
            shown = json.loads(
                subprocess.run(
                    ["node", script, path], env=environment, capture_output=True, check=True
                ).stdout
            )
            totals = {thread["name"]: thread["total"] for thread in shown["threads"]}
            speedscope = json.loads(export(allomon, profile, "speedscope"))
            expected = {each["name"]: each["endValue"] for each in speedscope["profiles"]}
            good &= totals == expected
            print(profile, shown, "" if totals == expected else f"WRONG: {expected}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

// Folds frames of the C++ library and of allocators: they become a part of their callers.

const LIBRARY = /^(std|__gnu_cxx|__cxxabiv1)::/;
const ALLOCATOR = new RegExp('^(operator (new|delete)(\\[\\])?|(__libc_)?(malloc|calloc|realloc|' +
    'memalign|valloc|pvalloc)|aligned_alloc|posix_memalign|reallocarray|mi_\\w+)$');

function isFolded(name) {
  let plain = withoutArguments(tidyName(name)).trim();
  // Templates have the type that they return in front; of operators it is still there.
  const at = plain.search(/\boperator\b/);
  if (at > 0) plain = plain.slice(plain.lastIndexOf(' ', at - 1) + 1);
  return LIBRARY.test(plain) || ALLOCATOR.test(plain);
}

// Adds up the columns of rows that have become one node, those with the same place.
function foldSide(side, place = null) {
  const rows = new Map(), folded = {node: []};
  const names = Object.keys(side).filter((name) => name !== 'node');
  for (const name of names) folded[name] = [];
  side.node.forEach((node, i) => {
    const at = place ? place[node] : node, row = rows.get(at);
    if (row === undefined) {
      rows.set(at, folded.node.length);
      folded.node.push(at);
      for (const name of names) folded[name].push(side[name][i]);
      return;
    }
    for (const name of names) {
      const add = name.endsWith('Most') ? Math.max : (a, b) => a + b;
      folded[name][row] = add(folded[name][row], side[name][i]);
    }
  });
  return folded;
}

// Returns for each node the one that it becomes a part of, itself as a rule; and which nodes have
// such parts.  The outermost frame of a stack stays, so that each stack has one.
function hostsOf({back, frame}, folds) {
  const hosts = new Int32Array(back.length + 1), hasParts = new Uint8Array(back.length + 1);
  for (let i = 1; i < hosts.length; i++) {
    const above = hosts[i - back[i - 1]], isPart = above > 0 && folds[frame[i - 1] >> 1];
    hosts[i] = isPart ? above : i;
    if (isPart) hasParts[above] = 1;
  }
  return {hosts, hasParts};
}

// Returns the data of the page without these frames; null if it has none.
function foldData(data) {
  const {back, frame, line} = data.nodes;
  const folds = data.functions.name.map((text) => isFolded(data.strings[text]));
  if (!folds.includes(true)) return null;
  const {hosts, hasParts} = hostsOf(data.nodes, folds);
  const place = new Int32Array(hosts.length);  // in the folded tree
  const nodes = {back: [], frame: [], line: []}, known = new Map();
  for (let i = 1; i < hosts.length; i++) {
    const parent = hosts[i - back[i - 1]], above = place[parent], own = frame[i - 1];
    if (hosts[i] !== i) {
      place[i] = above;
      continue;
    }
    // Below a node with parts, two nodes may have become one.
    hasParts[i] |= hasParts[parent];
    const key = above * 2 * folds.length + own, at = hasParts[parent] ? known.get(key) : undefined;
    if (at !== undefined) {
      if (nodes.line[at - 1] !== line[i - 1]) nodes.line[at - 1] = -1;
      place[i] = at;
      continue;
    }
    place[i] = nodes.back.length + 1;
    if (hasParts[parent]) known.set(key, place[i]);
    nodes.back.push(place[i] - above);
    nodes.frame.push(own);
    nodes.line.push(line[i - 1]);
  }
  const metrics = data.metrics.map((metric) =>
    ({...metric, sides: metric.sides.map((side) => foldSide(side, place))}));
  const births = data.births &&
      {...data.births, node: data.births.node.map((node) => place[node])};
  return {...data, nodes, metrics, births};
}

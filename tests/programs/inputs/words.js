// The task of words.awk, in the main thread and in two workers.
const {Worker, isMainThread, parentPort} = require('worker_threads');

function words() {
  const lists = new Map();
  for (let i = 0; i < 200000; ++i) {
    const key = `key${i * 7919 % 10007}`;
    if (!lists.has(key)) lists.set(key, []);
    lists.get(key).push(`${i},`);
  }
  let hash = 0;
  for (const key of [...lists.keys()].sort()) {
    const text = `${key.toUpperCase()}:${lists.get(key).join('')}`.replace(/7/g, 'seven');
    hash = (hash * 31 + text.length) % 1000000007;
  }
  return `${lists.size} ${hash}`;
}

// Outside of JavaScript's own heap: blocks of malloc and of zlib.
function buffers() {
  const zlib = require('zlib');
  let bytes = 0;
  for (let i = 1; i < 200; ++i) {
    const buffer = Buffer.alloc(i * 1000, `text ${i} `);
    bytes += zlib.gunzipSync(zlib.gzipSync(buffer)).length;
  }
  return bytes;
}

if (!isMainThread) {
  parentPort.postMessage(words());
} else {
  console.log(words());
  console.log(buffers());
  for (let i = 0; i < 2; ++i) new Worker(__filename).on('message', text => console.log(text));
}

// The data of the page as typed arrays, and sums over them.
//
// A node is a frame below a chain of callers; node 0 is the root.  A parent has a smaller number
// than its children, so that one backward loop sums up a tree of any depth.

class Profile {
  constructor(data) {
    this.data = data;
    this.isComparison = data.before.length > 0;
    this.functionCount = data.functions.name.length;
    this.readNodes(data.nodes);
    this.linkChildren();
    this.cache = new Map();
  }

  readNodes({back, frame, line}) {
    const count = this.count = back.length + 1;
    this.parent = new Int32Array(count);
    this.frame = new Int32Array(count);  // twice the function, plus 1 for an inlined call
    this.line = new Int32Array(count);   // 0: not known; -1: several
    this.frame[0] = this.parent[0] = -1;
    for (let i = 1; i < count; i++) {
      this.parent[i] = i - back[i - 1];
      this.frame[i] = frame[i - 1];
      this.line[i] = line[i - 1];
    }
  }

  linkChildren() {
    this.firstChild = new Int32Array(this.count).fill(-1);
    this.nextSibling = new Int32Array(this.count).fill(-1);
    for (let i = this.count - 1; i > 0; i--) {
      this.nextSibling[i] = this.firstChild[this.parent[i]];
      this.firstChild[this.parent[i]] = i;
    }
  }

  text(column, number) {
    return this.data.strings[this.data.functions[column][number]];
  }

  name(number) { return this.text('name', number); }
  file(number) { return this.text('file', number); }
  module(number) { return this.text('module', number); }

  // Returns "server.cc:120": the line of a call, or the line where the function begins.
  place(number, line) {
    const file = this.file(number);
    if (!file) return '';
    if (line > 0) return file + ':' + line;
    const start = this.data.functions.line[number];
    return file + (line < 0 ? ' (several lines)' : start > 0 ? ':' + start : '');
  }

  metricNames() {
    const names = this.data.metrics.map((metric) => metric.name);
    return this.born ? names.concat('born') : names;
  }

  get hasBirths() { return Boolean(this.data.births); }

  // Chooses what is live of blocks that were born in a span of seconds before the end; null: of
  // none.  A class of ages that is in it in part is in it.  Returns the ages that are so, or null.
  chooseBirths(ages) {
    for (const unit of ['bytes', 'blocks']) this.cache.delete(this.bornMetric + '/' + unit);
    this.born = ages && bornIn(this.data.births, ages);
    return this.born && this.born.ages;
  }

  get bornMetric() { return this.data.metrics.length; }

  // Computes amounts at their first use.
  amounts(metric, unit) {
    const key = metric + '/' + unit;
    if (!this.cache.has(key)) {
      const {metrics} = this.data, isBorn = metric === this.bornMetric;
      const sides = isBorn ? [this.born.side] : metrics[metric].sides;
      const {hasIntervals} = isBorn ? metrics.find(({name}) => name === 'live') : metrics[metric];
      this.cache.set(key, sides.map((side) => new Amounts(this, side, unit, hasIntervals)));
    }
    return this.cache.get(key);
  }

  // Returns 1 for each node whose function does not appear among its callers.  Sums over these
  // nodes count recursion once.
  outermost() {
    if (!this.outermostNodes) this.outermostNodes = this.findOutermost();
    return this.outermostNodes;
  }

  findOutermost() {
    const outermost = new Uint8Array(this.count);
    const above = new Int32Array(this.functionCount);
    for (let node = this.firstChild[0]; node > 0;) {
      if (above[this.frame[node] >> 1]++ === 0) outermost[node] = 1;
      if (this.firstChild[node] >= 0) {
        node = this.firstChild[node];
        continue;
      }
      node = this.leave(node, above);
    }
    return outermost;
  }

  // Returns the next node in depth-first order after one without children.
  leave(node, above) {
    while (node > 0) {
      above[this.frame[node] >> 1]--;
      if (this.nextSibling[node] >= 0) return this.nextSibling[node];
      node = this.parent[node];
    }
    return 0;
  }
}

// Sums up the rows of `births` that are of these ages: a side of a metric.
function bornIn({ages, age, ...columns}, [youngest, oldest]) {
  const isIn = [];
  let least = oldest, most = youngest;
  for (let i = 0; i < ages.length; i += 2) {
    const [from, to] = [ages[i], ages[i + 1]];
    isIn.push(from < oldest && youngest < to);
    if (!isIn[i / 2]) continue;
    least = Math.min(least, from);
    most = Math.max(most, to);
  }
  const chosen = age.map((number, i) => i).filter((i) => isIn[age[i]]);
  const rows = {};
  for (const [name, column] of Object.entries(columns)) rows[name] = chosen.map((i) => column[i]);
  return {side: foldSide(rows), ages: [Math.min(least, youngest), Math.max(most, oldest)]};
}

// The amounts of one metric, unit and side: for each node its own, and with its callees.
class Amounts {
  constructor(profile, side, unit, hasIntervals) {
    this.hasIntervals = hasIntervals;
    // Those that have something of their own: others only widen intervals.
    this.nodes = Int32Array.from(side.node.filter((_, i) => side.bytes[i] || side.blocks[i]));
    this.own = this.columns(profile.count);
    this.fillOwn(side, unit);
    this.all = this.sumUp(profile);
  }

  columns(count) {
    return {
      value: new Float64Array(count),
      variance: new Float64Array(count),
      third: new Float64Array(count),
      most: new Float64Array(count),
    };
  }

  fillOwn(side, unit) {
    side.node.forEach((node, i) => {
      this.own.value[node] = side[unit][i];
      this.own.variance[node] = side[unit + 'Variance'][i];
      this.own.third[node] = side[unit + 'Third'][i];
      this.own.most[node] = side[unit + 'Most'][i];
    });
  }

  sumUp({parent, count}) {
    const all = {};
    for (const [name, own] of Object.entries(this.own)) {
      const sums = all[name] = own.slice();
      // The most that a sample stands for is that of any below.
      const add = name === 'most' ? Math.max : (a, b) => a + b;
      for (let i = count - 1; i > 0; i--) sums[parent[i]] = add(sums[parent[i]], sums[i]);
    }
    return all;
  }

  add(columns, node, figure) {
    const {value, variance, third, most} = columns;
    figure.add(value[node], variance[node], third[node], most[node]);
    figure.hasIntervals = figure.hasIntervals && this.hasIntervals;
  }

  addOwn(node, figure) {
    this.add(this.own, node, figure);
  }

  addAll(node, figure) {
    this.add(this.all, node, figure);
  }

  total() {
    const figure = new Figure();
    this.addAll(0, figure);
    return figure;
  }
}

// Makes a row of the table for each function: self and total, with a figure for each side.
function functionRows(profile, sides) {
  const outermost = profile.outermost();
  const rows = Array.from({length: profile.functionCount}, (_, number) => ({
    number,
    self: sides.map(() => new Figure()),
    total: sides.map(() => new Figure()),
  }));
  for (let node = 1; node < profile.count; node++) {
    const row = rows[profile.frame[node] >> 1];
    sides.forEach((side, i) => {
      side.addOwn(node, row.self[i]);
      if (outermost[node]) side.addAll(node, row.total[i]);
    });
  }
  return rows.filter((row) => row.total.some((figure) => figure.value > 0));
}

// Returns the total of the stacks that have a function of the set; `set` has 1 for each such
// function.
function totalOfStacksWith(profile, amounts, set) {
  const covered = new Uint8Array(profile.count);
  const figure = new Figure();
  for (let node = 1; node < profile.count; node++) {
    covered[node] = covered[profile.parent[node]] | set[profile.frame[node] >> 1];
    if (covered[node] && !covered[profile.parent[node]]) amounts.addAll(node, figure);
  }
  return figure;
}

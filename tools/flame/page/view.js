// The tree that is drawn: from main to what allocates, or from what allocates to its callers.
// Children are made when they are asked for, that is, when their parent is wide enough to be seen.

class ViewNode {
  constructor(parent, frame, members) {
    this.parent = parent;    // null: the root
    this.frame = frame;      // as in Profile; -1: the root
    this.members = members;  // of the profile's nodes; what they are is up to the view
    this.depth = parent ? parent.depth + 1 : 0;
    this.weight = 0;
    this.start = 0;  // what is to the left of it, in units of weight
    this.children = null;
  }

  get end() { return this.start + this.weight; }

  path() {
    const path = [];
    for (let node = this; node; node = node.parent) path.unshift(node);
    return path;
  }
}

class View {
  // `weights`: which sides count for the width, as a list of their numbers.  `byName`: the order of
  // siblings, else by weight.
  constructor(profile, sides, weights, byName) {
    this.profile = profile;
    this.sides = sides;
    this.weighing = weights.map((number) => sides[number]);
    this.byName = byName;
  }

  childrenOf(node) {
    if (!node.children) {
      node.children = this.makeChildren(node).filter((child) => child.weight > 0);
      this.arrange(node);
    }
    return node.children;
  }

  arrange({start, children}) {
    const {profile} = this;
    const nameOf = (node) => profile.name(node.frame >> 1);
    const bySize = (a, b) => b.weight - a.weight || a.frame - b.frame;
    const byName = (a, b) => compare(nameOf(a), nameOf(b)) || a.frame - b.frame;
    children.sort(this.byName ? byName : bySize);
    for (const child of children) {
      child.start = start;
      start += child.weight;
    }
  }

  // The node with the same frames in a view of other amounts, or as far as there is one.
  find(path) {
    let node = this.root;
    for (const {frame} of path.slice(1)) {
      const child = this.childrenOf(node).find((candidate) => candidate.frame === frame);
      if (!child) break;
      node = child;
    }
    return node;
  }
}

// Members: one node of the profile.
class TopDownView extends View {
  constructor(...args) {
    super(...args);
    this.root = this.make(null, 0);
  }

  make(parent, index) {
    const node = new ViewNode(parent, this.profile.frame[index], [index]);
    for (const side of this.weighing) node.weight += side.all.value[index];
    return node;
  }

  makeChildren(node) {
    const {firstChild, nextSibling} = this.profile;
    const children = [];
    for (let i = firstChild[node.members[0]]; i >= 0; i = nextSibling[i]) {
      children.push(this.make(node, i));
    }
    return children;
  }

  // A figure for each side.
  figures(node, sides = this.sides) {
    return this.figuresBy(node, sides, 'addAll');
  }

  own(node) {
    return this.figuresBy(node, this.sides, 'addOwn');
  }

  figuresBy(node, sides, add) {
    return sides.map((side) => {
      const figure = new Figure();
      side[add](node.members[0], figure);
      return figure;
    });
  }

  linesOf(node) {
    return new Set(node.members.map((member) => this.profile.line[member]));
  }
}

// Members: for each stack that ends with the frames from here to the root, two numbers: the node of
// this frame, and the node where the stack ends, whose own amount is meant.
class InvertedView extends View {
  constructor(...args) {
    super(...args);
    const ends = new Set();
    for (const side of this.sides) side.nodes.forEach((node) => ends.add(node));
    this.root = new ViewNode(null, -1, []);
    for (const end of ends) this.addMember(this.root, end, end);
  }

  addMember(node, at, end) {
    node.members.push(at, end);
    for (const side of this.weighing) node.weight += side.own.value[end];
  }

  makeChildren(node) {
    const {parent, frame} = this.profile;
    const byFrame = new Map();
    for (let i = 0; i < node.members.length; i += 2) {
      const at = node === this.root ? node.members[i] : parent[node.members[i]];
      if (at <= 0) continue;
      if (!byFrame.has(frame[at])) byFrame.set(frame[at], new ViewNode(node, frame[at], []));
      this.addMember(byFrame.get(frame[at]), at, node.members[i + 1]);
    }
    return [...byFrame.values()];
  }

  figures(node, sides = this.sides) {
    return sides.map((side) => {
      const figure = new Figure();
      for (let i = 1; i < node.members.length; i += 2) side.addOwn(node.members[i], figure);
      return figure;
    });
  }

  // Of a caller nothing is its own.
  own(node) {
    return node.depth === 1 ? this.figures(node) : this.sides.map(() => new Figure());
  }

  linesOf(node) {
    const lines = new Set();
    for (let i = 0; i < node.members.length; i += 2) lines.add(this.profile.line[node.members[i]]);
    return lines;
  }
}

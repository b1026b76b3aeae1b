// The tree that is drawn: from main to allocating functions, or from these to their callers.
// Children are made on demand, when their parent is wide enough to be seen.

class ViewNode {
  constructor(parent, frame, members) {
    this.parent = parent;    // null for the root
    this.frame = frame;      // as in Profile; -1: the root
    this.members = members;  // nodes of the profile, with a meaning that the view defines
    this.depth = parent ? parent.depth + 1 : 0;
    this.weight = 0;
    this.start = 0;  // weight of the nodes to its left
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
  // `weights` lists the numbers of the sides that count for the width.  With `byName`, siblings are
  // in the order of their names, else of their weights.
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

  // Returns the node with the same frames in a view of other amounts, or the last one that exists.
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

// `members` has one node of the profile.
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

  // Returns a figure for each side.
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

// `members` has two numbers for each stack that ends with the frames from here to the root: the
// node of this frame, and the node where the stack ends.  The amount is the own amount of the
// latter.
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

  // Callers have no own amount here.
  own(node) {
    return node.depth === 1 ? this.figures(node) : this.sides.map(() => new Figure());
  }

  linesOf(node) {
    const lines = new Set();
    for (let i = 0; i < node.members.length; i += 2) lines.add(this.profile.line[node.members[i]]);
    return lines;
  }
}

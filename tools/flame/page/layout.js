// Computes the places of frames, and the names that fit.

const ROW_HEIGHT = 21;
const LEAST_WIDTH = 0.5;  // of a drawn frame, in pixels

// Computes the width of text from the widths of its letters, each measured once.
class TextWidths {
  constructor(context) {
    this.context = context;
    this.widths = new Map();
  }

  of(text) {
    let width = 0;
    for (const letter of text) {
      if (!this.widths.has(letter)) this.widths.set(letter, this.context.measureText(letter).width);
      width += this.widths.get(letter);
    }
    return width;
  }

  // Returns the first of the names that fits, or else the beginning of the last one.
  fit(names, room) {
    for (const name of names) {
      if (name.length * 3 < room && this.of(name) <= room) return name;
    }
    return this.cut(names[names.length - 1], room);
  }

  cut(name, room) {
    let left = room - this.of('…'), kept = '';
    for (const letter of name) {
      left -= this.of(letter);
      if (left < 0) break;
      kept += letter;
    }
    return kept.length > 1 ? kept + '…' : '';
  }
}

// The places of frames: rows of boxes {node, x, width} from left to right.  A box without a node
// stands for neighbours that are too narrow to be drawn.
class Layout {
  constructor(view, [from, to], width) {
    this.view = view;
    this.from = from;
    this.scale = to > from ? width / (to - from) : 0;
    this.width = width;
    this.rows = [];
    let row = [this.boxOf(view.root)];
    while (row.length) {
      this.rows.push(row);
      row = this.rowBelow(row);
    }
  }

  boxOf(node) {
    return {node, x: (node.start - this.from) * this.scale, width: node.weight * this.scale};
  }

  rowBelow(row) {
    const below = [];
    for (const {node} of row) {
      if (node) this.addChildren(node, below);
    }
    return below;
  }

  addChildren(node, row) {
    let narrow = null;
    for (const child of this.view.childrenOf(node)) {
      const box = this.boxOf(child);
      if (box.x + box.width < 0 || box.x > this.width) continue;
      if (box.width >= LEAST_WIDTH) {
        narrow = null;
        row.push(box);
      } else {
        narrow = this.addNarrow(narrow, node, box, row);
      }
    }
  }

  // Widens the box of narrow neighbours by one more frame.
  addNarrow(narrow, parent, box, row) {
    if (!narrow) {
      narrow = {node: null, parent, x: box.x, width: 0, weight: 0, count: 0};
      row.push(narrow);
    }
    narrow.width += box.width;
    narrow.weight += box.node.weight;
    narrow.count++;
    return narrow;
  }

  boxAt(x, depth) {
    const row = this.rows[depth] || [];
    return row.find((box) => x >= box.x && x < box.x + Math.max(1, box.width)) || null;
  }

  boxOfNode(node) {
    return (this.rows[node.depth] || []).find((box) => box.node === node) || null;
  }

  // Returns the visible part of a box.
  visible(box) {
    const x = Math.max(0, box.x);
    return {x, width: Math.min(this.width, box.x + box.width) - x};
  }
}

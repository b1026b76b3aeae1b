// The flame graph: a canvas as large as what is seen of it, in an element that scrolls.

const ROW_HEIGHT = 21;
const LEAST_WIDTH = 0.5;  // of a frame that is drawn, in pixels
const FONT = '12px system-ui, sans-serif';
const LABEL_MARGIN = 5;
const ZOOM_MILLIS = 160;
const DRAG_PIXELS = 4;  // less is a click

// The width of text, from the widths of its letters, each measured once.
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

  // The first of the names that has room; else what has room of the last one.
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

// Where frames are: rows of boxes {node, x, width} from left to right.  A box without a node stands
// for neighbours that are too narrow to be drawn.
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

  // Widens the box of narrow neighbours by one more.
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
}

class FlameChart {
  // `hooks`: zoomed(node), hovered(box or null, event), selected(node); `style`: what to paint,
  // with colorOf(node), isFaded(node), names(node), isInlined(node).
  constructor(canvas, scroller, space, colors, hooks) {
    Object.assign(this, {canvas, scroller, space, colors, hooks});
    this.context = canvas.getContext('2d');
    this.widths = new TextWidths(this.context);
    this.context.font = FONT;
    this.history = [];
    this.focus = this.selected = this.hoveredBox = null;
    this.listen();
  }

  // Shows a view, zoomed to where the one before was, as far as it goes.
  setView(view, style, keepsPlace) {
    const focus = keepsPlace && this.focus ? view.find(this.focus.path()) : view.root;
    const selected = keepsPlace && this.selected ? view.find(this.selected.path()) : null;
    this.view = view;
    this.style = style;
    this.history = [];
    this.focus = focus;
    this.selected = selected;
    this.span = [focus.start, focus.end];
    this.layOut();
    this.hooks.zoomed(focus);
  }

  layOut() {
    this.width = this.scroller.clientWidth;
    this.layout = new Layout(this.view, this.span, this.width);
    this.space.style.height = this.layout.rows.length * ROW_HEIGHT + 1 + 'px';
    this.paintSoon();
  }

  paintSoon() {
    if (this.frameRequest) return;
    this.frameRequest = requestAnimationFrame(() => {
      this.frameRequest = 0;
      this.paint();
    });
  }

  resizeCanvas() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
    const changed = this.canvas.width !== Math.round(width * ratio) ||
        this.canvas.height !== Math.round(height * ratio);
    if (changed) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = width + 'px';
      this.canvas.style.height = height + 'px';
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = 'middle';
    return {width, height};
  }

  paint() {
    const {width, height} = this.resizeCanvas();
    const {context} = this, top = this.scroller.scrollTop;
    context.fillStyle = this.colors.background;
    context.fillRect(0, 0, width, height);
    const first = Math.floor(top / ROW_HEIGHT);
    const last = Math.min(this.layout.rows.length - 1, Math.ceil((top + height) / ROW_HEIGHT));
    for (let depth = first; depth <= last; depth++) {
      for (const box of this.layout.rows[depth]) this.paintBox(box, depth * ROW_HEIGHT - top);
    }
    this.outline(this.selected, top, this.colors.accent, 2.5);
    if (this.hoveredBox) this.outline(this.hoveredBox.node, top, this.colors.text, 1.2);
  }

  // The part of a box that is seen.
  visible(box) {
    const x = Math.max(0, box.x);
    return {x, width: Math.min(this.width, box.x + box.width) - x};
  }

  paintBox(box, y) {
    const {context} = this, {x, width} = this.visible(box);
    const gap = width > 3 ? 1 : width > 1.5 ? 0.5 : 0;
    const isFaded = box.node ? this.style.isFaded(box.node) : this.style.fadesRest;
    context.globalAlpha = isFaded ? 0.28 : box.node && box.node.depth < this.focus.depth ? 0.6 : 1;
    context.fillStyle = box.node ? this.style.colorOf(box.node) : this.colors.rest;
    context.fillRect(x, y, width - gap, ROW_HEIGHT - 1);
    if (box.node && this.style.isInlined(box.node) && width > 6) this.markInlined(x, y, width);
    context.globalAlpha = isFaded ? 0.5 : 1;
    if (box.node && width > 24) this.paintLabel(box.node, x, y, width);
    context.globalAlpha = 1;
  }

  // A dashed line at the top: there is no call.
  markInlined(x, y, width) {
    this.context.fillStyle = this.colors.inlined;
    for (let at = 2; at < width - 3; at += 7) this.context.fillRect(x + at, y, 3.5, 1.5);
  }

  paintLabel(node, x, y, width) {
    const label = this.widths.fit(this.style.names(node), width - 2 * LABEL_MARGIN);
    this.context.fillStyle = this.colors.frameText;
    this.context.fillText(label, x + LABEL_MARGIN, y + ROW_HEIGHT / 2);
  }

  outline(node, top, color, thickness) {
    const box = node && this.layout.boxOfNode(node);
    if (!box) return;
    const {x, width} = this.visible(box), {context} = this;
    context.strokeStyle = color;
    context.lineWidth = thickness;
    context.strokeRect(x + 0.5, node.depth * ROW_HEIGHT - top + 0.5, Math.max(1, width - 1.5),
        ROW_HEIGHT - 2);
  }

  // --- Zoom ---

  zoomTo(node, remembers = true) {
    if (remembers && node !== this.focus) this.history.push({focus: this.focus, span: this.span});
    this.moveTo([node.start, node.end], node);
    this.showRow(node);
  }

  back() {
    const previous = this.history.pop();
    if (!previous) {
      if (this.focus === this.view.root) return false;
      this.zoomTo(this.focus.parent, false);
      return true;
    }
    this.moveTo(previous.span, previous.focus);
    return true;
  }

  moveTo(span, focus) {
    this.focus = focus;
    this.hooks.zoomed(focus);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.span = span;
      this.layOut();
    } else {
      this.animate(this.span, span);
    }
  }

  animate(from, to) {
    const begin = performance.now();
    const run = this.animation = (this.animation || 0) + 1;
    const step = () => {
      if (run !== this.animation) return;
      const part = Math.min(1, (performance.now() - begin) / ZOOM_MILLIS);
      const eased = 1 - (1 - part) ** 3;
      this.span = part === 1 ? to : from.map((value, i) => value + (to[i] - value) * eased);
      this.layOut();
      if (part < 1) requestAnimationFrame(step);
    };
    step();
  }

  // A span within the root, not smaller than what still has digits.
  setSpan(from, length) {
    const {root} = this.view;
    length = Math.min(root.weight, Math.max(length, root.weight * 1e-7));
    from = Math.min(Math.max(from, 0), root.weight - length);
    this.animation = (this.animation || 0) + 1;
    this.span = [from, from + length];
    this.focus = this.innermost(this.span);
    this.hooks.zoomed(this.focus);
    this.layOut();
  }

  // The innermost node that is as wide as the span.
  innermost([from, to]) {
    let node = this.view.root;
    for (let inner = node; inner; ) {
      node = inner;
      inner = this.view.childrenOf(node).find((child) => child.start <= from && child.end >= to);
    }
    return node;
  }

  zoomAt(x, factor) {
    const [from, to] = this.span;
    const at = from + (to - from) * x / this.width;
    this.setSpan(at - (at - from) * factor, (to - from) * factor);
  }

  pan(pixels) {
    const [from, to] = this.span;
    this.setSpan(from - pixels * (to - from) / this.width, to - from);
  }

  // --- Selection ---

  select(node) {
    this.selected = node;
    this.showRow(node);
    this.paintSoon();
    this.hooks.selected(node);
  }

  showRow({depth}) {
    const top = depth * ROW_HEIGHT, {scroller} = this;
    if (top < scroller.scrollTop) scroller.scrollTop = Math.max(0, top - ROW_HEIGHT);
    const below = top + 2 * ROW_HEIGHT - scroller.clientHeight;
    if (below > scroller.scrollTop) scroller.scrollTop = below;
  }

  // 'up', 'down', 'left', 'right'.
  moveSelection(direction) {
    const from = this.selected && this.layout.boxOfNode(this.selected);
    const next = from ? this.neighbour(from.node, direction) : this.focus;
    if (next) this.select(next);
  }

  neighbour(node, direction) {
    if (direction === 'up') return node.parent;
    if (direction === 'down') return this.widestBelow(node);
    const row = this.layout.rows[node.depth].filter((box) => box.node);
    const at = row.findIndex((box) => box.node === node);
    const box = row[at + (direction === 'left' ? -1 : 1)];
    return box ? box.node : null;
  }

  widestBelow(node) {
    const below = (this.layout.rows[node.depth + 1] || []).filter((box) => box.node);
    const children = below.filter((box) => box.node.parent === node);
    children.sort((a, b) => b.width - a.width);
    return children.length ? children[0].node : null;
  }

  // Where a node is on the screen, for its tooltip.
  pointOf(node) {
    const box = this.layout.boxOfNode(node), frame = this.canvas.getBoundingClientRect();
    const {x, width} = box ? this.visible(box) : {x: 0, width: 0};
    const y = (node.depth + 1) * ROW_HEIGHT - this.scroller.scrollTop;
    return {clientX: frame.left + x + Math.min(width / 2, 40), clientY: frame.top + y};
  }

  // --- Mouse ---

  listen() {
    const {canvas, scroller} = this;
    scroller.addEventListener('scroll', () => this.paintSoon());
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', () => { this.drag = null; });
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    new ResizeObserver(() => { if (this.view) this.layOut(); }).observe(scroller);
  }

  boxUnder(event) {
    const frame = this.canvas.getBoundingClientRect();
    const y = event.clientY - frame.top + this.scroller.scrollTop;
    return this.layout.boxAt(event.clientX - frame.left, Math.floor(y / ROW_HEIGHT));
  }

  press(event) {
    if (event.button === 0) this.drag = {x: event.clientX, start: event.clientX, moved: false};
  }

  move(event) {
    if (!this.drag) return this.hover(this.boxUnder(event), event);
    if (Math.abs(event.clientX - this.drag.start) > DRAG_PIXELS && !this.drag.moved) {
      this.drag.moved = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.hover(null);
    }
    if (!this.drag.moved) return;
    this.pan(event.clientX - this.drag.x);
    this.drag.x = event.clientX;
  }

  release(event) {
    const wasClick = this.drag && !this.drag.moved;
    this.drag = null;
    const box = wasClick && this.boxUnder(event);
    if (!box) return;
    const node = box.node || box.parent;
    this.selected = node;
    this.zoomTo(node);
  }

  hover(box, event) {
    const changed = box !== this.hoveredBox;
    this.hoveredBox = box;
    if (changed) this.paintSoon();
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    this.hooks.hovered(box, event);
  }

  // Without a key the wheel scrolls, as everywhere.
  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      const frame = this.canvas.getBoundingClientRect();
      this.zoomAt(event.clientX - frame.left, Math.exp(Math.sign(event.deltaY) * 0.25));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan(-(event.deltaX || event.deltaY));
    } else {
      return;
    }
    event.preventDefault();
  }
}

// The flame graph: a canvas of the visible size, in an element that scrolls.

const ZOOM_MILLIS = 160;

class FlameChart {
  // `hooks`: zoomed(node), hovered(box or null, event), selected(node).
  constructor(canvas, scroller, space, colors, hooks) {
    Object.assign(this, {canvas, scroller, space, hooks});
    this.history = [];
    this.focus = this.selected = this.hoveredBox = null;
    this.animation = 0;  // number of the last animation; earlier ones have stopped
    this.painter = new FlamePainter(this, colors);
    this.pointer = new FlamePointer(this);
    scroller.addEventListener('scroll', () => this.paintSoon());
    new ResizeObserver(() => { if (this.view) this.layOut(); }).observe(scroller);
  }

  // Shows a view.  Zooms to the place of the previous view, as far as it exists.
  setView(view, looks, keepsPlace) {
    const focus = keepsPlace && this.focus ? view.find(this.focus.path()) : view.root;
    const selected = keepsPlace && this.selected ? view.find(this.selected.path()) : null;
    this.view = view;
    this.looks = looks;
    this.history = [];
    this.animation++;
    this.hoveredBox = null;
    this.focus = focus;
    this.selected = selected;
    this.span = [focus.start, focus.end];
    this.height = 0;
    this.layOut();
    this.hooks.zoomed(focus);
  }

  layOut() {
    this.width = this.scroller.clientWidth;
    this.layout = new Layout(this.view, this.span, this.width);
    const height = this.layout.rows.length * ROW_HEIGHT + 1;
    this.space.style.height = height + 'px';
    this.height = Math.max(this.height, height);  // content below stays in place
    this.scroller.style.height = this.height + 'px';
    this.paintSoon();
  }

  paintSoon() {
    if (this.frameRequest) return;
    this.frameRequest = requestAnimationFrame(() => {
      this.frameRequest = 0;
      this.painter.paint();
    });
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
    const run = ++this.animation;
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

  // Sets a span within the root.  Its length is at least one for which doubles have enough digits.
  setSpan(from, length) {
    const {root} = this.view;
    length = Math.min(root.weight, Math.max(length, root.weight * 1e-7));
    from = Math.min(Math.max(from, 0), root.weight - length);
    this.animation++;
    this.span = [from, from + length];
    this.focus = this.innermost(this.span);
    this.hooks.zoomed(this.focus);
    this.layOut();
  }

  // Returns the innermost node that is as wide as the span.
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

  // `direction` is 'up', 'down', 'left' or 'right'.
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

  // Returns the place of a node on the screen, for its tooltip.
  pointOf(node) {
    const box = this.layout.boxOfNode(node), frame = this.canvas.getBoundingClientRect();
    const {x, width} = box ? this.layout.visible(box) : {x: 0, width: 0};
    const y = (node.depth + 1) * ROW_HEIGHT - this.scroller.scrollTop;
    return {clientX: frame.left + x + Math.min(width / 2, 40), clientY: frame.top + y};
  }

  hover(box, event) {
    const changed = box !== this.hoveredBox;
    this.hoveredBox = box;
    if (changed) this.paintSoon();
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    this.hooks.hovered(box, event);
  }
}

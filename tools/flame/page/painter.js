// Paints the visible part of a flame graph.

const FONT = '12px system-ui, sans-serif';
const LABEL_MARGIN = 5;

class FlamePainter {
  constructor(chart, colors) {
    Object.assign(this, {chart, colors, canvas: chart.canvas});
    this.context = chart.canvas.getContext('2d');
    this.context.font = FONT;
    this.widths = new TextWidths(this.context);
  }

  resizeCanvas() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.chart.scroller.clientWidth, height = this.chart.scroller.clientHeight;
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
    const {context} = this, top = this.chart.scroller.scrollTop;
    context.fillStyle = this.colors.background;
    context.fillRect(0, 0, width, height);
    if (this.chart.view.root.weight === 0) this.paintNothing();
    const first = Math.floor(top / ROW_HEIGHT);
    const rows = this.chart.layout.rows.slice(first, Math.ceil((top + height) / ROW_HEIGHT));
    rows.forEach((row, i) => {
      for (const box of row) this.paintBox(box, (first + i) * ROW_HEIGHT - top);
    });
    this.outline(this.chart.selected, top, this.colors.accent, 2.5);
    if (this.chart.hoveredBox) this.outline(this.chart.hoveredBox.node, top, this.colors.text, 1.2);
  }

  paintNothing() {
    this.context.fillStyle = this.colors.soft;
    this.context.fillText('Nothing of this is in the profile.', LABEL_MARGIN, 2.5 * ROW_HEIGHT);
  }

  paintBox(box, y) {
    if (box.node) this.paintFrame(box, y);
    else this.paintRest(box, y);
    this.context.globalAlpha = 1;
  }

  paintFrame(box, y) {
    const {context} = this, {node} = box, {looks, layout} = this.chart;
    const {x, width} = layout.visible(box);
    const isFaded = looks.isFaded(node), isAbove = node.depth < this.chart.focus.depth;
    context.globalAlpha = isFaded ? 0.28 : isAbove ? 0.6 : 1;
    this.fill(x, y, width, looks.colorOf(node));
    if (looks.isInlined(node) && width > 6) this.markInlined(x, y, width);
    context.globalAlpha = isFaded ? 0.5 : 1;
    if (width > 24) this.paintLabel(node, x, y, width);
  }

  // Paints frames that are too narrow to be drawn one by one.
  paintRest(box, y) {
    const {x, width} = this.chart.layout.visible(box);
    if (this.chart.looks.fadesRest()) this.context.globalAlpha = 0.28;
    this.fill(x, y, width, this.colors.rest);
  }

  fill(x, y, width, color) {
    const gap = width > 3 ? 1 : width > 1.5 ? 0.5 : 0;
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width - gap, ROW_HEIGHT - 1);
  }

  // A dashed line at the top marks an inlined call.
  markInlined(x, y, width) {
    this.context.fillStyle = this.colors.inlined;
    for (let at = 2; at < width - 3; at += 7) this.context.fillRect(x + at, y, 3.5, 1.5);
  }

  paintLabel(node, x, y, width) {
    const label = this.widths.fit(this.chart.looks.names(node), width - 2 * LABEL_MARGIN);
    this.context.fillStyle = this.colors.frameText;
    this.context.fillText(label, x + LABEL_MARGIN, y + ROW_HEIGHT / 2);
  }

  outline(node, top, color, thickness) {
    const box = node && this.chart.layout.boxOfNode(node);
    if (!box) return;
    const {x, width} = this.chart.layout.visible(box), {context} = this;
    context.strokeStyle = color;
    context.lineWidth = thickness;
    context.strokeRect(x + 0.5, node.depth * ROW_HEIGHT - top + 0.5, Math.max(1, width - 1.5),
        ROW_HEIGHT - 2);
  }
}

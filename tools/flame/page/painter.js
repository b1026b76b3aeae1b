// Paints what is seen of a flame graph.

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
    const last = Math.min(this.chart.layout.rows.length - 1, Math.ceil((top + height) / ROW_HEIGHT));
    for (let depth = first; depth <= last; depth++) {
      for (const box of this.chart.layout.rows[depth]) this.paintBox(box, depth * ROW_HEIGHT - top);
    }
    this.outline(this.chart.selected, top, this.colors.accent, 2.5);
    if (this.chart.hoveredBox) this.outline(this.chart.hoveredBox.node, top, this.colors.text, 1.2);
  }

  paintNothing() {
    this.context.fillStyle = this.colors.soft;
    this.context.fillText('Nothing of this is in the profile.', LABEL_MARGIN, 2.5 * ROW_HEIGHT);
  }

  paintBox(box, y) {
    const {context} = this, {x, width} = this.chart.layout.visible(box);
    const gap = width > 3 ? 1 : width > 1.5 ? 0.5 : 0;
    const isFaded = box.node ? this.chart.looks.isFaded(box.node) : this.chart.looks.fadesRest();
    context.globalAlpha = isFaded ? 0.28 : box.node && box.node.depth < this.chart.focus.depth ? 0.6 : 1;
    context.fillStyle = box.node ? this.chart.looks.colorOf(box.node) : this.colors.rest;
    context.fillRect(x, y, width - gap, ROW_HEIGHT - 1);
    if (box.node && this.chart.looks.isInlined(box.node) && width > 6) this.markInlined(x, y, width);
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

// The mouse on the flame graph: a click zooms, a drag moves the zoomed part, and the wheel with
// Ctrl zooms at the pointer.

const DRAG_PIXELS = 4;  // a shorter movement is a click

class FlamePointer {
  constructor(chart) {
    this.chart = chart;
    this.canvas = chart.canvas;
    this.drag = null;  // {x, start, moved} while the button is down
    const on = (type, action, how) => this.canvas.addEventListener(type, action, how);
    on('pointerdown', (event) => this.press(event));
    on('pointermove', (event) => this.move(event));
    on('pointerup', (event) => this.release(event));
    on('pointercancel', () => { this.drag = null; });
    on('pointerleave', () => chart.hover(null));
    on('wheel', (event) => this.wheel(event), {passive: false});
  }

  boxUnder(event) {
    const frame = this.canvas.getBoundingClientRect();
    const y = event.clientY - frame.top + this.chart.scroller.scrollTop;
    return this.chart.layout.boxAt(event.clientX - frame.left, Math.floor(y / ROW_HEIGHT));
  }

  press(event) {
    if (event.button === 0) this.drag = {x: event.clientX, start: event.clientX, moved: false};
  }

  move(event) {
    if (!this.drag) return this.chart.hover(this.boxUnder(event), event);
    if (Math.abs(event.clientX - this.drag.start) > DRAG_PIXELS && !this.drag.moved) {
      this.drag.moved = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.chart.hover(null);
    }
    if (!this.drag.moved) return;
    this.chart.pan(event.clientX - this.drag.x);
    this.drag.x = event.clientX;
  }

  release(event) {
    const wasClick = this.drag && !this.drag.moved;
    this.drag = null;
    const box = wasClick && this.boxUnder(event);
    if (!box) return;
    const node = box.node || box.parent;
    this.chart.selected = node;
    this.chart.zoomTo(node);
  }

  // The wheel without a key scrolls, as everywhere.
  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      const frame = this.canvas.getBoundingClientRect();
      this.chart.zoomAt(event.clientX - frame.left, Math.exp(Math.sign(event.deltaY) * 0.25));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.chart.pan(-(event.deltaX || event.deltaY));
    } else {
      return;
    }
    event.preventDefault();
  }
}

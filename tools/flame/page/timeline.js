// The timeline: live bytes as an area and, where it is known, the rest of the resident memory as one
// on top of it, allocated bytes as a line with a scale of its own, the peak, and a selected span.
// Live blocks have ages, so a span selects those that were born in it; other samples have no time.

const TIMELINE_MARGIN = {left: 64, right: 70, top: 14, bottom: 20};

// Returns a round step such that about `count` of them make `range`; steps of bytes are powers of
// two.
function roundStep(range, count, isBytes) {
  const rough = range / count;
  if (rough <= 0) return 1;
  if (isBytes) return 2 ** Math.ceil(Math.log2(rough));
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
}

class Timeline {
  // `events.chosen(span)` is called when a span was selected, or null when it is no more.  It returns
  // a text of what is still live of it, or ''.
  constructor(canvas, status, colors, {shown, before}, events) {
    Object.assign(this, {canvas, status, colors, events});
    this.liveText = '';
    this.context = canvas.getContext('2d');
    this.series = shown;
    this.before = before;  // null: no comparison
    this.span = null;      // [from, to] in seconds
    this.cursor = null;    // seconds
    this.anchor = null;    // start of a drag by mouse, or of a span by keys
    this.isDragged = false;
    const all = [shown, before].filter(Boolean);
    this.seconds = Math.max(...all.map((series) => series.seconds)) || 1;
    this.mostLive =
        Math.max(...all.map((series) => series.most('most')), shown.most('resident')) || 1;
    this.mostAllocated = Math.max(...all.map((series) => series.most('allocated'))) || 1;
    this.listen();
    this.describe();
  }

  x(seconds) {
    const {left, right} = TIMELINE_MARGIN;
    return left + seconds / this.seconds * (this.width - left - right);
  }

  y(share) {
    const {top, bottom} = TIMELINE_MARGIN;
    return this.height - bottom - share * (this.height - top - bottom);
  }

  secondsAt(event) {
    const {left, right} = TIMELINE_MARGIN;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    const share = (x - left) / (this.width - left - right);
    return Math.min(1, Math.max(0, share)) * this.seconds;
  }

  paint() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = '11px system-ui, sans-serif';
    this.paintAxes();
    this.paintSpan();
    this.paintSeries();
    this.paintPeak();
    this.paintCursor();
  }

  paintAxes() {
    const {context, colors} = this;
    context.fillStyle = colors.soft;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.textBaseline = 'middle';
    this.paintScale(this.mostLive, 'right', TIMELINE_MARGIN.left - 6, true);
    this.paintScale(this.mostAllocated, 'left', this.width - TIMELINE_MARGIN.right + 6, false);
    this.paintTimes();
  }

  paintScale(most, align, x, hasLines) {
    const {context} = this, step = roundStep(most, 4, true);
    const left = TIMELINE_MARGIN.left, right = this.width - TIMELINE_MARGIN.right;
    context.textAlign = align;
    for (let value = 0; value <= most; value += step) {
      const y = Math.round(this.y(value / most)) + 0.5;
      context.fillText(formatBytes(value).replace('.0 ', ' '), x, y);
      if (hasLines) this.stroke([[left, y], [right, y]]);
    }
  }

  paintTimes() {
    const {context} = this, step = roundStep(this.seconds, Math.max(2, this.width / 130), false);
    context.textAlign = 'center';
    context.textBaseline = 'alphabetic';
    for (let time = 0; time <= this.seconds * 1.0001; time += step) {
      context.fillText(time === 0 ? '0' : this.timeText(time, step), this.x(time), this.height - 5);
    }
  }

  timeText(time, step) {
    if (this.seconds >= 120) return formatSeconds(Math.round(time));
    if (this.seconds < 1) return Number((time * 1000).toPrecision(4)) + ' ms';
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return time.toFixed(digits) + ' s';
  }

  stroke(points, dash = []) {
    const {context} = this;
    context.setLineDash(dash);
    context.beginPath();
    points.forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
    context.stroke();
    context.setLineDash([]);
  }

  line(series, field, most) {
    return series.points.map((point) => [this.x(point.seconds), this.y(point[field] / most)]);
  }

  paintSeries() {
    const {context, colors} = this;
    this.paintRest();
    this.paintArea(this.line(this.series, 'live', this.mostLive));
    context.lineWidth = 1.5;
    context.strokeStyle = colors.allocated;
    this.stroke(this.line(this.series, 'allocated', this.mostAllocated));
    if (!this.before) return;
    context.lineWidth = 1.2;
    this.stroke(this.line(this.before, 'allocated', this.mostAllocated), [2, 3]);
    context.strokeStyle = colors.live;
    this.stroke(this.line(this.before, 'live', this.mostLive), [5, 3]);
  }

  // What is resident and is no live block lies on top of these.  Live blocks that are not resident
  // leave no room for it.
  restOf({live, resident}) {
    return Math.max(0, resident - live);
  }

  paintRest() {
    const {context, colors} = this;
    let part = [];
    const close = () => {
      if (part.length > 1) {
        const at = (point, bytes) => [this.x(point.seconds), this.y(bytes / this.mostLive)];
        const top = part.map((point) => at(point, point.live + this.restOf(point)));
        const bottom = part.map((point) => at(point, point.live)).reverse();
        context.beginPath();
        [...top, ...bottom].forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
        context.fillStyle = context.strokeStyle = colors.rest;
        context.globalAlpha = 0.3;
        context.fill();
        context.globalAlpha = 1;
        context.lineWidth = 1;
        this.stroke(top);
      }
      part = [];
    };
    for (const point of this.series.points) {
      if (point.resident > 0) part.push(point); else close();
    }
    close();
  }

  paintArea(line) {
    const {context, colors} = this;
    if (!line.length) return;
    context.fillStyle = context.strokeStyle = colors.live;
    context.globalAlpha = 0.25;
    context.beginPath();
    context.moveTo(line[0][0], this.y(0));
    for (const [x, y] of line) context.lineTo(x, y);
    context.lineTo(line[line.length - 1][0], this.y(0));
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    this.stroke(line);
  }

  paintPeak() {
    const {context, colors} = this, {seconds, most} = this.series.peak();
    if (!most) return;
    const x = this.x(seconds), y = this.y(most / this.mostLive);
    context.fillStyle = context.strokeStyle = colors.peak;
    context.lineWidth = 1;
    this.stroke([[x, y], [x, this.y(0)]], [3, 3]);
    context.beginPath();
    context.arc(x, y, 3.5, 0, 7);
    context.fill();
    const isRight = x > this.width / 2;
    context.textAlign = isRight ? 'right' : 'left';
    context.fillText('peak ' + formatBytes(most), x + (isRight ? -8 : 8), Math.max(10, y));
  }

  paintSpan() {
    if (!this.span) return;
    const {context, colors} = this, [from, to] = this.span.map((seconds) => this.x(seconds));
    context.fillStyle = colors.accent;
    context.globalAlpha = 0.15;
    context.fillRect(from, this.y(1), to - from, this.y(0) - this.y(1));
    context.globalAlpha = 1;
    context.fillRect(from - 0.5, this.y(1), 1, this.y(0) - this.y(1));
    context.fillRect(to - 0.5, this.y(1), 1, this.y(0) - this.y(1));
  }

  paintCursor() {
    if (this.cursor === null) return;
    this.context.strokeStyle = this.colors.soft;
    this.context.lineWidth = 1;
    this.stroke([[this.x(this.cursor), this.y(1)], [this.x(this.cursor), this.y(0)]]);
  }

  // --- The text below it ---

  describe() {
    if (this.span) {
      this.status.textContent = this.spanText(...this.span) + this.liveText;
    } else if (this.cursor !== null) {
      this.status.textContent = this.pointText(this.cursor);
    } else {
      this.status.textContent = 'Drag over a span of time to see what was allocated in it' +
          (this.events.hasBirths ? ', and is still live.' : '.');
    }
    this.canvas.setAttribute('aria-label', 'Timeline of live and allocated bytes. ' +
        this.spanText(0, this.series.seconds) + ' Arrow keys move a cursor, with Shift a span.');
  }

  spanText(from, to) {
    const {allocated, first, last, most} = this.series.summary(from, to);
    const perSecond = to > from ? ` (${formatBytes(allocated / (to - from))} per second)` : '';
    return `${formatSeconds(from)} to ${formatSeconds(to)}: ${formatBytes(allocated)} allocated` +
        `${perSecond}; live ${formatBytes(first.live)} → ${formatBytes(last.live)}, at most ` +
        `${formatBytes(most)}. `;
  }

  pointText(seconds) {
    const point = this.series.at(seconds);
    return `At ${formatSeconds(point.seconds)}: ${formatBytes(point.live)} live, ` +
        `${formatBytes(point.allocated)} allocated so far` + (point.resident > 0 ?
            `; ${formatBytes(point.resident)} resident, ${formatBytes(this.restOf(point))} of it ` +
            'no live blocks.' : '.');
  }

  set(span, cursor) {
    this.span = span && span[1] > span[0] ? span : null;
    this.cursor = cursor;
    this.describe();
    this.paint();
  }

  // Tells of the span, when it is no longer being dragged.
  choose() {
    this.liveText = this.events.chosen(this.span);
    this.describe();
  }

  // --- Mouse and keys ---

  listen() {
    const {canvas} = this;
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, () => {
        this.isDragged = false;
        this.choose();
      });
    }
    canvas.addEventListener('pointerleave', () => this.set(this.span, null));
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  press(event) {
    this.anchor = this.secondsAt(event);
    this.isDragged = true;
    this.liveText = '';  // of the span before
    this.canvas.setPointerCapture(event.pointerId);
    this.set(null, this.anchor);
  }

  move(event) {
    const at = this.secondsAt(event);
    this.set(this.isDragged ? this.spanTo(at) : this.span, at);
  }

  key(event) {
    const direction = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === 'Escape' && (this.span || this.cursor !== null)) {
      this.set(null, null);
      this.choose();
    } else if (direction) {
      this.moveCursor(direction, event.shiftKey);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // Returns the point where a span began.
  spanTo(seconds) {
    return [Math.min(this.anchor, seconds), Math.max(this.anchor, seconds)];
  }

  moveCursor(direction, isSpan) {
    const from = this.cursor === null ? this.series.peak().seconds : this.cursor;
    const to = Math.min(this.seconds, Math.max(0, from + direction * this.seconds / 50));
    if (!isSpan || !this.span) this.anchor = from;
    this.set(isSpan ? this.spanTo(to) : null, to);
    this.choose();
  }
}

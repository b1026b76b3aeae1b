// The flame graph as a picture in SVG: to be kept, and to be printed.

const SVG_FONT = 'font-family="system-ui, sans-serif" font-size="12"';

function escapeXml(text) {
  const signs = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};
  // Control characters cannot be in XML at all.
  return text.replace(/[&<>"]/g, (sign) => signs[sign])
      .replace(/[\0-\x08\x0b-\x1f\ufffe\uffff]/g, '\ufffd');
}

// Returns the namespace's name, which is an address, though nothing is loaded from it.
function svgNamespace() {
  return new DOMParser().parseFromString('<svg></svg>', 'text/html').body.firstChild.namespaceURI;
}

// Other programs do not know all forms of colours that browsers do.
class HexColors {
  constructor() {
    this.known = new Map();
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    this.context = canvas.getContext('2d', {willReadFrequently: true});
  }

  of(color) {
    if (!this.known.has(color)) {
      this.context.fillStyle = color;
      this.context.fillRect(0, 0, 1, 1);
      const [red, green, blue] = this.context.getImageData(0, 0, 1, 1).data;
      const digits = (red << 16 | green << 8 | blue).toString(16).padStart(6, '0');
      this.known.set(color, '#' + digits);
    }
    return this.known.get(color);
  }
}

class SvgPainter {
  constructor(chart, facts) {
    Object.assign(this, {chart, facts, looks: chart.looks, colors: chart.painter.colors});
    this.hex = new HexColors();
  }

  text() {
    const {rows, width} = this.chart.layout, height = rows.length * ROW_HEIGHT + 1;
    const lines = [
      `<svg xmlns="${svgNamespace()}" width="${width}" height="${height}" ` +
          `viewBox="0 0 ${width} ${height}" ${SVG_FONT}>`,
      `<rect width="${width}" height="${height}" fill="${this.hex.of(this.colors.background)}"/>`,
    ];
    rows.forEach((row, depth) => {
      for (const box of row) lines.push(this.box(box, depth * ROW_HEIGHT));
    });
    return lines.concat('</svg>', '').join('\n');
  }

  box(box, y) {
    const {x, width} = this.chart.layout.visible(box);
    if (!box.node) return this.rect(x, y, width, this.colors.rest, this.looks.fadesRest());
    const {node} = box;
    const rect = this.rect(x, y, width, this.looks.colorOf(node), this.looks.isFaded(node));
    return `<g><title>${escapeXml(this.facts.text(node))}</title>${rect}` +
        `${this.label(node, x, y, width)}</g>`;
  }

  rect(x, y, width, color, isFaded) {
    const gap = width > 3 ? 1 : width > 1.5 ? 0.5 : 0, [left, wide] = [x, width - gap].map(round);
    return `<rect x="${left}" y="${y}" width="${wide}" height="${ROW_HEIGHT - 1}" ` +
        `fill="${this.hex.of(color)}"${isFaded ? ' opacity="0.28"' : ''}/>`;
  }

  label(node, x, y, width) {
    if (width <= 24) return '';
    const room = width - 2 * LABEL_MARGIN;
    const label = this.chart.painter.widths.fit(this.looks.names(node), room);
    if (!label) return '';
    return `<text x="${round(x + LABEL_MARGIN)}" y="${y + 14}" ` +
        `fill="${this.hex.of(this.colors.frameText)}">${escapeXml(label)}</text>`;
  }
}

function round(pixels) {
  return Math.round(pixels * 100) / 100;
}

function download(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'image/svg+xml'}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Puts the picture in the place of the canvas while the page is printed, in light colours.
class Printing {
  constructor(page) {
    this.page = page;
    addEventListener('beforeprint', () => this.begin());
    addEventListener('afterprint', () => this.end());
  }

  begin() {
    this.wasDark = this.page.dark;
    if (this.wasDark) this.page.switchTheme();
    const picture = new DOMParser().parseFromString(this.page.svgText(), 'image/svg+xml');
    byId('flame-print').replaceChildren(document.importNode(picture.documentElement, true));
  }

  end() {
    byId('flame-print').replaceChildren();
    if (this.wasDark) this.page.switchTheme();
  }
}

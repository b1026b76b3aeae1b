// Collects the facts about a frame, and shows them in the tooltip.

class FrameFacts {
  // `units` are those of the profile; `tests` is the number of compared rows.
  constructor(profile, view, {metric, unit, units, tests, rootText}) {
    Object.assign(this, {profile, view, metric, unit, units, tests, rootText});
  }

  name(node) {
    return node.depth ? tidyName(this.profile.name(node.frame >> 1)) : this.rootText;
  }

  place(node) {
    if (!node.depth) return '';
    const number = node.frame >> 1, lines = this.view.linesOf(node);
    const line = lines.size === 1 ? [...lines][0] : -1;
    const parts = [this.profile.place(number, line), this.profile.module(number)];
    if (node.frame & 1) parts.push('inlined');
    return parts.filter(Boolean).join(' · ');
  }

  // Returns pairs of a term and its text, in all units, whichever unit is drawn.
  facts(node) {
    const facts = this.units.flatMap((unit) => this.amounts(node, unit));
    const own = this.view.own(node)[0];
    if (own.value > 0 && node.depth) facts.push(['itself', formatAmount(own.value, this.unit)]);
    return facts.concat(this.shares(node));
  }

  amounts(node, unit) {
    const sides = this.profile.amounts(this.metric, unit);
    const [shown, before] = this.view.figures(node, sides);
    const text = formatAmount(shown.value, unit);
    if (!before) return [[unit, text + '  ' + formatSpread(shown, unit)]];
    const change = new Change(shown, before);
    const range = formatChangeRange(change, unit);
    return [[unit, `${formatAmount(before.value, unit)} → ${text}`],
      ['change', formatChange(change.value, unit) + (range ? ` (${range})` : '')]];
  }

  shares(node) {
    if (!node.depth) return [];
    const valueOf = (other) => this.view.figures(other)[0].value;
    const shareOf = (other) =>
      valueOf(other) > 0 ? formatPercent(valueOf(node) / valueOf(other)) : '–';
    const shares = [['of all', shareOf(this.view.root)]];
    return node.depth > 1 ? shares.concat([['of parent', shareOf(node.parent)]]) : shares;
  }

  // Returns a doubt about the amount; empty if it is sure.
  doubt(node) {
    const [shown, before] = this.view.figures(node);
    if (!before) return shown.isSure() ? '' : 'Too few samples: this may be chance.';
    const sure = sureness(new Change(shown, before), this.tests);
    if (shown.value === before.value || sure >= 1) return '';
    return sure > 0 ? 'Of that many functions, some change so much by chance.' :
                      'The change may be chance.';
  }

  // Returns the facts in one line, to be read aloud.
  text(node) {
    const facts = this.facts(node).map(([term, text]) => `${term} ${text}`);
    return [this.name(node), ...facts, this.doubt(node)].filter(Boolean).join(', ');
  }
}

class Tooltip {
  constructor(root) {
    this.root = root;
    this.box = null;  // the box that the tooltip describes
  }

  hide() {
    this.root.hidden = true;
  }

  // Shows the tooltip of a box at a point of the window.
  show(box, facts, point) {
    this.root.hidden = false;
    if (this.box !== box) {
      this.box = box;
      const lines = box.node ? this.frameLines(box.node, facts) : this.narrowLines(box, facts.unit);
      this.root.replaceChildren(...lines);
    }
    this.place(point);
  }

  // Puts the tooltip below and to the right of the point, or above or further left if it would not
  // fit.
  place({clientX, clientY}) {
    const {innerWidth, innerHeight} = window, {offsetWidth, offsetHeight} = this.root;
    const x = Math.min(clientX + 14, innerWidth - offsetWidth - 8);
    const hasRoom = clientY + 18 + offsetHeight < innerHeight;
    const y = hasRoom ? clientY + 18 : clientY - offsetHeight - 10;
    this.root.style.left = Math.max(4, x) + 'px';
    this.root.style.top = Math.max(4, y) + 'px';
  }

  narrowLines({count, weight}, unit) {
    return [element('b', `${formatCount(count)} more frames`),
      element('p', `${formatAmount(weight, unit)} together; each is too narrow to be drawn. ` +
          'Zoom in to see them.')];
  }

  frameLines(node, facts) {
    const lines = [element('b', facts.name(node)), element('p', facts.place(node), 'soft')];
    const list = element('dl');
    for (const [term, text] of facts.facts(node)) {
      list.append(element('dt', term), element('dd', text));
    }
    lines.push(list, element('p', facts.doubt(node), 'doubt'));
    return lines.filter((line) => line.textContent);
  }
}

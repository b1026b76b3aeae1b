// The page: what is chosen, and who must know when it changes.

const METRIC_TEXT = {
  'alloc': ['Allocated', 'all that was allocated'],
  'peak': ['Peak', 'what was live when most was'],
  'live': ['Live', 'what had not been freed at the end'],
  'temporary': ['Temporary', 'freed after less than 64 KiB of further allocation by its thread'],
  'promoted': ['Promoted', 'managed: left the nursery alive'],
  'died-young': ['Died young', 'managed: died in the nursery'],
};

// What a search text means: a function of a string, or an error.  /text/ and /text/i are regular
// expressions; other text is found in any case of its letters.
function searchOf(text) {
  const expression = /^\/(.+)\/([imsu]*)$/.exec(text);
  if (!expression) {
    const lower = text.toLowerCase();
    return {finds: (name) => name.toLowerCase().includes(lower)};
  }
  try {
    const regex = new RegExp(expression[1], expression[2]);
    return {finds: (name) => regex.test(name)};
  } catch (error) {
    return {error: error.message};
  }
}

class Page {
  constructor(data) {
    this.data = data;
    this.profile = new Profile(data);
    this.groups = new Groups(this.profile);
    this.colors = new Colors(this.groups);
    this.choice = {
      metric: this.profile.metricNames().indexOf(data.metric),
      unit: 'bytes', inverted: false, byName: false, widths: 'shown',
    };
    this.picked = -1;
    this.search = '';
    this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
    this.makeParts();
    this.fillHeader();
    this.wire();
    this.update(false);
  }

  makeParts() {
    this.chart = new FlameChart(byId('flame'), byId('flame-scroll'), byId('flame-space'), this.colors, {
      zoomed: (node) => this.showCrumbs(node),
      hovered: (box, event) => this.showTooltip(box, event),
      selected: (node) => this.announce(node),
    });
    this.table = new Table(byId('table'), byId('table-text'), byId('more-rows'),
        {picked: (number) => this.pick(number)});
    this.timeline = this.makeTimeline();
  }

  makeTimeline() {
    const seriesOf = (profiles) => profiles.map((profile) => new Series(profile))
        .find((series) => series.points.length > 1) || null;
    const shown = seriesOf(this.data.shown), before = seriesOf(this.data.before);
    if (!shown) return null;
    byId('timeline-section').hidden = false;
    this.fillTimelineLegend(shown, before);
    return new Timeline(byId('timeline'), byId('timeline-text'), this.colors, shown, before);
  }

  // --- Header ---

  fillHeader() {
    byId('about').textContent = this.aboutText();
    const notes = this.noteTexts();
    byId('notes').append(...notes.map((note) => element('li', note)));
    byId('notes-section').hidden = notes.length === 0;
    byId('units').hidden = !this.data.hasBlocks;
    byId('widths').hidden = !this.profile.isComparison;
  }

  aboutText() {
    const texts = this.data.shown.map((profile) => this.profileText(profile));
    const before = this.data.before.map((profile) => this.profileText(profile));
    return texts.join(' + ') + (before.length ? ' — compared with ' + before.join(' + ') : '');
  }

  profileText({file, command, pid, startMillis, seconds, rate}) {
    const parts = [command || file];
    if (pid) parts.push('process ' + pid);
    if (startMillis > 0) parts.push(new Date(startMillis).toISOString().slice(0, 16).replace('T', ' '));
    if (seconds > 0) parts.push(formatSeconds(seconds));
    if (rate >= 1) parts.push('every block');
    else if (rate > 0) parts.push('a sample about every ' + formatBytes(8 / rate));
    return parts.join(', ');
  }

  noteTexts() {
    const profiles = this.data.shown.concat(this.data.before), notes = [];
    for (const {file, dropped, notes: own} of profiles) {
      if (dropped > 0) notes.push(`${file}: ${formatCount(dropped)} samples were dropped, and are missing here`);
      for (const note of own) notes.push(file + ': ' + note);
      }
    if (this.data.shown.length > 1 || profiles.some((profile) => profile.isSum)) {
      notes.push('This is a sum over processes. Their peaks were not at one time.');
    }
    if (profiles.some((profile) => !(profile.rate > 0))) {
      notes.push('The rate of sampling is not known, so amounts have no intervals.');
    }
    return notes;
  }

  fillTimelineLegend(shown, before) {
    const entry = (className, text) => {
      const made = element('span');
      made.append(element('i', '', 'key ' + className), text);
      return made;
    };
    const legend = byId('timeline-legend');
    legend.append(entry('live', 'live (left)'), entry('allocated', 'allocated (right)'),
        entry('peak', 'peak'));
    if (before) legend.append(element('span', 'dashed: before'));
    if (this.data.shown.length > 1) legend.append(element('span', 'of ' + shown.profile.file));
  }

  // Tiles, which show the total of each metric and choose it.
  showMetrics() {
    const {unit} = this.choice, names = this.profile.metricNames();
    byId('metrics').replaceChildren(...names.map((name, number) => {
      const totals = this.profile.amounts(number, unit).map((side) => side.total());
      return this.metricTile(name, number, totals);
    }));
  }

  metricTile(name, number, totals) {
    const {unit} = this.choice, [text, title] = METRIC_TEXT[name];
    const tile = element('button', undefined, 'metric');
    tile.setAttribute('role', 'radio');
    tile.setAttribute('aria-checked', String(number === this.choice.metric));
    tile.dataset.metric = name;
    tile.title = title;
    tile.append(element('span', text, 'metric-name'),
        element('span', formatAmount(totals[0].value, unit), 'metric-value'),
        element('span', this.tileDetail(totals), 'metric-detail'));
    tile.addEventListener('click', () => this.choose({metric: number}));
    return tile;
  }

  tileDetail(totals) {
    const {unit} = this.choice;
    if (totals.length === 1) return formatSpread(totals[0], unit) || (unit === 'bytes' ? 'bytes' : 'blocks');
    return formatChange(new Change(totals[0], totals[1]).value, unit) + ' since ' +
        formatAmount(totals[1].value, unit);
  }

  // --- Choices ---

  choose(change) {
    Object.assign(this.choice, change);
    this.update(!('inverted' in change));
  }

  sides() {
    return this.profile.amounts(this.choice.metric, this.choice.unit);
  }

  rows() {
    const sides = this.sides();
    if (this.rowsOf !== sides) {
      this.rowsOf = sides;
      this.functionRows = functionRows(this.profile, sides);
    }
    return this.functionRows;
  }

  makeView() {
    const {inverted, byName, widths} = this.choice, sides = this.sides();
    const weights = {shown: [0], before: [1], both: [0, 1]}[widths];
    const Kind = inverted ? InvertedView : TopDownView;
    return new Kind(this.profile, sides, weights, byName);
  }

  // Shows everything anew.
  update(keepsPlace) {
    this.totals = this.sides().map((side) => side.total());
    this.view = this.makeView();
    this.showMetrics();
    this.showChoices();
    this.findMatches();
    this.chart.setView(this.view, this.style(), keepsPlace);
    this.showTable();
    this.showLegend();
  }

  showChoices() {
    const {unit, inverted, byName, widths} = this.choice;
    const press = (id, isPressed) => byId(id).setAttribute('aria-pressed', String(isPressed));
    press('top-down', !inverted);
    press('inverted', inverted);
    press('by-size', !byName);
    press('by-name', byName);
    press('bytes', unit === 'bytes');
    press('blocks', unit === 'blocks');
    for (const name of ['shown', 'before', 'both']) press('width-' + name, widths === name);
  }

  showTable() {
    this.table.show({
      profile: this.profile, rows: this.rows(), totals: this.totals,
      unit: this.choice.unit, matches: this.search ? this.matches : null,
    });
  }

  // --- How frames look ---

  style() {
    const {profile, colors} = this;
    const labels = new Map();
    const numberOf = (node) => node.frame >> 1;
    return {
      fadesRest: Boolean(this.highlighted()),
      isInlined: (node) => node.depth > 0 && (node.frame & 1) === 1,
      isFaded: (node) => {
        const set = this.highlighted();
        return Boolean(set) && (node.depth === 0 || !set[numberOf(node)]);
      },
      names: (node) => {
        if (node.depth === 0) return [this.rootText(), 'all'];
        const number = numberOf(node);
        if (!labels.has(number)) labels.set(number, shorterNames(profile.name(number)));
        return labels.get(number);
      },
      colorOf: (node) => {
        if (node.depth === 0) return colors.root;
        if (this.search && this.matches[numberOf(node)]) return colors.match;
        if (profile.isComparison) return this.changeColor(node);
        return colors.ofFunction(numberOf(node), profile.name(numberOf(node)));
      },
    };
  }

  rootText() {
    const {unit, metric} = this.choice;
    const name = METRIC_TEXT[this.profile.metricNames()[metric]][0].toLowerCase();
    return `all: ${formatAmount(this.view.root.weight, unit)} ${name}`;
  }

  changeColor(node) {
    if (!node.change) node.change = new Change(...this.view.figures(node));
    return this.colors.ofChange(node.change, sureness(node.change, this.rows().length));
  }

  showLegend() {
    const legend = byId('flame-legend');
    const entry = (color, text) => {
      const made = element('span'), key = element('i', '', 'key');
      key.style.background = color;
      made.append(key, text);
      return made;
    };
    const entries = this.profile.isComparison ? this.changeLegend(entry) :
        this.groups.shown().map((name, rank) => entry(this.colors.ofGroup(rank), name))
            .concat(entry(this.colors.ofGroup(GROUP_COUNT), 'others'));
    const hasInlined = this.profile.frame.some((frame) => frame > 0 && frame & 1);
    if (hasInlined) entries.push(entry('', 'dashed: inlined'));
    legend.replaceChildren(...entries);
  }

  changeLegend(entry) {
    const change = (share) => ({share, value: share});
    return [
      entry(this.colors.ofChange(change(1), 1), 'grew'),
      entry(this.colors.ofChange(change(-1), 1), 'shrank'),
      entry(this.colors.ofChange(change(0), 0), 'the same, or what may be chance'),
      element('span', 'the paler, the smaller or less sure'),
    ];
  }

  // --- Search and highlight ---

  setSearch(text) {
    this.search = text;
    this.findMatches();
    this.showTable();
    this.repaint();
  }

  findMatches() {
    const {profile} = this, search = searchOf(this.search);
    this.matches = new Uint8Array(profile.functionCount);
    byId('search').setAttribute('aria-invalid', String(Boolean(search.error)));
    if (search.finds && this.search) {
      for (let i = 0; i < profile.functionCount; i++) {
        this.matches[i] = search.finds(profile.name(i)) || search.finds(profile.file(i)) ? 1 : 0;
      }
    }
    this.showMatched(search.error);
  }

  // What is emphasized: null for nothing.
  highlighted() {
    if (this.picked >= 0) return this.pickedSet;
    return this.search ? this.matches : null;
  }

  showMatched(error) {
    const set = this.highlighted(), output = byId('matched');
    if (error) {
      output.textContent = error;
    } else if (!set) {
      output.textContent = '';
    } else {
      const found = totalOfStacksWith(this.profile, this.sides()[0], set);
      const share = this.totals[0].value ? found.value / this.totals[0].value : 0;
      output.textContent = `${formatAmount(found.value, this.choice.unit)}, ${formatPercent(share)}`;
    }
  }

  pick(number) {
    this.picked = this.picked === number ? -1 : number;
    this.pickedSet = new Uint8Array(this.profile.functionCount);
    if (this.picked >= 0) this.pickedSet[this.picked] = 1;
    this.table.pick(this.picked);
    this.showMatched();
    this.repaint();
  }

  repaint() {
    this.chart.style = this.style();
    this.chart.paintSoon();
  }

  // --- Crumbs ---

  showCrumbs(node) {
    const items = node.path().map((step) => {
      const name = step.depth === 0 ? 'all' : withoutArguments(this.profile.name(step.frame >> 1));
      const crumb = element('button', name);
      crumb.title = step.depth === 0 ? 'all' : this.profile.name(step.frame >> 1);
      if (step === node) crumb.setAttribute('aria-current', 'true');
      crumb.addEventListener('click', () => this.chart.zoomTo(step));
      return crumb;
    });
    byId('crumbs').replaceChildren(...this.abridged(items));
  }

  // Long paths keep their ends.
  abridged(items) {
    const most = 8;
    if (items.length <= most) return items;
    return [items[0], element('span', `… ${items.length - most + 1} more …`), ...items.slice(1 - most)];
  }

  // --- Tooltip ---

  showTooltip(box, event) {
    const tooltip = byId('tooltip');
    tooltip.hidden = !box;
    if (!box) return;
    if (this.tooltipBox !== box) {
      this.tooltipBox = box;
      tooltip.replaceChildren(...(box.node ? this.frameLines(box.node) : this.narrowLines(box)));
    }
    const {innerWidth, innerHeight} = window, {offsetWidth, offsetHeight} = tooltip;
    const x = Math.min(event.clientX + 14, innerWidth - offsetWidth - 8);
    const below = event.clientY + 18;
    const y = below + offsetHeight < innerHeight ? below : event.clientY - offsetHeight - 10;
    tooltip.style.left = Math.max(4, x) + 'px';
    tooltip.style.top = Math.max(4, y) + 'px';
  }

  narrowLines({count, weight}) {
    return [element('b', `${formatCount(count)} more frames`),
      element('p', `${formatAmount(weight, this.choice.unit)} together; each is too narrow to be ` +
          'drawn. Zoom in to see them.')];
  }

  frameLines(node) {
    const lines = [element('b', node.depth ? this.profile.name(node.frame >> 1) : this.rootText())];
    if (node.depth) lines.push(element('p', this.placeText(node), 'soft'));
    const list = element('dl');
    for (const [term, text] of this.frameFacts(node)) list.append(element('dt', term), element('dd', text));
    lines.push(list);
    const doubt = this.doubt(node);
    if (doubt) lines.push(element('p', doubt, 'doubt'));
    return lines;
  }

  placeText(node) {
    const number = node.frame >> 1, lines = this.view.linesOf(node);
    const line = lines.size === 1 ? [...lines][0] : -1;
    const parts = [this.profile.place(number, line), this.profile.module(number)];
    if (node.frame & 1) parts.push('inlined');
    return parts.filter(Boolean).join(' · ');
  }

  // Both units, whatever is drawn.
  frameFacts(node) {
    const facts = [], {metric, unit} = this.choice;
    const units = this.data.hasBlocks ? ['bytes', 'blocks'] : ['bytes'];
    for (const each of units) {
      const figures = this.view.figures(node, this.profile.amounts(metric, each));
      facts.push(...this.amountFacts(each, figures));
    }
    const own = this.view.own(node)[0];
    if (own.value > 0 && node.depth) facts.push(['itself', formatAmount(own.value, unit)]);
    return facts.concat(this.shareFacts(node));
  }

  amountFacts(unit, figures) {
    const [shown, before] = figures;
    if (!before) return [[unit, `${formatAmount(shown.value, unit)}  ${formatSpread(shown, unit)}`]];
    const change = new Change(shown, before);
    const facts = [[unit, `${formatAmount(before.value, unit)} → ${formatAmount(shown.value, unit)}`],
      ['change', formatChange(change.value, unit) + (change.deviation > 0 ?
          ` (${formatInterval(change.interval(), unit, formatChange)})` : '')]];
    return facts;
  }

  shareFacts(node) {
    const value = this.view.figures(node)[0].value, facts = [];
    const shareOf = (other) => other > 0 ? formatPercent(value / other) : '–';
    if (!node.depth) return facts;
    facts.push(['of all', shareOf(this.totals[0].value)]);
    if (node.depth > 1) facts.push(['of parent', shareOf(this.view.figures(node.parent)[0].value)]);
    return facts;
  }

  doubt(node) {
    const figures = this.view.figures(node);
    if (figures.length === 1) return figures[0].isSure() ? '' : 'Fewer than ten samples: this may be chance.';
    const sure = sureness(new Change(...figures), this.rows().length);
    if (figures[0].value === figures[1].value || sure >= 1) return '';
    return sure > 0 ? 'Some of the many frames change so much by chance.' : 'The change may be chance.';
  }

  // For keyboards and screen readers.
  announce(node) {
    this.tooltipBox = null;
    this.showTooltip({node}, this.chart.pointOf(node));
    const name = node.depth ? this.profile.name(node.frame >> 1) : 'all';
    const facts = this.frameFacts(node).map(([term, text]) => `${term} ${text}`);
    byId('selected').textContent = [name, ...facts, this.doubt(node)].filter(Boolean).join(', ');
  }

  // --- Theme ---

  setTheme(dark) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    byId('theme').textContent = dark ? 'Light' : 'Dark';
    this.colors.setTheme(dark);
  }

  switchTheme() {
    this.setTheme(!this.dark);
    this.repaint();
    this.showLegend();
    if (this.timeline) this.timeline.paint();
  }

  // --- Buttons and keys ---

  wire() {
    const click = (id, action) => byId(id).addEventListener('click', action);
    click('theme', () => this.switchTheme());
    click('help-button', () => byId('help').showModal());
    click('top-down', () => this.choose({inverted: false}));
    click('inverted', () => this.choose({inverted: true}));
    click('by-size', () => this.choose({byName: false}));
    click('by-name', () => this.choose({byName: true}));
    click('bytes', () => this.choose({unit: 'bytes'}));
    click('blocks', () => this.choose({unit: 'blocks'}));
    for (const name of ['shown', 'before', 'both']) {
      click('width-' + name, () => this.choose({widths: name}));
    }
    byId('search').addEventListener('input', (event) => this.setSearch(event.target.value));
    document.addEventListener('keydown', (event) => this.key(event));
    byId('flame').addEventListener('blur', () => { byId('tooltip').hidden = true; });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
      if (event.matches !== this.dark) this.switchTheme();
    });
  }

  // Keys that act everywhere but where text is written.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
    const isWriting = event.target === byId('search');
    if (isWriting ? this.searchKey(event.key) : this.pageKey(event)) event.preventDefault();
  }

  searchKey(key) {
    if (key === 'Enter') byId('flame').focus({preventScroll: true});
    if (key !== 'Escape') return key === 'Enter';
    byId('search').value = '';
    this.setSearch('');
    byId('search').blur();
    return true;
  }

  pageKey({key, target}) {
    const isOnFlame = target === byId('flame');
    const isOnButton = target.tagName === 'BUTTON';
    const moves = {ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right'};
    if (moves[key] && (isOnFlame || target === document.body)) return this.moveKey(moves[key]);
    if (key === 'Enter' && !isOnButton && this.chart.selected) {
      this.chart.zoomTo(this.chart.selected);
      return true;
    }
    return this.letterKey(key);
  }

  moveKey(direction) {
    byId('flame').focus({preventScroll: true});
    this.chart.moveSelection(direction);
    return true;
  }

  letterKey(key) {
    const {metric, unit, inverted, byName} = this.choice;
    const actions = {
      '/': () => byId('search').select(),
      'i': () => this.choose({inverted: !inverted}),
      'l': () => this.choose({byName: !byName}),
      'm': () => this.choose({metric: (metric + 1) % this.data.metrics.length}),
      'b': () => this.data.hasBlocks && this.choose({unit: unit === 'bytes' ? 'blocks' : 'bytes'}),
      't': () => this.switchTheme(),
      '?': () => byId('help').showModal(),
      'Home': () => this.chart.zoomTo(this.view.root),
      'Escape': () => this.back(),
      'Backspace': () => this.back(),
    };
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]();
    return true;
  }

  // Undoes one thing: the zoom, then the highlight.
  back() {
    byId('tooltip').hidden = true;
    if (this.chart.back()) return;
    if (this.picked >= 0) this.pick(this.picked);
  }
}

const page = new Page(JSON.parse(byId('data').textContent));
document.documentElement.dataset.readyMillis = Math.round(performance.now());

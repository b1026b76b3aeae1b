// The page: holds the choices, and updates all parts that depend on them.

class Page {
  constructor(data) {
    this.data = data;
    const folded = foldData(data);
    this.foldedProfile = folded && new Profile(folded);
    this.profile = this.foldedProfile || this.wholeProfile;
    this.colors = new Colors(new Groups(this.profile));
    this.emphasis = new Emphasis(this.profile);
    this.looks = new Looks(this.profile, this.colors, this.emphasis);
    this.choice = {
      metric: this.profile.metricNames().indexOf(data.metric),
      unit: 'bytes', inverted: false, byName: false, widths: 'shown', folded: true,
    };
    this.bornAges = null;  // of the chosen span: the youngest and the oldest age, in seconds
    this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
    this.makeParts();
    this.fillHeader();
    this.wire();
    this.update(false);
    applyFragment(this, location.hash.slice(1));
  }

  // The profile with all frames, made when it is first shown.
  get wholeProfile() {
    if (!this.whole) this.whole = new Profile(this.data);
    return this.whole;
  }

  makeParts() {
    this.tooltip = new Tooltip(byId('tooltip'));
    const elements = [byId('flame'), byId('flame-scroll'), byId('flame-space')];
    this.chart = new FlameChart(...elements, this.colors, {
      zoomed: (node) => this.showCrumbs(node),
      hovered: (box, event) => this.showTooltip(box, event),
      selected: (node) => this.announce(node),
    });
    this.table = new Table(byId('table'), byId('table-text'), byId('more-rows'),
        this.profile.isComparison, {picked: (number) => this.pick(number)});
    this.timeline = this.makeTimeline();
    this.keys = new Keys(this);
    this.printing = new Printing(this);
  }

  // Returns null if no profile has a timeline.
  makeTimeline() {
    const seriesOf = (profiles) => profiles.map((profile) => new Series(profile))
        .find((series) => series.points.length > 1) || null;
    const shown = seriesOf(this.data.shown), before = seriesOf(this.data.before);
    if (!shown) return null;
    byId('timeline-section').hidden = false;
    byId('timeline-legend').append(...timelineLegend(shown, before, this.data.shown.length > 1));
    return new Timeline(byId('timeline'), byId('timeline-text'), this.colors, {shown, before},
        {chosen: (span) => this.chooseSpan(span), hasBirths: this.profile.hasBirths});
  }

  // Shows what is live of blocks that were born in the span; null: of none, and shows again what was
  // shown before.  Returns a text about it.
  chooseSpan(span) {
    if (!this.profile.hasBirths) {
      return span ? 'The flame graph is still of the whole recording: samples carry no time.' : '';
    }
    const end = this.data.shown[0].seconds, {bornMetric} = this.profile, before = this.bornAges;
    const isBorn = this.choice.metric === bornMetric;
    if (!isBorn) this.metricBefore = this.choice.metric;
    this.bornAges = span && [end - span[1], end - span[0]];
    const ages = this.profile.chooseBirths(this.bornAges);
    if (span || before) {
      this.choose({metric: span ? bornMetric : isBorn ? this.metricBefore : this.choice.metric});
    }
    return span ? this.bornText(end, ages) : '';
  }

  bornText(end, [youngest, oldest]) {
    const figure = this.profile.amounts(this.profile.bornMetric, 'bytes')[0].total();
    const from = formatSeconds(Math.max(0, end - oldest));
    const spread = formatSpread(figure, 'bytes');
    return `Still live of what was born then: ${formatBytes(figure.value)}` +
        `${spread ? ` (${spread})` : ''}; the tile *Born, and live* has it. Ages are known in steps, so ` +
        `this is of births from ${from} to ${formatSeconds(Math.max(0, end - youngest))}.`;
  }

  fillHeader() {
    byId('about').textContent = byId('about').title = aboutText(this.data);
    const notes = noteTexts(this.data);
    byId('notes').append(...notes.map((note) => element('li', note)));
    byId('notes-section').hidden = notes.length === 0;
    byId('units').hidden = !this.data.hasBlocks;
    byId('widths').hidden = !this.profile.isComparison;
    byId('folding').hidden = !this.foldedProfile;
  }

  // --- Choices ---

  choose(change) {
    const {inverted} = this.choice;
    Object.assign(this.choice, change);
    this.fold();
    this.update(this.choice.inverted === inverted);
  }

  // Chooses the profile with or without frames of the library.
  fold() {
    const profile = this.choice.folded && this.foldedProfile || this.wholeProfile;
    if (profile !== this.profile && profile.hasBirths) profile.chooseBirths(this.bornAges);
    for (const part of [this, this.emphasis, this.looks]) part.profile = profile;
  }

  switchFolding() {
    if (this.foldedProfile) this.choose({folded: !this.choice.folded});
  }

  chooseNextMetric() {
    this.choose({metric: (this.choice.metric + 1) % this.profile.metricNames().length});
  }

  chooseOtherUnit() {
    if (this.data.hasBlocks) this.choose({unit: this.choice.unit === 'bytes' ? 'blocks' : 'bytes'});
  }

  sides() {
    return this.profile.amounts(this.choice.metric, this.choice.unit);
  }

  // Returns the table's rows; kept until other amounts are chosen.
  rows() {
    const sides = this.sides();
    if (this.rowsOf !== sides) {
      this.rowsOf = sides;
      this.functionRows = functionRows(this.profile, sides);
    }
    return this.functionRows;
  }

  makeView() {
    const {inverted, byName, widths} = this.choice;
    const weights = {shown: [0], before: [1], both: [0, 1]}[widths];
    const Kind = inverted ? InvertedView : TopDownView;
    return new Kind(this.profile, this.sides(), weights, byName);
  }

  // Shows everything anew.  With `keepsPlace`, zooms to the same frame if it exists.
  update(keepsPlace) {
    const {metric, unit} = this.choice, tests = this.rows().length;
    this.totals = this.sides().map((side) => side.total());
    this.view = this.makeView();
    const units = this.data.hasBlocks ? ['bytes', 'blocks'] : ['bytes'];
    const rootText = this.rootText();
    this.facts = new FrameFacts(this.profile, this.view, {metric, unit, units, tests, rootText});
    this.looks.setView(this.view, rootText, tests);
    this.showMetrics();
    this.showChoices();
    this.showMatched();
    this.chart.setView(this.view, this.looks, keepsPlace);
    this.showTable();
    this.showLegend();
  }

  rootText() {
    const {unit, metric} = this.choice, name = this.profile.metricNames()[metric];
    const amount = formatAmount(this.view.root.weight, unit);
    const noun = unit === 'blocks' ? ' blocks,' : '';
    return `all: ${amount}${noun} ${METRIC_TEXT[name][0].toLowerCase()}`;
  }

  showMetrics() {
    const {unit, metric} = this.choice;
    byId('metrics').replaceChildren(...this.profile.metricNames().map((name, number) => {
      const totals = this.profile.amounts(number, unit).map((side) => side.total());
      return metricTile(name, totals, unit, number === metric, () => this.choose({metric: number}));
    }));
  }

  showChoices() {
    const {unit, inverted, byName, widths, folded} = this.choice;
    const pressed = {
      'fold': folded,
      'top-down': !inverted, 'inverted': inverted, 'by-size': !byName, 'by-name': byName,
      'bytes': unit === 'bytes', 'blocks': unit === 'blocks',
    };
    for (const name of ['shown', 'before', 'both']) pressed['width-' + name] = widths === name;
    for (const [id, isPressed] of Object.entries(pressed)) {
      byId(id).setAttribute('aria-pressed', String(isPressed));
    }
  }

  showTable() {
    this.table.show({
      profile: this.profile, rows: this.rows(), totals: this.totals,
      unit: this.choice.unit, matches: this.emphasis.found,
    });
  }

  showLegend() {
    byId('flame-legend').replaceChildren(...this.looks.legend());
  }

  showCrumbs(node) {
    const nameOf = (step) => step.depth ? this.profile.name(step.frame >> 1) : 'all';
    showCrumbs(byId('crumbs'), node, nameOf, (step) => this.chart.zoomTo(step));
  }

  // --- Search and highlight ---

  search(text) {
    this.emphasis.search(text);
    this.showMatched();
    this.showTable();
    this.chart.paintSoon();
  }

  pick(number) {
    this.emphasis.pick(number);
    this.table.pick(this.emphasis.picked);
    this.showMatched();
    this.chart.paintSoon();
  }

  showMatched() {
    const {error} = this.emphasis;
    byId('search').setAttribute('aria-invalid', String(Boolean(error)));
    byId('matched').textContent =
        this.emphasis.text(this.sides()[0], this.totals[0].value, this.choice.unit);
  }

  showTooltip(box, event) {
    if (box) this.tooltip.show(box, this.facts, event);
    else this.tooltip.hide();
  }

  // Announces the selected frame, on the screen and to screen readers.
  announce(node) {
    this.tooltip.show({node}, this.facts, this.chart.pointOf(node));
    byId('selected').textContent = this.facts.text(node);
  }

  // Undoes one step: the zoom, or else the highlight.
  back() {
    this.tooltip.hide();
    if (this.chart.back()) return;
    if (this.emphasis.picked >= 0) this.pick(this.emphasis.picked);
  }

  // --- Pictures ---

  svgText() {
    return new SvgPainter(this.chart, this.facts).text();
  }

  saveSvg() {
    download(document.title.replace(/[^\w.-]+/g, '_') + '.svg', this.svgText());
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
    this.chart.paintSoon();
    this.showLegend();
    if (this.timeline) this.timeline.paint();
  }

  // --- Buttons ---

  wire() {
    const actions = {
      'theme': () => this.switchTheme(),
      'link-button': () => showLink(this),
      'svg-button': () => this.saveSvg(),
      'print-button': () => print(),
      'fold': () => this.switchFolding(),
      'help-button': () => byId('help').showModal(),
      'top-down': () => this.choose({inverted: false}),
      'inverted': () => this.choose({inverted: true}),
      'by-size': () => this.choose({byName: false}),
      'by-name': () => this.choose({byName: true}),
      'bytes': () => this.choose({unit: 'bytes'}),
      'blocks': () => this.choose({unit: 'blocks'}),
      'width-shown': () => this.choose({widths: 'shown'}),
      'width-before': () => this.choose({widths: 'before'}),
      'width-both': () => this.choose({widths: 'both'}),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener('click', action);
    addEventListener('hashchange', () => applyFragment(this, location.hash.slice(1)));
    byId('search').addEventListener('input', (event) => this.search(event.target.value));
    byId('flame').addEventListener('blur', () => this.tooltip.hide());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
      if (event.matches !== this.dark) this.switchTheme();
    });
  }
}

// The data is JSON, compressed by gzip, in base64.
async function readData() {
  const text = atob(byId('data').textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unpacked).json();
}

async function start() {
  try {
    globalThis.heapPage = new Page(await readData());  // for the browser's console
    document.documentElement.dataset.readyMillis = Math.round(performance.now());
  } catch (error) {
    byId('about').textContent = 'This page cannot be shown: ' + error.message;
    throw error;
  }
}

start();

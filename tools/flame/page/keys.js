// Handles keys, except those with Ctrl, Alt or Meta, which belong to the browser.

const ARROWS = {ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right'};

class Keys {
  constructor(page) {
    this.page = page;
    document.addEventListener('keydown', (event) => this.press(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const isWriting = event.target === byId('search');
    if (isWriting ? this.inSearch(event.key) : this.onPage(event)) event.preventDefault();
  }

  // Each of the following returns whether it has handled the key.

  inSearch(key) {
    if (key === 'Enter') byId('flame').focus({preventScroll: true});
    if (key !== 'Escape') return key === 'Enter';
    byId('search').value = '';
    this.page.search('');
    byId('search').blur();
    return true;
  }

  onPage({key, target}) {
    const {chart} = this.page, isOnFlame = target === byId('flame');
    if (ARROWS[key] && (isOnFlame || target === document.body)) return this.arrow(ARROWS[key]);
    if (key === 'Enter' && target.tagName !== 'BUTTON' && chart.selected) {
      chart.zoomTo(chart.selected);
      return true;
    }
    if (key === 'Home' && isOnFlame) return this.home();
    return this.letter(key);
  }

  home() {
    this.page.chart.zoomTo(this.page.view.root);
    return true;
  }

  arrow(direction) {
    byId('flame').focus({preventScroll: true});
    this.page.chart.moveSelection(direction);
    return true;
  }

  letter(key) {
    const {page} = this;
    const actions = {
      '/': () => byId('search').select(),
      'i': () => page.choose({inverted: !page.choice.inverted}),
      'l': () => page.choose({byName: !page.choice.byName}),
      'f': () => page.switchFolding(),
      'm': () => page.chooseNextMetric(),
      'b': () => page.chooseOtherUnit(),
      't': () => page.switchTheme(),
      '?': () => byId('help').showModal(),
      'Escape': () => page.back(),
      'Backspace': () => page.back(),
    };
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]();
    return true;
  }
}

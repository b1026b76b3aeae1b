// The look of frames: their colours and labels, and the legend of colours.

class Looks {
  constructor(profile, colors, emphasis) {
    Object.assign(this, {profile, colors, emphasis});
    this.labels = new Map();  // by function
  }

  // `tests` is the number of compared rows.
  setView(view, rootText, tests) {
    Object.assign(this, {view, rootText, tests});
  }

  isInlined(node) {
    return node.depth > 0 && (node.frame & 1) === 1;
  }

  fadesRest() {
    return this.emphasis.set() !== null;
  }

  isFaded(node) {
    const set = this.emphasis.set();
    return set !== null && (node.depth === 0 || !set[node.frame >> 1]);
  }

  // Returns names from the longest to the shortest.
  names(node) {
    if (node.depth === 0) return [this.rootText, 'all'];
    const number = node.frame >> 1;
    if (!this.labels.has(number)) {
      this.labels.set(number, shorterNames(this.profile.name(number)));
    }
    return this.labels.get(number);
  }

  colorOf(node) {
    const number = node.frame >> 1, {found} = this.emphasis;
    if (node.depth === 0) return this.colors.root;
    if (found && found[number]) return this.colors.match;
    if (this.profile.isComparison) return this.changeColor(node);
    return this.colors.ofFunction(number, this.profile.name(number));
  }

  changeColor(node) {
    if (!node.change) node.change = new Change(...this.view.figures(node));
    return this.colors.ofChange(node.change, sureness(node.change, this.tests));
  }

  legend() {
    const entries = this.profile.isComparison ? this.changeLegend() : this.groupLegend();
    const hasInlined = this.profile.frame.some((frame) => frame > 0 && frame & 1);
    return hasInlined ? entries.concat(legendEntry('inlined', 'inlined')) : entries;
  }

  groupLegend() {
    const {colors} = this, {groups} = colors;
    return groups.shown().map((name, rank) => legendEntry(name, '', colors.ofGroup(rank)))
        .concat(legendEntry('others', '', colors.ofGroup(GROUP_COUNT)));
  }

  changeLegend() {
    const entry = (text, share) =>
      legendEntry(text, '', this.colors.ofChange({share, value: share}, 1));
    return [entry('grew', 1), entry('shrank', -1), entry('the same, or what may be chance', 0),
      element('span', 'the paler, the smaller or the less sure')];
  }
}

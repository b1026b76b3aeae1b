// Which functions are emphasized: what is searched for, or the one that was picked in the table.

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

class Emphasis {
  constructor(profile) {
    this.profile = profile;
    this.picked = -1;  // a function's number
    this.search('');
  }

  search(text) {
    const {functionCount} = this.profile, search = searchOf(text);
    this.error = search.error;
    this.found = text && search.finds ? new Uint8Array(functionCount) : null;
    for (let i = 0; this.found && i < functionCount; i++) this.found[i] = this.matches(i, search);
  }

  matches(number, {finds}) {
    return finds(this.profile.name(number)) || finds(this.profile.file(number)) ? 1 : 0;
  }

  // Picks a function, or lets go of it.
  pick(number) {
    this.picked = this.picked === number ? -1 : number;
    this.pickedSet = new Uint8Array(this.profile.functionCount);
    if (this.picked >= 0) this.pickedSet[this.picked] = 1;
  }

  // 1 for each function that is emphasized; null: none is, and nothing fades.
  set() {
    return this.picked >= 0 ? this.pickedSet : this.found;
  }

  // What stacks with these functions amount to.
  text(amounts, total, unit) {
    if (this.error) return this.error;
    const set = this.set();
    if (!set) return '';
    const {value} = totalOfStacksWith(this.profile, amounts, set);
    return `${formatAmount(value, unit)}, ${formatPercent(total ? value / total : 0)}`;
  }
}

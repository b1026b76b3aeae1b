// The emphasized functions: those that a search finds, or the one that was picked in the table.

// Parses a search text.  Returns a function that takes a string, or an error.  /text/ and /text/i
// are regular expressions; other text is found in upper and lower case.
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

  // Picks a function; picking it again removes the pick.
  pick(number) {
    this.picked = this.picked === number ? -1 : number;
    this.pickedSet = new Uint8Array(this.profile.functionCount);
    if (this.picked >= 0) this.pickedSet[this.picked] = 1;
  }

  // Returns 1 for each emphasized function; null if no function is, so that nothing fades.
  set() {
    return this.picked >= 0 ? this.pickedSet : this.found;
  }

  // Returns the total of the stacks with these functions, as text.
  text(amounts, total, unit) {
    if (this.error) return this.error;
    const set = this.set();
    if (!set) return '';
    const {value} = totalOfStacksWith(this.profile, amounts, set);
    return `${formatAmount(value, unit)}, ${formatPercent(total ? value / total : 0)}`;
  }
}

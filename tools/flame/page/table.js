// The table of functions: the same figures as the flame graph, as text.

const FIRST_ROWS = 100;

class Table {
  // `hooks` has picked(function number).
  constructor(table, status, more, isComparison, hooks) {
    Object.assign(this, {table, status, more, isComparison, hooks});
    this.sortBy = isComparison ? 'change' : 'self';
    this.descending = true;
    this.limit = FIRST_ROWS;
    this.picked = -1;
    more.addEventListener('click', () => {
      this.limit = Infinity;
      this.fill();
    });
  }

  // `totals` has a figure for each side.  `matches` has 1 for each function that a search finds, or
  // is null.
  show({profile, rows, totals, unit, matches}) {
    Object.assign(this, {profile, rows, totals, unit, matches});
    for (const row of rows) {
      if (this.isComparison && !row.change) row.change = new Change(row.total[0], row.total[1]);
    }
    this.fillHead();
    this.fill();
  }

  columns() {
    const columns = [
      {key: 'name', text: 'Function', isText: true},
      {key: 'self', text: 'Self', title: 'allocated by the function itself'},
      {key: 'selfShare', text: '', title: 'share of all'},
      {key: 'total', text: 'Total', title: 'with what it called; recursion counts once'},
      {key: 'totalShare', text: '', title: 'share of all'},
    ];
    if (this.isComparison) {
      columns.push({key: 'before', text: 'Total before', title: 'with what it called, before'});
      columns.push({key: 'change', text: 'Change', title: 'of the total'});
      columns.push({key: 'interval', text: 'Change, 95 %', isFixed: true,
          title: 'holds the true change in 95 of 100 comparisons'});
    } else {
      columns.push({key: 'interval', text: 'Total, 95 %', isFixed: true,
          title: 'holds the truth in 95 of 100 recordings'});
    }
    return columns.concat({key: 'place', text: 'Where', isText: true});
  }

  fillHead() {
    const row = element('tr');
    for (const column of this.columns()) row.append(this.headCell(column));
    this.table.tHead.replaceChildren(row);
  }

  headCell(column) {
    const cell = element('th', undefined, column.isText ? '' : 'number');
    cell.scope = 'col';
    if (!column.text || column.isFixed) {
      cell.textContent = column.text || '%';
      cell.title = column.title;
      return cell;
    }
    const isSorted = column.key === this.sortBy;
    const [order, mark] = !isSorted ? ['none', ''] :
        this.descending ? ['descending', ' ▾'] : ['ascending', ' ▴'];
    cell.setAttribute('aria-sort', order);
    const button = element('button', column.text + mark);
    button.title = column.title || '';
    button.addEventListener('click', () => this.sort(column));
    cell.append(button);
    return cell;
  }

  sort(column) {
    this.descending = column.key === this.sortBy ? !this.descending : !column.isText;
    this.sortBy = column.key;
    this.fillHead();
    this.fill();
    this.table.querySelector('[aria-sort$="cending"] button').focus();
  }

  // Returns the value by which rows are compared.
  keyOf(row) {
    switch (this.sortBy) {
      case 'self': return row.self[0].value;
      case 'total': return row.total[0].value;
      case 'before': return row.total[1] ? row.total[1].value : 0;
      case 'change': return row.change ? Math.abs(row.change.value) : 0;
      case 'place': return this.profile.place(row.number, 0);
      default: return this.profile.name(row.number);
    }
  }

  sorted() {
    const {matches} = this;
    const rows = this.rows.filter((row) => !matches || matches[row.number]);
    const keys = new Map(rows.map((row) => [row, this.keyOf(row)]));
    const sign = this.descending ? -1 : 1;
    return rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)) ||
        b.total[0].value - a.total[0].value || a.number - b.number);
  }

  fill() {
    const rows = this.sorted(), shown = rows.slice(0, this.limit);
    this.table.tBodies[0].replaceChildren(...shown.map((row) => this.bodyRow(row)));
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show all ${formatCount(rows.length)} functions`;
    this.status.textContent = this.statusText(rows);
  }

  statusText(rows) {
    if (rows.length === 0) return 'Nothing of this is here.';
    const noise = rows.filter((row) => !this.isSure(row)).length;
    const reason = this.isComparison ? 'changed no more than chance may' : 'of too few samples';
    return `${formatCount(rows.length)} functions` + (this.matches ? ' found' : '') +
        (noise ? `, ${formatCount(noise)} of them grey: ${reason}` : '');
  }

  isSure(row) {
    if (!this.isComparison) return row.total[0].isSure();
    return sureness(row.change, this.rows.length) >= 1;
  }

  bodyRow(row) {
    const made = element('tr');
    made.dataset.function = row.number;
    if (!this.isSure(row)) made.className = 'noise';
    if (row.number === this.picked) made.setAttribute('aria-selected', 'true');
    made.append(this.nameCell(row), ...this.numberCells(row), this.placeCell(row));
    made.addEventListener('click', () => this.hooks.picked(row.number));
    return made;
  }

  nameCell({number}) {
    const cell = element('th');
    cell.scope = 'row';
    const button = element('button', tidyName(this.profile.name(number)), 'name');
    button.title = this.profile.name(number);
    cell.append(button);
    return cell;
  }

  numberCells(row) {
    const {unit} = this, all = this.totals[0].value || 1;
    const cells = [this.number(formatAmount(row.self[0].value, unit)),
      this.share(row.self[0].value / all),
      this.number(formatAmount(row.total[0].value, unit)),
      this.share(row.total[0].value / all)];
    if (!this.isComparison) return cells.concat(this.intervalCell(row.total[0]));
    const {change} = row;
    return cells.concat(this.number(formatAmount(row.total[1].value, unit)),
        this.number(formatChange(change.value, unit), change.value > 0 ? 'grown' : 'shrunk'),
        this.number(formatChangeRange(change, unit) || (change.hasIntervals ? 'exact' : '')));
  }

  intervalCell(figure) {
    if (!figure.hasIntervals) return this.number('');
    return this.number(figure.isExact() ? 'exact' : formatRange(...figure.interval(), this.unit));
  }

  number(text, className = '') {
    return element('td', text, 'number ' + className);
  }

  share(share) {
    const cell = this.number(formatPercent(share), 'share');
    cell.style.setProperty('--share', Math.min(100, 100 * share) + '%');
    return cell;
  }

  placeCell({number}) {
    const place = this.profile.place(number, 0) || this.profile.module(number);
    const cell = element('td', basename(place), 'place');
    cell.title = place;
    return cell;
  }

  pick(number) {
    this.picked = number;
    for (const row of this.table.tBodies[0].rows) {
      if (Number(row.dataset.function) === number) row.setAttribute('aria-selected', 'true');
      else row.removeAttribute('aria-selected');
    }
  }
}

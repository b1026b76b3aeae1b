// The part above the pictures: the program, a tile for each metric, and notes.

const METRIC_TEXT = {
  'alloc': ['Allocated', 'all that was allocated'],
  'peak': ['Peak', 'what was live when most was'],
  'live': ['Live', 'what had not been freed at the end'],
  'born': ['Born, and live', 'what is live at the end of what was allocated in the span of time'],
  'temporary': ['Temporary', 'freed after less than 64 KiB of further allocation by its thread'],
  'promoted': ['Promoted', 'managed: left the nursery alive'],
  'died-young': ['Died young', 'managed: died in the nursery'],
  'unused': ['Not used', 'bytes of live blocks that were never touched, or are zero at their ends'],
  'hostage': ['Held in pages', 'free bytes of pages, by the live blocks that keep them there'],
};

function aboutText({shown, before}) {
  const others = before.map((profile) => profile.file).join(' + ');
  return shown.map(profileText).join(' + ') + (others ? ' — compared with ' + others : '');
}

function profileText({file, command, pid, startMillis, seconds, rate}) {
  const parts = [command || file];
  if (pid) parts.push('process ' + pid);
  if (startMillis > 0) parts.push(new Date(startMillis).toLocaleString());
  if (seconds > 0) parts.push(formatSeconds(seconds));
  if (rate >= 1) parts.push('every block');
  else if (rate > 0) parts.push('a sample about every ' + formatBytes(8 / rate));
  return parts.join(', ');
}

function noteTexts({shown, before}) {
  const profiles = shown.concat(before);
  const notes = profiles.flatMap(notesOf);
  if (shown.length > 1 || profiles.some((profile) => profile.isSum)) {
    notes.push('This is a sum over processes. Their peaks were not at one time.');
  }
  if (profiles.some((profile) => !(profile.rate > 0))) {
    notes.push('The rate of sampling is not known, so amounts have no intervals.');
  }
  return notes;
}

function notesOf({file, missing, notes}) {
  return (missing ? [missing] : []).concat(notes).map((note) => file + ': ' + note);
}

// Makes a tile, which shows the total of a metric, and chooses the metric.  `totals` has a figure
// for each side.
function metricTile(name, totals, unit, isChosen, choose) {
  const [text, title] = METRIC_TEXT[name];
  const tile = element('button', undefined, 'metric');
  tile.setAttribute('role', 'radio');
  tile.setAttribute('aria-checked', String(isChosen));
  tile.dataset.metric = name;
  tile.title = title;
  tile.append(element('span', text, 'metric-name'),
      element('span', formatAmount(totals[0].value, unit), 'metric-value'),
      element('span', tileDetail(totals, unit), 'metric-detail'));
  tile.addEventListener('click', choose);
  return tile;
}

function tileDetail([shown, before], unit) {
  if (!before) return formatSpread(shown, unit) || unit;
  return formatChange(new Change(shown, before).value, unit) + ' since ' +
      formatAmount(before.value, unit);
}

// Makes an entry of a legend: a key and its meaning.
function legendEntry(text, className, color = '') {
  const made = element('span'), key = element('i', '', 'key ' + className);
  key.style.background = color;
  made.append(key, text);
  return made;
}

function timelineLegend(shown, before, isOneOfSeveral) {
  const entries = [legendEntry('live (left)', 'live'),
    legendEntry('allocated (right)', 'allocated'), legendEntry('peak', 'peak')];
  if (shown.hasResident) entries.splice(1, 0, legendEntry('rest of RSS (left)', 'rest'));
  if (before) entries.push(element('span', 'dashed: before'));
  if (isOneOfSeveral) entries.push(element('span', 'of ' + shown.profile.file));
  return entries;
}

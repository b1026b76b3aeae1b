// The choices and the zoomed frame as a fragment of the page's address, for a link that shows them
// to somebody else.  Frames are hashes of their names, which are the same in a later page.

function frameHash(profile, frame) {
  return (hashOf(profile.name(frame >> 1)) * 2 + (frame & 1)).toString(36);
}

// Returns the fragment without its sign.
function fragmentOf(page) {
  const {metric, unit, inverted, byName, widths, folded} = page.choice, {profile} = page;
  const link = new URLSearchParams();
  const isBorn = metric === profile.bornMetric;  // of a span, which a link does not have
  link.set('metric', profile.metricNames()[isBorn ? page.metricBefore : metric]);
  if (unit !== 'bytes') link.set('unit', unit);
  if (inverted) link.set('view', 'callers');
  if (byName) link.set('order', 'name');
  if (widths !== 'shown') link.set('widths', widths);
  if (page.foldedProfile && !folded) link.set('std', 'shown');
  if (byId('search').value) link.set('search', byId('search').value);
  const path = page.chart.focus.path().slice(1);
  if (path.length) link.set('zoom', path.map((node) => frameHash(profile, node.frame)).join('.'));
  return link.toString();
}

// Shows what a fragment says.  What the page does not have stays as it is.
function applyFragment(page, text) {
  const link = new URLSearchParams(text);
  if (![...link.keys()].length) return;
  const metric = page.profile.metricNames().indexOf(link.get('metric'));
  page.choose({
    metric: metric >= 0 ? metric : page.choice.metric,
    unit: link.get('unit') === 'blocks' && page.data.hasBlocks ? 'blocks' : 'bytes',
    inverted: link.get('view') === 'callers',
    byName: link.get('order') === 'name',
    widths: page.profile.isComparison && ['before', 'both'].includes(link.get('widths')) ?
        link.get('widths') : 'shown',
    folded: link.get('std') !== 'shown',
  });
  byId('search').value = link.get('search') || '';
  page.search(byId('search').value);
  let node = page.view.root;
  for (const hash of (link.get('zoom') || '').split('.').filter(Boolean)) {
    const child = page.view.childrenOf(node)
        .find(({frame}) => frameHash(page.profile, frame) === hash);
    if (!child) break;
    node = child;
  }
  if (node !== page.view.root) page.chart.zoomTo(node);
}

// Puts the link into the address, shows it, and copies it where the browser allows that.
async function showLink(page) {
  history.replaceState(null, '', '#' + fragmentOf(page));
  const field = byId('link-text');
  field.value = location.href;
  byId('link-state').textContent = '';
  byId('link').showModal();
  field.select();
  try {
    await navigator.clipboard.writeText(location.href);
    byId('link-state').textContent = 'Copied.';
  } catch {
    byId('link-state').textContent = 'Copy it with Ctrl and C.';
  }
}

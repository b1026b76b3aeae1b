// The path from the root to the zoomed frame, as buttons.

const MOST_CRUMBS = 8;

function showCrumbs(nav, node, nameOf, zoomTo) {
  const crumbs = node.path().map((step) => {
    const crumb = element('button', withoutArguments(nameOf(step)));
    crumb.title = nameOf(step);
    if (step === node) crumb.setAttribute('aria-current', 'true');
    crumb.addEventListener('click', () => zoomTo(step));
    return crumb;
  });
  nav.replaceChildren(...abridged(crumbs));
}

// Cuts a long path in its middle.
function abridged(crumbs) {
  if (crumbs.length <= MOST_CRUMBS) return crumbs;
  const left = element('span', `… ${crumbs.length - MOST_CRUMBS + 1} more …`);
  return [crumbs[0], left, ...crumbs.slice(1 - MOST_CRUMBS)];
}

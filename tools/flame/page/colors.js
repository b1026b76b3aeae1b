// Colours of frames: by the owner of the code, or by the change.

// Hues of groups, the largest group first.  Neighbours in the list are far apart.
const GROUP_HUES = [55, 245, 155, 350, 290, 100, 205, 20, 130, 320, 270, 75];
const GROUP_COUNT = GROUP_HUES.length;
const OTHERS_HUE = 260;

function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

// Orders groups by the first metric of the profile, so that colours stay when another metric is
// chosen.
class Groups {
  constructor(profile) {
    this.names = Array.from({length: profile.functionCount},
        (_, number) => groupOf(profile.name(number), profile.module(number)));
    const sizes = this.sizes(profile);
    this.ranking = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a));
    this.rank = new Map(this.ranking.map((name, i) => [name, i]));
  }

  // Returns the area of each group in the picture.
  sizes(profile) {
    const sizes = new Map(this.names.map((name) => [name, 0]));
    const weigh = (node, amount) => {
      const name = this.names[profile.frame[node] >> 1];
      sizes.set(name, sizes.get(name) + amount);
    };
    for (const side of profile.amounts(0, 'bytes')) {
      for (let node = 1; node < profile.count; node++) weigh(node, side.all.value[node]);
    }
    return sizes;
  }

  // Returns the groups in the legend.
  shown() {
    return this.ranking.slice(0, GROUP_COUNT).filter((name) => name);
  }

  rankOf(number) {
    return this.rank.get(this.names[number]);
  }
}

class Colors {
  constructor(groups) {
    this.groups = groups;
    this.cache = new Map();
  }

  setTheme(dark) {
    this.dark = dark;
    this.cache.clear();
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.text = color('--text');
    this.soft = color('--soft');
    this.line = color('--line');
    this.background = color('--panel');
    this.frameText = color('--frame-text');
    this.rest = color('--rest');
    this.root = color('--root');
    this.match = color('--match');
    this.accent = color('--accent');
    this.live = color('--live');
    this.allocated = color('--allocated');
    this.peak = color('--peak');
    this.rest = color('--rest');
    this.inlined = color('--inlined');
  }

  // Colours of one lightness look equally light, whatever their hue.
  color(lightness, chroma, hue) {
    return `oklch(${lightness} ${chroma} ${hue})`;
  }

  ofGroup(rank, shade = 0.5) {
    const isOther = !(rank < GROUP_COUNT);
    const lightness = (this.dark ? 0.46 : 0.85) + 0.05 * (shade - 0.5);
    if (isOther) return this.color(lightness, 0.012, OTHERS_HUE);
    return this.color(lightness, this.dark ? 0.075 : 0.085, GROUP_HUES[rank] + 10 * (shade - 0.5));
  }

  // Colours of functions in one group differ a little.
  ofFunction(number, name) {
    if (!this.cache.has(number)) {
      const shade = hashOf(name) % 1000 / 1000;
      this.cache.set(number, this.ofGroup(this.groups.rankOf(number), shade));
    }
    return this.cache.get(number);
  }

  // Growth is red and shrinkage is blue.  The colour is stronger for larger and for surer changes.
  ofChange(change, sure) {
    const strength = Math.sqrt(Math.abs(change.share)) * sure;
    const hue = change.value > 0 ? 27 : 255;
    if (this.dark) return this.color(0.38 + 0.14 * strength, 0.005 + 0.14 * strength, hue);
    return this.color(0.92 - 0.2 * strength, 0.004 + 0.155 * strength, hue);
  }
}

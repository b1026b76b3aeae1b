// The precision of amounts, by the formulas of IntervalOf() and IsSure() in tools/heap/interval.h.

const SIGMAS_95 = 1.959963985;
const ENOUGH_SAMPLES = 10;

// The truths within SIGMAS_95 standard deviations of the value.  The deviation is that of the truth:
// its square is variance + (truth - value) slope.
function scoreInterval(value, variance, slope) {
  const quarter = SIGMAS_95 * slope / 2;
  const middle = value + SIGMAS_95 * quarter;
  const half = SIGMAS_95 * Math.sqrt(Math.max(variance, 0) + quarter * quarter);
  return [Math.max(middle - half, 0), middle + half];
}

// A sum of estimates: its value, the second and third cumulants of it, and the most that one sample
// stands for, also one that was not drawn.
class Figure {
  constructor(value = 0, variance = 0, third = 0, most = 0) {
    this.value = value;
    this.variance = variance;
    this.third = third;
    this.most = most;
    this.hasIntervals = true;  // false: how precise it is, is not known
  }

  add(value, variance, third = 0, most = 0) {
    this.value += value;
    this.variance += variance;
    this.third += third;
    this.most = Math.max(this.most, most);
  }

  // Returns Wilson's score interval at 95 %.
  interval() {
    const {value, variance, third, most} = this;
    const slope = variance > 0 ? third / variance : 0;
    const high = scoreInterval(value, variance, Math.max(slope, most))[1];
    return [variance > 0 ? scoreInterval(value, variance, slope)[0] : value, high];
  }

  isExact() {
    return this.hasIntervals && this.variance <= 0 && this.most <= 0;
  }

  // False if the amount may be a few blocks seen by chance: it is known less precisely than by ten
  // samples of small blocks.
  isSure() {
    return this.value ** 2 >= ENOUGH_SAMPLES * this.variance;
  }
}

// The change of a figure between two sides.
class Change {
  constructor(shown, before) {
    this.value = shown.value - before.value;
    this.deviation = Math.sqrt(shown.variance + before.variance);
    this.hasIntervals = shown.hasIntervals && before.hasIntervals;
    const larger = Math.max(shown.value, before.value);
    this.share = larger > 0 ? this.value / larger : 0;  // share of the larger side, from -1 to 1
  }

  interval() {
    const half = SIGMAS_95 * this.deviation;
    return [this.value - half, this.value + half];
  }

  // Returns the change in standard deviations.
  sigmas() {
    if (this.value === 0) return 0;
    return this.deviation > 0 ? Math.abs(this.value) / this.deviation : Infinity;
  }
}

// Returns the interval of a change; '' if there is none.
function formatChangeRange(change, unit) {
  if (!change.hasIntervals || !(change.deviation > 0)) return '';
  return formatRange(...change.interval(), unit, '+');
}

// Returns the standard deviations that no change among `tests` equal pairs exceeds in 95 of 100
// comparisons.  The tail of the normal distribution is at most exp(-z^2/2) / 2.
function sigmasOfNone(tests) {
  return Math.sqrt(2 * Math.log(Math.max(1, tests) / 0.05));
}

// Returns 0 if the change may be chance, and 1 if it is sure even though `tests` rows are compared.
function sureness(change, tests) {
  const least = SIGMAS_95, most = Math.max(sigmasOfNone(tests), least + 1);
  return Math.min(1, Math.max(0, (change.sigmas() - least) / (most - least)));
}

// Returns "±3.2 %", or the interval if its sides are too different; '' if there is none.
function formatSpread(figure, unit) {
  if (!figure.hasIntervals || figure.isExact()) return '';
  const [low, high] = figure.interval();
  const half = (high - low) / 2 / figure.value;
  if (half < 0.1) return '±' + formatPercent(half);
  return formatRange(low, high, unit);
}

// The points of a timeline, and sums over spans of it.

// Seconds, allocated, live, most live since the point before, and resident: 0 if it is not known.
const POINT_FIELDS = 5;

class Series {
  constructor(profile) {
    this.profile = profile;
    const numbers = profile.timeline;
    this.points = [];
    for (let i = 0; i + POINT_FIELDS <= numbers.length; i += POINT_FIELDS) {
      const [seconds, allocated, live, most, resident] = numbers.slice(i, i + POINT_FIELDS);
      this.points.push({seconds, allocated, live, most, resident});
    }
  }

  most(field) {
    return this.points.reduce((most, point) => Math.max(most, point[field]), 0);
  }

  get hasResident() {
    return this.points.some((point) => point.resident > 0);
  }

  get seconds() {
    return this.points.length ? this.points[this.points.length - 1].seconds : 0;
  }

  // Returns the last point that is not later.
  at(seconds) {
    let low = 0, high = this.points.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle].seconds <= seconds) low = middle; else high = middle;
    }
    return this.points[low];
  }

  between(from, to) {
    return this.points.filter((point) => point.seconds > from && point.seconds <= to);
  }

  // Returns the facts about a span.
  summary(from, to) {
    const first = this.at(from), last = this.at(to);
    const most = this.between(from, to).reduce(
        (largest, point) => Math.max(largest, point.most), Math.max(first.live, last.live));
    return {allocated: last.allocated - first.allocated, first, last, most};
  }

  peak() {
    const most = this.most('most');
    const found = this.points.find((point) => point.most === most);
    return {seconds: this.profile.peakSeconds || (found ? found.seconds : 0), most};
  }
}

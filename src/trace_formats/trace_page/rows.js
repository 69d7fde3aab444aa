// Rows of the time line. A row has the spans of one level of a thread's lane. These do not overlap, so binary search
// finds the spans at a time, and the total time of consecutive spans is the difference of two sums.

function timelineRows(trace) {
  const rows = [];
  for (const thread of trace.threads) {
    const lanes = [];
    for (let i = thread.first; i < thread.end; ++i) (lanes[trace.lane[i]] ??= []).push(i);
    thread.rows = lanes.flatMap(spans => levels(trace, spans)).map(spans => new Row(trace, spans));
    rows.push(...thread.rows);
  }
  return rows;
}

// Returns the spans of a lane by level. The depth of a span is not its level, because spans around it may be in another
// lane.
function levels(trace, spans) {
  const {begin, behind} = trace;
  const isBefore = (a, b) => begin[a] - begin[b] || trace.end(b) - trace.end(a) || a - b;
  if (spans.some((span, i) => i && isBefore(spans[i - 1], span) > 0)) spans.sort(isBefore);
  const found = [], open = [];
  for (const span of spans) {
    const isWithin = outer => trace.end(outer) > begin[span] || (outer < span && span < behind[outer]);
    while (open.length && !isWithin(open[open.length - 1])) open.pop();
    (found[open.length] ??= []).push(span);
    open.push(span);
  }
  return found;
}

class Row {
  constructor(trace, spans) {
    this.trace = trace;
    this.spans = Uint32Array.from(spans);
    this.busy = new Float64Array(spans.length + 1);  // time of the spans before each place
    for (let k = 0; k < spans.length; ++k) this.busy[k + 1] = this.busy[k] + trace.duration[spans[k]];
    this.hits = null;  // number of found spans before each place; null: no search
  }

  find(labels) {  // a byte for each label, or null
    if (!labels) { this.hits = null; return; }
    this.hits ??= new Uint32Array(this.spans.length + 1);
    for (let k = 0; k < this.spans.length; ++k)
      this.hits[k + 1] = this.hits[k] + labels[this.trace.label[this.spans[k]]];
  }

  // Returns the first place, from `from` on, whose span begins at the time or later.
  placeAt(time, from = 0) {
    const {begin} = this.trace;
    let low = from, high = this.spans.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (begin[this.spans[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  // Returns the first place whose span ends after the time.
  placeOver(time) {
    const place = this.placeAt(time);
    return place > 0 && this.trace.end(this.spans[place - 1]) > time ? place - 1 : place;
  }

  // Visits the spans between two times. Calls box(span, place) for each span of at least `least` ns. Calls
  // dense(first place, place after the last, time) for shorter spans that begin within one pixel of `pixel` ns.
  visit(from, to, pixel, least, box, dense) {
    const {begin, duration} = this.trace;
    for (let k = this.placeOver(from); k < this.spans.length && begin[this.spans[k]] < to;) {
      const span = this.spans[k];
      if (duration[span] >= least) { box(span, k); ++k; continue; }
      const start = from + Math.floor((begin[span] - from) / pixel) * pixel;
      let behind = Math.max(this.placeAt(start + pixel, k + 1), k + 1);
      if (behind > k + 1 && duration[this.spans[behind - 1]] >= least) --behind;  // only the last one may be long
      dense(k, behind, start);
      k = behind;
    }
  }
}

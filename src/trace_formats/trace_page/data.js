// Unpacks the trace in the page into columns of numbers. trace_formats/html_view.cc writes the trace.
'use strict';

const kKinds = ['call', 'run', 'range', 'step', 'mark', 'alloc', 'free', 'task', 'bind', 'device'];  // EventKind

async function unpacked(base64) {
  if (typeof DecompressionStream === 'undefined')
    throw Error('this browser has no DecompressionStream, which unpacks the trace; Chrome 80, Firefox 113 and ' +
                'Safari 16.4 and later ones have it');
  const text = atob(base64.trim()), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads numbers that have 7 bits in each byte, lowest bits first. They are exact up to 2^53.
class Numbers {
  constructor(bytes, at) { this.bytes = bytes; this.at = at; }
  next() {
    let byte = this.bytes[this.at++];
    let number = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = this.bytes[this.at++];
      number += (byte & 127) * scale;
    }
    return number;
  }
  nextSigned() {
    const number = this.next();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }
  column(Type, count) {
    const made = new Type(count);
    for (let i = 0; i < count; ++i) made[i] = this.next();
    return made;
  }
}

// Spans are numbered thread by thread. On a thread, each span comes before the spans within it. Times are in ns from
// the start of the first span.
class Trace {
  constructor(bytes) {
    const line = bytes.indexOf(10);
    Object.assign(this, JSON.parse(new TextDecoder().decode(bytes.subarray(0, line))));
    this.count = this.threads.reduce((sum, thread) => sum + thread.spans, 0);
    const numbers = new Numbers(bytes, line + 1);
    this.label = numbers.column(Uint32Array, this.count);
    this.begin = new Float64Array(this.count);
    let first = 0;
    for (const thread of this.threads) {
      thread.first = first;
      for (let i = first, last = 0; i < first + thread.spans; ++i) this.begin[i] = last += numbers.nextSigned();
      first = thread.end = first + thread.spans;
    }
    this.duration = numbers.column(Float64Array, this.count);
    this.self = numbers.column(Float64Array, this.count);  // first read: the time of nested spans
    for (let i = 0; i < this.count; ++i) this.self[i] = this.duration[i] - this.self[i];
    this.depth = numbers.column(Uint32Array, this.count);
    this.lane = numbers.column(Uint32Array, this.count);
    this.open = new Uint8Array(this.count);
    for (let i = 0; i < this.count; ++i) { this.open[i] = this.lane[i] & 1; this.lane[i] >>>= 1; }
    this.shape = numbers.column(Uint32Array, this.count);  // 0: none
    this.stack = numbers.column(Uint32Array, this.count);  // likewise
    this.errors = new Map(this.errors);
    this.labels = this.labels.map(([name, kind, joined, task]) => ({name, kind, joined: joined ?? name, task}));
    this.length = 0;
    for (let i = 0; i < this.count; ++i) this.length = Math.max(this.length, this.begin[i] + this.duration[i]);
    this.nest();
    this.returnTimeOfTasks();
  }

  // Sets for each span: `parent`, the span around it, or -1; `behind`, the number after the last span within it.
  nest() {
    this.parent = new Int32Array(this.count).fill(-1);
    this.behind = new Uint32Array(this.count);
    for (const thread of this.threads) {
      const open = [];
      for (let i = thread.first; i < thread.end; ++i) {
        while (open.length > this.depth[i]) this.behind[open.pop()] = i;
        if (open.length) this.parent[i] = open[open.length - 1];
        open.push(i);
      }
      for (const i of open) this.behind[i] = thread.end;
    }
  }

  // The operator that launched a loop has the loop's time. So the self time of a task on the operator's thread is added
  // to the operator, and tasks have no self time.
  returnTimeOfTasks() {
    for (let i = this.count; i-- > 0;) {  // a task comes before the spans within it
      if (!this.isTask(i)) continue;
      if (this.parent[i] >= 0) this.self[this.parent[i]] += this.self[i];
      this.self[i] = 0;
    }
  }

  name(i) { return this.labels[this.label[i]].name; }
  kind(i) { return this.labels[this.label[i]].kind; }
  isMark(i) { return kKinds[this.kind(i)] === 'mark'; }
  isTask(i) { return kKinds[this.kind(i)] === 'task'; }
  isDevice(i) { return kKinds[this.kind(i)] === 'device'; }
  end(i) { return this.begin[i] + this.duration[i]; }
  threadOf(i) { return this.threads.find(thread => i < thread.end); }
}

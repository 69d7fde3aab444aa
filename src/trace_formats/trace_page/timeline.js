// The time line: a canvas with the visible part of each row. Spans narrower than a pixel are drawn together, so the
// boxes of a frame are at most as many as its pixels, even if there are more spans.

const kAxis = 24, kHead = 20, kRow = 17, kText = 11;

class Timeline {
  constructor(trace, canvas, {select, hover}) {
    this.trace = trace;
    this.canvas = canvas;
    this.pen = canvas.getContext('2d');
    this.select = select;
    this.hover = hover;
    this.rows = timelineRows(trace);
    this.selected = -1;
    this.labels = null;  // a byte for each label: 1 if the search finds it; null: no search
    this.top = 0;        // pixels scrolled down
    this.reset();
    new ResizeObserver(() => this.resize()).observe(canvas.parentNode);
    matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => this.redraw());
    this.listen();
    this.fit();
  }

  // ---- the visible part

  reset() { this.show(0, Math.max(this.trace.length, 1)); }
  show(from, to) {
    const whole = Math.max(this.trace.length, 1);
    const length = Math.min(Math.max(to - from, 20), whole * 1.02);
    const margin = whole * 0.01;
    this.from = Math.min(Math.max(from, -margin), whole + margin - length);
    this.to = this.from + length;
    this.redraw();
  }
  get perPixel() { return (this.to - this.from) / this.width; }
  timeAt(x) { return this.from + x * this.perPixel; }
  zoom(factor, x = this.width / 2) {  // the time at x stays where it is
    const time = this.timeAt(x), length = (this.to - this.from) * factor;
    this.show(time - length * x / this.width, time + length * (1 - x / this.width));
  }
  move(x, y) {
    this.top += y;
    this.show(this.from + x * this.perPixel, this.to + x * this.perPixel);
  }
  zoomTo(span) {
    const {begin, duration} = this.trace, margin = Math.max(duration[span] * 0.1, 10);
    this.show(begin[span] - margin, begin[span] + duration[span] + margin);
    this.reveal(span);
  }
  // Scrolls until the span is visible. Zooms only if the span would be narrower than a few pixels.
  reveal(span) {
    const {begin, duration} = this.trace;
    const length = this.to - this.from, middle = begin[span] + duration[span] / 2;
    if (duration[span] < 4 * this.perPixel) {
      const shorter = Math.min(length, Math.max(duration[span] * 50, 1000));
      this.show(middle - shorter / 2, middle + shorter / 2);
    } else if (begin[span] > this.to || begin[span] + duration[span] < this.from) {
      this.show(middle - length / 2, middle + length / 2);
    }
    for (const {y, row} of this.layout()) {
      const k = row ? row.placeOver(begin[span] - 0.5) : 0;
      if (!row || !row.spans.subarray(Math.max(k - 1, 0), k + 3).includes(span)) continue;
      if (y < this.top) this.top = y - kHead;
      if (y + kRow > this.top + this.height - kAxis) this.top = y + kRow - this.height + kAxis;
    }
    this.redraw();
  }

  // Yields the heads of threads and their rows, from the top, with their positions in pixels.
  *layout() {
    let y = 0;
    for (const thread of this.trace.threads) {
      yield {y, thread};
      y += kHead;
      if (!thread.isFolded)
        for (const row of thread.rows) { yield {y, thread, row}; y += kRow; }
      y += 4;
    }
    this.content = y;
  }

  // ---- drawing

  fit() {  // the panel below gets the room below the last row
    for (const item of this.layout()) ;  // counts the content's height
    this.canvas.parentNode.style.maxHeight = Math.max(160, kAxis + this.content + 2) + 'px';
    this.resize();
  }
  resize() {
    const {clientWidth, clientHeight} = this.canvas.parentNode, ratio = window.devicePixelRatio || 1;
    this.width = Math.max(clientWidth, 1);
    this.height = Math.max(clientHeight, 1);
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();  // at once: the canvas is empty now
  }
  redraw() {
    this.pending ??= requestAnimationFrame(() => { this.pending = undefined; this.draw(); });
  }
  draw() {
    const style = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(['page', 'text', 'soft', 'line', 'row', 'mark', 'hit', 'warn', 'box-s', 'box-l']
      .map(name => [name, style.getPropertyValue('--' + name).trim()]));
    const pen = this.pen, items = [...this.layout()];
    this.top = Math.max(0, Math.min(this.top, this.content - (this.height - kAxis)));
    pen.font = kText + 'px ui-monospace,monospace';
    pen.textBaseline = 'middle';
    this.digit = pen.measureText('0').width;
    pen.fillStyle = this.colours.page;
    pen.fillRect(0, 0, this.width, this.height);
    this.drawGrid();
    for (const {y, thread, row} of items) {
      const at = y - this.top + kAxis;
      if (at + kHead < kAxis || at > this.height) continue;
      if (row) this.drawRow(row, at);
      else this.drawHead(thread, at);
    }
    this.drawAxis();
  }

  // Yields the axis's marks: at multiples of 1, 2 or 5 times a power of ten, about 120 pixels apart.
  *ticks() {
    const wanted = this.perPixel * 120, power = 10 ** Math.floor(Math.log10(wanted));
    const step = Math.max(1, [1, 2, 5, 10].find(factor => factor * power >= wanted) * power);
    const [unit, size] = unitOf(Math.max(Math.abs(this.from), Math.abs(this.to)));
    const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step)
      yield [(time - this.from) / this.perPixel, `${(time / size).toFixed(decimals)} ${unit}`];
  }
  drawGrid() {
    this.pen.fillStyle = this.colours.line;
    for (const [x] of this.ticks()) this.pen.fillRect(Math.round(x), kAxis, 1, this.height);
  }
  drawAxis() {
    const pen = this.pen;
    pen.fillStyle = this.colours.row;
    pen.fillRect(0, 0, this.width, kAxis - 2);
    pen.fillStyle = this.colours.soft;
    for (const [x, text] of this.ticks()) {
      pen.fillRect(Math.round(x), kAxis - 8, 1, 6);
      if (x + 4 + pen.measureText(text).width <= this.width) pen.fillText(text, x + 4, kAxis / 2 - 1);
    }
  }
  drawHead(thread, y) {
    const pen = this.pen, fold = thread.isFolded ? '▸' : '▾';
    pen.fillStyle = this.colours.row;
    pen.fillRect(0, y, this.width, kHead - 2);
    pen.fillStyle = this.colours.text;
    const text = `${fold} ${threadText(this.trace, thread)}, ${countText(thread.spans, 'span')}`;
    pen.fillText(text, 6, y + kHead / 2);
    if (!thread.dropped) return;
    pen.fillStyle = this.colours.warn;
    pen.fillText(`${countText(thread.dropped)} dropped`, 20 + pen.measureText(text).width, y + kHead / 2);
  }

  drawRow(row, y) {
    const {trace, pen, perPixel, from, colours} = this, height = kRow - 1;
    const hue = span => `hsl(${hueOf(trace.labels[trace.label[span]].joined)} ${colours['box-s']} ${colours['box-l']})`;
    row.visit(from, this.to, perPixel, 1.5 * perPixel, (span, k) => {
      const left = (trace.begin[span] - from) / perPixel, right = left + trace.duration[span] / perPixel;
      const x = Math.max(left, -1), width = Math.min(right, this.width + 1) - x;
      const isHit = row.hits && row.hits[k + 1] > row.hits[k];
      pen.globalAlpha = row.hits && !isHit ? 0.3 : 1;
      pen.fillStyle = hue(span);
      pen.fillRect(x, y, Math.max(width - (width > 3 ? 0.5 : 0), 0.75), height);
      if (isHit) { pen.fillStyle = colours.hit; pen.fillRect(x, y + height - 2, Math.max(width, 1), 2); }
      if (trace.open[span]) this.drawOpenEnd(right, y, height);
      if (width > 24) this.drawName(shown(trace.name(span)), Math.max(x, 0) + 3, y, Math.min(right, this.width) - Math.max(x, 0) - 6);
      if (span === this.selected) this.frame(x, y, width, height);
      pen.globalAlpha = 1;
    }, (k, behind, start) => {
      const x = Math.round((start - from) / perPixel), hits = row.hits ? row.hits[behind] - row.hits[k] : 0;
      const share = (row.busy[behind] - row.busy[k]) / perPixel;
      const isMark = behind === k + 1 && trace.isMark(row.spans[k]);
      pen.globalAlpha = row.hits && !hits ? 0.2 : isMark ? 1 : Math.min(1, 0.35 + 0.65 * share);
      pen.fillStyle = hits ? colours.hit : isMark ? colours.mark : hue(row.spans[k]);
      if (isMark) this.drawMark((trace.begin[row.spans[k]] - from) / perPixel, y, height);
      else pen.fillRect(x, y, 1, height);
      pen.globalAlpha = 1;
      if (this.selected >= row.spans[k] && row.spans.subarray(k, behind).includes(this.selected)) this.frame(x - 1, y, 3, height);
    });
  }
  drawName(name, x, y, room) {
    const most = Math.floor(room / this.digit);
    if (most < 2) return;
    this.pen.fillStyle = this.colours.text;
    const text = name.length <= most ? name : name.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '') + '…';
    this.pen.fillText(text, x, y + kRow / 2, room);
  }
  drawMark(x, y, height) {
    const pen = this.pen;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + 4, y + height / 2);
    pen.lineTo(x, y + height);
    pen.lineTo(x - 4, y + height / 2);
    pen.fill();
  }
  drawOpenEnd(x, y, height) {  // the span continues after the end of the recording
    this.pen.fillStyle = this.colours.warn;
    this.pen.fillRect(x - 3, y, 3, height);
  }
  frame(x, y, width, height) {
    this.pen.globalAlpha = 1;
    this.pen.strokeStyle = this.colours.text;
    this.pen.lineWidth = 2;
    this.pen.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
  }

  // ---- input of the user

  // Returns the span at a position of the canvas; -1: none. If several are within two pixels, returns the longest.
  spanAt(x, y) {
    const {trace} = this;
    for (const item of this.layout()) {
      const at = item.y - this.top + kAxis;
      if (!item.row || y < kAxis || y < at || y >= at + kRow) continue;
      const from = this.timeAt(x - 2), to = this.timeAt(x + 2), exact = this.timeAt(x), row = item.row;
      const under = row.spans[row.placeOver(exact)];
      if (under !== undefined && trace.begin[under] <= exact) return under;
      let best = -1;
      const first = row.placeAt(from), behind = Math.min(row.placeAt(to), first + 10000);
      for (let k = first; k < behind; ++k)
        if (best < 0 || trace.duration[row.spans[k]] > trace.duration[best]) best = row.spans[k];
      return best;
    }
    return -1;
  }
  headAt(y) {
    for (const {y: top, thread, row} of this.layout()) {
      const at = top - this.top + kAxis;
      if (!row && y >= kAxis && y >= at && y < at + kHead) return thread;
    }
    return undefined;
  }
  find(labels) {
    this.labels = labels;
    for (const row of this.rows) row.find(labels);
    this.redraw();
  }

  listen() {
    const {canvas} = this;
    let last = null, hasMoved = false;
    canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      last = event;
      hasMoved = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      if (!last) { this.hover(this.spanAt(event.offsetX, event.offsetY), event); return; }
      const x = last.offsetX - event.offsetX, y = last.offsetY - event.offsetY;
      if (!hasMoved && Math.abs(x) + Math.abs(y) < 4) return;
      hasMoved = true;
      last = event;
      this.hover(-1, event);
      this.move(x, y);
    });
    canvas.addEventListener('pointerup', event => {
      if (last && !hasMoved) this.click(event);
      last = null;
    });
    canvas.addEventListener('pointercancel', () => { last = null; });
    canvas.addEventListener('pointerleave', event => this.hover(-1, event));
    canvas.addEventListener('dblclick', event => {
      const span = this.spanAt(event.offsetX, event.offsetY);
      if (span >= 0) this.zoomTo(span);
    });
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      const scale = event.deltaMode ? 30 : 1;  // the event counts lines, not pixels
      if (event.shiftKey) this.move(0, (event.deltaY || event.deltaX) * scale);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX * scale, 0);
      else this.zoom(1.002 ** (event.deltaY * scale), event.offsetX);
    }, {passive: false});
  }
  click(event) {
    const thread = this.headAt(event.offsetY);
    if (thread) { thread.isFolded = !thread.isFolded; this.fit(); }
    else this.select(this.spanAt(event.offsetX, event.offsetY));
  }
}

// The page: its state (selected span, search, visible part of the trace), and the time line, table and flame graph.

class Page {
  constructor(trace) {
    this.trace = trace;
    this.selected = -1;
    this.scope = -1;     // the table and the flame graph show this span; -1: the whole trace
    this.labels = null;  // a byte for each label: 1 if the search finds it
    this.timeline = new Timeline(trace, document.querySelector('canvas'),
      {select: span => this.select(span), hover: (span, event) => this.showTip(span, event)});
    this.table = new OperatorTable(byId('table'), row => this.select(row.longest, true));
    this.flame = new Flame(byId('flame'));
    this.isFlame = false;
    this.describe();
    this.setScope(-1);
    this.listen();
  }

  describe() {
    const {trace} = this, dropped = trace.threads.reduce((sum, thread) => sum + thread.dropped, 0);
    const open = trace.open.reduce((sum, flag) => sum + flag, 0);
    const devices = trace.threads.filter(thread => thread.device).length;
    const threads = countText(trace.threads.length - devices, 'thread') + (devices ? ` and ${countText(devices, 'stream')} of devices` : '');
    document.title = `${shown(trace.process)}: opdyno trace`;
    byId('title').textContent = `Trace of ${shown(trace.process)}`;
    byId('summary').textContent = trace.count
      ? `${countText(trace.count, 'span')} on ${threads}, ${timeText(trace.length)}, from ` +
        `${new Date(trace.begin_us / 1000).toISOString().replace('T', ' ').replace('Z', ' UTC')}`
      : 'The trace has no spans.';
    byId('clocks').textContent = clocksText(trace.processes ?? []);
    const warn = text => byId('warnings').append(element('p', {className: 'warning', textContent: text}));
    if (dropped) {
      const where = trace.threads.filter(thread => thread.dropped)
        .map(thread => `${countText(thread.dropped)} of ${threadText(trace, thread)}`);
      warn(`${countText(dropped, 'event')} found no room while the trace was recorded and are missing: ${where.join(', ')}.`);
    }
    if (trace.sample_interval > 1) warn(`Only one of ${countText(trace.sample_interval)} calls was recorded.`);
    if (open) warn(`${countText(open, 'span')} had not ended when the recording did: shown up to that moment, with an end in this colour.`);
  }

  // ---- the selected span

  select(span, isRevealed = false) {
    this.selected = this.timeline.selected = span;
    const {trace} = this, panel = byId('selected');
    panel.hidden = span < 0;
    if (span >= 0) {
      const thread = trace.threadOf(span), isTask = trace.isTask(span), around = [];
      for (let outer = trace.parent[span]; outer >= 0; outer = trace.parent[outer]) around.push(shown(trace.name(outer)));
      const entries = [
        ['Name', shown(trace.name(span))], ['Kind', kKinds[trace.kind(span)]], ['Task', trace.labels[trace.label[span]].task],
        [thread.device ? 'Device' : 'Thread', threadText(trace, thread).replace(/^thread /, '')],
        ['Start', `${(trace.begin[span] / 1000).toFixed(3)} µs`], ['Duration', timeText(trace.duration[span])],
        ['Self', isTask ? '' : timeText(trace.self[span])], ['Spans within', countText(trace.behind[span] - span - 1)],
        ['Arguments', trace.shape[span] ? trace.shapes[trace.shape[span] - 1] : ''],
        ['Within', around.reverse().join(' › ')], ['Error', shown(trace.errors.get(span) ?? ' ').trim()],
        ['Open', trace.open[span] ? 'had not ended when the recording did' : ''],
      ];
      panel.replaceChildren(
        element('dl', {}, ...entries.filter(([, text]) => text).map(([term, text]) =>
          element('div', {}, element('dt', {textContent: term}), element('dd', {textContent: text})))),
        element('div', {className: 'bar'},
          element('button', {type: 'button', textContent: 'Zoom to it', onclick: () => this.timeline.zoomTo(span)}),
          element('button', {type: 'button', id: 'within', textContent: 'Operators and flame graph of it alone', hidden: isTask,
            onclick: () => this.setScope(span)})),
        element('p', {className: 'stack', textContent: stackText(trace, span), hidden: !trace.stack[span]}));
    }
    if (isRevealed) this.timeline.reveal(span);
    this.timeline.redraw();
  }
  setScope(span) {
    this.scope = span;
    const scope = byId('scope');
    scope.hidden = span < 0;
    scope.replaceChildren(`of ${span < 0 ? '' : shown(this.trace.name(span))} alone `,
      element('button', {type: 'button', textContent: 'Whole trace', onclick: () => this.setScope(-1)}));
    this.rows = this.stacks = null;
    this.update();
  }
  // Makes the table or the flame graph, whichever is visible.
  update() {
    const {trace, scope} = this;
    const range = scope < 0 ? [0, trace.count] : [scope, trace.behind[scope]];
    byId('table').hidden = this.isFlame;
    byId('flame').hidden = !this.isFlame;
    byId('show-table').ariaSelected = String(!this.isFlame);
    byId('show-flame').ariaSelected = String(this.isFlame);
    if (!this.isFlame) this.rows ?? this.table.show(this.rows = operatorRows(trace, ...range));
    else this.stacks ?? this.flame.show(this.stacks = mergedStacks(trace, ...range));
  }
  showTip(span, event) {
    const tip = byId('tip');
    tip.hidden = span < 0;
    if (span < 0) return;
    tip.textContent = `${shown(this.trace.name(span)).slice(0, 500)}\n${timeText(this.trace.duration[span])}`;
    tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
  }

  // ---- the search

  search(text) {
    const {trace} = this, wanted = text.toLowerCase();
    const matches = wanted ? name => shown(name).toLowerCase().includes(wanted) : null;
    this.labels = matches ? Uint8Array.from(trace.labels, ({name, joined}) => matches(name) || matches(joined)) : null;
    let found = 0, time = 0;
    if (this.labels)
      for (let i = 0; i < trace.count; ++i)
        if (this.labels[trace.label[i]]) { ++found; time += trace.self[i]; }
    byId('matches').textContent = matches ? `${countText(found, 'span')}, self ${timeText(time)}` : '';
    byId('next').disabled = byId('previous').disabled = found === 0;
    this.timeline.find(this.labels);
    this.table.find(matches);
    this.flame.find(matches);
  }
  // Selects the next or the previous span that the search finds. After the last span comes the first one.
  step(way) {
    const {count, label} = this.trace;
    if (!this.labels || !count) return;
    let span = this.selected < 0 ? (way > 0 ? -1 : count) : this.selected;
    for (let tried = 0; tried < count; ++tried) {
      span = (span + way + count) % count;
      if (this.labels[label[span]]) { this.select(span, true); return; }
    }
  }

  // ---- keys and buttons

  listen() {
    const search = byId('search'), {timeline} = this;
    let waiting;
    search.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.search(search.value), this.trace.count > 100000 ? 150 : 0);
    });
    search.addEventListener('keydown', event => {
      if (event.key === 'Enter') this.step(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') { search.value = ''; this.search(''); search.blur(); }
    });
    byId('next').onclick = () => this.step(1);
    byId('previous').onclick = () => this.step(-1);
    byId('whole').onclick = () => timeline.reset();
    byId('show-table').onclick = () => { this.isFlame = false; this.update(); };
    byId('show-flame').onclick = () => { this.isFlame = true; this.update(); };
    const keys = {
      w: () => timeline.zoom(0.8), s: () => timeline.zoom(1.25), a: () => timeline.move(-timeline.width / 10, 0),
      d: () => timeline.move(timeline.width / 10, 0), 0: () => timeline.reset(), Escape: () => this.select(-1),
      f: () => this.selected < 0 || timeline.zoomTo(this.selected), '/': () => search.focus(),
    };
    document.addEventListener('keydown', event => {
      if (event.target === search || event.ctrlKey || event.altKey || event.metaKey) return;
      const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }
}

(async () => {
  try {
    const data = byId('data'), trace = new Trace(await unpacked(data.textContent));
    data.remove();  // frees the memory
    new Page(trace);
    document.documentElement.dataset.state = 'shown';
  } catch (error) {
    byId('summary').textContent = '';
    byId('warnings').append(element('p', {className: 'warning', textContent: `The trace cannot be shown: ${error.message}`}));
    document.documentElement.dataset.state = 'failed';
  }
})();

// The table of operators. Spans with equal name and kind are one row. Marks and tasks have no row: marks take no time,
// and the operator that launched a task has its time. The share of device work is its part of all device work. The
// share of other rows is their part of the host's time.

const kMostRows = 1000;

function operatorRows(trace, first, behind) {
  const rows = new Map(), ofLabel = trace.labels.map(({joined, kind}) => {
    const key = kind + joined;
    if (!rows.has(key)) rows.set(key, {name: joined, kind, count: 0, total: 0, self: 0, longest: -1});
    return rows.get(key);
  });
  for (let i = first; i < behind; ++i) {
    const row = ofLabel[trace.label[i]];
    ++row.count;
    row.total += trace.duration[i];
    row.self += trace.self[i];
    if (row.longest < 0 || trace.duration[i] > trace.duration[row.longest]) row.longest = i;
  }
  const found = [...rows.values()].filter(row => row.count && !['mark', 'task'].includes(kKinds[row.kind]));
  const isDevice = row => kKinds[row.kind] === 'device', all = {true: 0, false: 0};
  for (const row of found) all[isDevice(row)] += row.self;
  for (const row of found) {
    row.mean = row.total / row.count;
    row.share = all[isDevice(row)] ? row.self / all[isDevice(row)] : 0;
    row.max = trace.duration[row.longest];
  }
  return found;
}

class OperatorTable {
  constructor(panel, choose) {
    this.panel = panel;
    this.choose = choose;
    this.matches = null;
    this.order = {key: 'self', up: false};
    const time = {text: timeText, tip: ns => ns.toLocaleString('en', {maximumFractionDigits: 1}) + ' ns'};
    this.columns = [
      {key: 'name', title: 'Name', isText: true, text: shown},
      {key: 'kind', title: 'Kind', isText: true, text: kind => kKinds[kind]},
      {key: 'count', title: 'Count', text: count => countText(count)},
      {key: 'total', title: 'Total', ...time},
      {key: 'self', title: 'Self', ...time},
      {key: 'share', title: 'Self %', text: share => (100 * share).toFixed(1)},
      {key: 'mean', title: 'Mean', ...time},
      {key: 'max', title: 'Longest', ...time},
    ];
  }
  show(rows) {
    this.rows = rows;
    this.draw();
  }
  find(matches) {
    this.matches = matches;
    if (this.rows) this.draw();
  }
  sorted() {
    const {key, up} = this.order, way = up ? 1 : -1;
    const compare = key === 'name' ? (a, b) => a.name.localeCompare(b.name, 'en', {numeric: true}) : (a, b) => a[key] - b[key];
    return this.rows.filter(row => !this.matches || this.matches(row.name)).sort((a, b) => way * compare(a, b));
  }
  draw() {
    const rows = this.sorted(), head = element('tr');
    for (const column of this.columns) {
      const cell = element('th', {scope: 'col', className: column.isText ? 'text' : ''},
        element('button', {type: 'button', textContent: column.title, onclick: () => this.sortBy(column)}));
      if (this.order.key === column.key) cell.ariaSort = this.order.up ? 'ascending' : 'descending';
      head.append(cell);
    }
    const body = element('tbody');
    for (const row of rows.slice(0, kMostRows)) {
      const line = element('tr', {onclick: () => this.choose(row)});
      for (const {key, isText, text, tip} of this.columns)
        line.append(element('td', {className: isText ? 'text' : '', textContent: text(row[key]), title: tip ? tip(row[key]) : ''}));
      body.append(line);
    }
    this.panel.replaceChildren(element('table', {}, element('thead', {}, head), body), noteOf(this.noteText(rows.length)));
  }
  noteText(found) {
    if (found > kMostRows) return `${countText(kMostRows)} of ${countText(found, 'row')} are shown: search to see others`;
    return found ? '' : this.rows.length ? 'No name matches the search.' : 'There are no spans.';
  }
  sortBy({key, isText}) {
    this.order = {key, up: this.order.key === key ? !this.order.up : Boolean(isText)};
    this.draw();
  }
}

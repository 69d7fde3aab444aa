// The flame graph. Spans with equal stacks of names are one box, as wide as their time, below the box of the stack
// without the last name. Work on devices is left out, because its time is not the host's. As in flame graphs of
// samples, the time of a box is its self time plus the times of the boxes directly below it.

const kMostBoxes = 3000, kNarrowest = 0.0005, kBoxHeight = 20, kLeastText = 24;  // the last two in pixels

function mergedStacks(trace, first, behind) {
  const root = {name: 'all', parent: null, children: new Map(), count: 0, self: 0, total: 0};
  const nodes = [root], open = [];
  const base = behind > first ? trace.depth[first] : 0;
  for (let i = first; i < behind; ++i) {
    const depth = trace.depth[i] - base, parent = depth ? open[depth - 1] : root;
    if (trace.isDevice(i)) continue;
    if (trace.isTask(i)) { open[depth] = parent; continue; }  // the launching operator has the time
    const name = trace.labels[trace.label[i]].joined;
    let node = parent.children.get(name);
    if (!node) {
      parent.children.set(name, node = {name, parent, children: new Map(), count: 0, self: 0, total: 0});
      nodes.push(node);
    }
    ++node.count;
    node.self += trace.self[i];
    open[depth] = node;
  }
  for (let k = nodes.length; k-- > 0;) {  // a node comes after its parent
    const node = nodes[k];
    node.total += node.self;
    if (node.parent) node.parent.total += node.total;
  }
  return root;
}

class Flame {
  constructor(panel) {
    this.panel = panel;
    this.matches = null;
  }
  show(root) {
    this.root = this.zoomed = root;
    this.draw();
  }
  find(matches) {  // tells whether the search finds a name; null: no search
    this.matches = matches;
    if (this.root) this.draw();
  }
  draw() {
    const stack = element('div', {className: 'stack'}), around = [];
    for (let node = this.zoomed.parent; node; node = node.parent) around.unshift(node);
    around.forEach((node, row) => stack.append(this.box(node, row, 0, 1)));
    let row = around.length, level = [[this.zoomed, 0]], boxes = 0, hidden = 0;
    for (; level.length && boxes < kMostBoxes; ++row) {
      boxes += level.length;
      const next = [];
      for (const [node, left] of level) {
        stack.append(this.box(node, row, left, node === this.zoomed ? 1 : node.total / this.zoomed.total));
        let x = left;
        for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
          const width = child.total / this.zoomed.total;
          if (width >= kNarrowest) next.push([child, x]);
          else ++hidden;
          x += width;
        }
      }
      level = next;
    }
    hidden += level.length;
    stack.style.height = row * kBoxHeight + 'px';
    this.panel.replaceChildren(stack, noteOf(hidden ? `${countText(hidden, 'stack')} too narrow to be drawn: click on a box to zoom` : ''));
  }
  box(node, row, left, width) {
    const share = shareText(node.total, this.root.total), name = node.parent ? shown(node.name) : 'all';
    const box = element('button', {
      type: 'button', className: node.parent ? 'frame' : 'frame all', textContent: name,
      title: `${name}\n${node.parent ? countText(node.count, 'span') + ', ' : ''}total ${timeText(node.total)}` +
             `${share && ` (${share})`}, self ${timeText(node.self)}`,
      onclick: () => { this.zoomed = node; this.draw(); },
    });
    Object.assign(box.dataset, {row, count: node.count, total: node.total, self: node.self});
    box.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${row * kBoxHeight}px;--hue:${hueOf(node.name)}`;
    if (width * this.panel.clientWidth < kLeastText) box.classList.add('narrow');  // too narrow for a letter
    if (this.matches && !(node.parent && this.matches(node.name))) box.classList.add('faded');
    return box;
  }
}

// The flame graph: spans of equal stacks of names are one box, as wide as their time, below the box of the stack without
// the last name. The boxes within one add up to its time less its own, as in flame graphs of samples.

const kMostBoxes = 3000, kNarrowest = 0.0005, kBoxHeight = 20;

function mergedStacks(trace, first, behind) {
  const root = {name: 'all', parent: null, children: new Map(), count: 0, self: 0, total: 0};
  const nodes = [root], open = [];
  const base = behind > first ? trace.depth[first] : 0;
  for (let i = first; i < behind; ++i) {
    const depth = trace.depth[i] - base, parent = depth ? open[depth - 1] : root;
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
  for (let k = nodes.length; k-- > 0;) {  // a node lies behind its parent
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
  find(matches) {  // whether a name was searched for; null: nothing is
    this.matches = matches;
    if (this.root) this.draw();
  }
  draw() {
    const stack = element('div', {className: 'stack'}), levels = [];
    let boxes = 0;
    for (let node = this.zoomed; node; node = node.parent) levels.unshift([[node, 0]]);
    for (const [[node]] of levels) if (node !== this.zoomed) stack.append(this.box(node, levels.findIndex(([[each]]) => each === node), 0, 1));
    let row = levels.length - 1;
    for (let level = levels[row]; level.length && boxes < kMostBoxes; ++row) {
      const next = [];
      for (const [node, left] of level) {
        stack.append(this.box(node, row, left, node.total / this.zoomed.total || (node === this.zoomed ? 1 : 0)));
        ++boxes;
        let x = left;
        for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
          const width = child.total / this.zoomed.total;
          if (!(width >= kNarrowest)) break;
          next.push([child, x]);
          x += width;
        }
      }
      level = next;
    }
    stack.style.height = row * kBoxHeight + 'px';
    this.panel.replaceChildren(stack);
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
    if (this.matches && !(node.parent && this.matches(node.name))) box.classList.add('faded');
    return box;
  }
}

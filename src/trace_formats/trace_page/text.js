// Texts for people: names, times, counts, colours.

// Replaces control characters by their Unicode pictures, so that a name stays on its line and they are visible.
function shown(name) {
  const text = name.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, c => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
  });
  return text || '(no name)';
}

const kUnits = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
function unitOf(ns) { return kUnits.find(([, size]) => Math.abs(ns) >= size) ?? kUnits[3]; }
function timeText(ns) {
  const [unit, size] = unitOf(ns);
  return (size === 1 ? String(Math.round(ns)) : (ns / size).toPrecision(4)) + ' ' + unit;
}
function countText(count, noun) {
  return count.toLocaleString('en') + (noun ? ' ' + noun + (count === 1 ? '' : 's') : '');
}
function shareText(part, whole) { return whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : ''; }

function threadText(trace, thread) {
  const own = thread.device ? shown(thread.name) : `thread ${thread.id} (${shown(thread.name)})`;
  return trace.processes ? `${own} of ${shown(trace.processes[thread.process].label)}` : own;
}
// The host's functions in which a span began: one per line, innermost first.
function stackText(trace, span) {
  const number = trace.stack[span];
  return number ? 'Called by\n' + trace.stacks[number - 1].split(';').slice(0, -1).map(shown).join('\n') : '';
}
// Describes the processes of a merged trace: their hosts, and the error bounds of their clocks.
function clocksText(processes) {
  const errorOf = ({clock_error_ns}) => clock_error_ns < 0 ? 'of an unknown error' : `right within ${timeText(clock_error_ns)}`;
  const movedBy = ({offset_ns}) => offset_ns ? `, moved by ${timeText(offset_ns)}` : '';
  const first = processes[0], isOne = processes.every(each => each.clock && each.clock === first.clock);
  const hasErrors = !isOne || processes.some(each => each.clock_error_ns !== first.clock_error_ns);  // some are known
  const texts = processes.map(each => `${shown(each.label)}: process ${each.id}${each.host ? ` on ${shown(each.host)}` : ''}` +
    `${hasErrors ? `, a clock ${errorOf(each)}` : ''}${movedBy(each)}`);
  return `${texts.join('; ')}${isOne && texts.length > 1 ? '. They share one clock.' : ''}`;
}

// Returns one of 24 hues. Equal names have equal colours in all parts of the page.
const hues = new Map();
function hueOf(name) {
  let hue = hues.get(name);
  if (hue === undefined) {
    let hash = 0x811c9dc5;  // FNV-1a
    for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    hues.set(name, hue = (hash >>> 8) % 24 * 15);
  }
  return hue;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
function noteOf(text) { return element('p', {className: 'soft note', textContent: text, hidden: !text}); }
const byId = id => document.getElementById(id);

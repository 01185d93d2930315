// Elements made one by one: text is set as text, never as markup.

// h makes an element. Properties whose name begins with "on" are listeners; false and null leave an attribute out.
export function h(tag, props, ...children) {
  const e = document.createElement(tag);
  fill(e, props, children);
  return e;
}

const svgSpace = 'http://www.w3.org/2000/svg';

// svg makes an element of a picture.
export function svg(tag, props, ...children) {
  const e = document.createElementNS(svgSpace, tag);
  fill(e, props, children);
  return e;
}

function fill(e, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === false || value == null) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'value') e.value = value;
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.flat().filter(c => c != null && c !== false));
}

export const $ = id => document.getElementById(id);

// set changes a text only where it differs, so that it is announced once.
export const set = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };

// said is a text of an agent.
export const said = (tag, text, props) => h(tag, { dir: 'auto', ...props }, text ?? '');

// list shows items as children of a box. A child stays, with its focus, while its item does not change.
export function list(box, items, make, key = item => item.id) {
  const known = box.known ??= new Map(), seen = new Set();
  let at = box.firstChild;
  for (const item of items) {
    const id = key(item), text = JSON.stringify(item);
    seen.add(id);
    let entry = known.get(id);
    if (entry?.text !== text) {
      const node = make(item);
      if (entry?.node.contains(document.activeElement)) keepFocus(entry.node, node);
      if (entry) {
        if (at === entry.node) at = at.nextSibling;
        entry.node.replaceWith(node);
      }
      known.set(id, entry = { text, node });
    }
    if (entry.node === at) at = at.nextSibling;
    else box.insertBefore(entry.node, at);
  }
  for (const [id, entry] of known) {
    if (seen.has(id)) continue;
    entry.node.remove();
    known.delete(id);
  }
}

// keepFocus gives the focus to the control of a new node that stands where the old one's focused control stood.
function keepFocus(old, fresh) {
  const controls = n => [...(n.matches('a, button') ? [n] : []), ...n.querySelectorAll('a, button, input, textarea, select')];
  const at = controls(old).indexOf(document.activeElement);
  queueMicrotask(() => (controls(fresh)[at] || fresh).focus?.());
}

// ---- Times

let ahead = 0; // the server's clock minus this one's, in ms
export const setClock = timestamp => { ahead = Date.parse(timestamp) - Date.now(); };
export const now = () => Date.now() + ahead;

export const exact = time => new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });

const units = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' });

function words(time) {
  const ms = Date.parse(time) - now();
  for (const [unit, size] of units) {
    if (Math.abs(ms) >= size) return relative.format(Math.trunc(ms / size), unit);
  }
  return ms > 0 ? 'in a moment' : 'just now';
}

// when shows a time as the distance from now, with the exact one on hover.
export function when(time) {
  if (!time) return null;
  return h('time', { datetime: time, title: exact(time) }, words(time));
}

// age updates all times that are shown.
export function age() {
  for (const e of document.querySelectorAll('time[datetime]')) {
    const text = words(e.dateTime);
    if (e.textContent !== text) e.textContent = text;
  }
}

export function span(ms) {
  const s = Math.ceil(ms / 1000), m = Math.floor(s / 60), hours = Math.floor(m / 60);
  return hours >= 48 ? `${Math.floor(hours / 24)} days` : hours ? `${hours} h ${m % 60} min` : m ? `${m} min ${s % 60} s` : `${s} s`;
}

// ---- Small parts

export const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
export const money = usd => usd ? `$${usd.toFixed(usd < 10 ? 2 : 0)}` : '$0';
export const count = n => n.toLocaleString('en');
export const who = name => h('bdi', { class: 'who' }, name || 'an agent without a name');

const tones = { active: 'go', in_progress: 'go', completed: 'good', working: 'go', complete: 'good', done: 'good', failed: 'bad', blocked: 'warn', error: 'bad',
  warning: 'warn', success: 'good', pinned: 'warn', dead: 'bad', high: 'bad', paused: 'warn', CRITICAL: 'bad', HIGH: 'bad',
  MEDIUM: 'warn', completing: 'go', converged: 'good', open: 'go', shared: 'go', broken: 'bad', changed: 'warn' };
const names = { created: 'queued', derezzed: 'cancelled', in_progress: 'in work' };

// badge shows a state by its word, and by its tone beside that.
export const badge = (state, more = '') => h('span', { class: `badge ${tones[state] || ''}` }, names[state] || state, more);

// meter shows a share of one hundred.
export function meter(percent, label) {
  const bar = h('span', {});
  bar.style.width = `${Math.max(0, Math.min(100, percent || 0))}%`;
  return h('span', { class: 'meter', role: 'img', 'aria-label': `${label || 'Progress'}: ${percent || 0} percent` }, bar);
}

export const empty = (title, how) => h('div', { class: 'empty' }, h('p', {}, title), h('p', {}, how));

// What this browser has seen of a kind that no operation lists: fires and teams, by their names.

const most = 20;
const slot = kind => `parley.${kind}s`;

export function known(kind) {
  try { return JSON.parse(localStorage.getItem(slot(kind))) || []; } catch { return []; }
}

export function remember(kind, id) {
  try { localStorage.setItem(slot(kind), JSON.stringify([...new Set([id, ...known(kind)])].slice(0, most))); } catch { /* it is opened by its name again */ }
}

export function forget(kind, id) {
  try { localStorage.setItem(slot(kind), JSON.stringify(known(kind).filter(k => k !== id))); } catch { /* it is not kept */ }
}

// The client of a session, as its hooks describe it, and the rules of its permission requests.
import { h, said } from '/assets/dom.js';

const who = { paired: 'on your paired device, if there is one', device: 'on a paired device', passkey: 'with your passkey',
  local: 'with any key of yours' };

// place shows where a session runs.
export function place(c) {
  const parts = [[c.client, c.version].filter(Boolean).join(' '), c.directory, c.branch, c.model, c.headless && 'headless']
    .filter(Boolean);
  return h('p', { class: 'place', title: c.host ? `on ${c.host}` : null }, parts.map(part => said('span', part)));
}

// rules shows who answers the permission requests of a session. open is the set of the sessions whose rules are unfolded.
export function rules(c, open) {
  const p = c.permissions;
  if (!p?.on) return null;
  const count = (p.allow || []).length + (p.deny || []).length;
  const head = `Permissions ring you, to be answered ${who[p.assurance] || who.paired}`;
  if (!count) return h('p', { class: 'place' }, head + '.');
  const patterns = (title, all) => all?.length > 0 && [h('dt', {}, title), all.map(pattern => h('dd', {}, said('code', pattern)))];
  const box = h('details', { class: 'rules', open: open.has(c.sessionId),
    ontoggle: () => box.open ? open.add(c.sessionId) : open.delete(c.sessionId) },
    h('summary', {}, `${head}; ${count === 1 ? '1 rule answers' : `${count} rules answer`} at once`),
    h('dl', {}, ...[patterns('Denied at once', p.deny), patterns('Allowed at once', p.allow)].flat(2).filter(Boolean)));
  return box;
}

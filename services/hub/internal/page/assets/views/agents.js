// The agents: sessions by program, and the activity, the claims and the day's cost of each.
import { badge, count, empty, h, list, meter, money, said, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { pause, paused, resume } from '/assets/pause.js';
import { hand, revoke, write } from '/assets/people.js';
import { place, rules } from '/assets/client.js';
import { ask, toast } from '/assets/dialog.js';

export const name = 'parley-agents';

class Agents extends View {
  kinds = ['session', 'pause', 'task', 'message', 'key', 'files'];
  title = 'Agents';
  open = new Set(); // the sessions whose rules are unfolded
  of = new URLSearchParams(location.search).get('of') || ''; // the agent that a link leads to

  async load(signal) {
    const today = new Date().toISOString().slice(0, 10);
    const get = path => api(path, { signal });
    const [sessions, overview, pauses, usage, keys, clients, files] = await Promise.all([get('/v1/sessions?limit=50'), get('/v1/overview'),
      paused(signal), get(`/v1/usage?groupBy=program&from=${today}`), get('/v1/keys?limit=100'), get('/v1/clients?limit=100'),
      get('/v1/files/reservations')]);
    return { sessions: sessions.sessions, more: sessions.nextCursor, overview, pauses, usage: usage.groups, keys: keys.keys,
      clients: clients.clients, files };
  }

  draw({ sessions, overview, pauses, usage, keys, clients, files, more }) {
    const names = [...new Set([...sessions.map(s => s.programId), ...keys.filter(k => !k.revokedAt).map(k => k.program)].filter(Boolean))];
    const programs = names.map(program => ({
      id: program, sessions: sessions.filter(s => s.programId === program)
        .map(s => ({ ...s, client: clients.find(c => c.sessionId === address(s)), pause: pauses.find(p => p.scope === 'agent' && p.name === address(s)) })),
      claims: overview.claims.filter(c => c.claimedBy === program),
      unread: overview.unread.find(u => u.program === program), usage: usage.find(g => g.key === program),
      held: files.reservations.filter(r => r.holder === program).length, heldMore: !!files.nextCursor,
      pause: pauses.find(p => p.scope === 'program' && p.name === program) || pauses.find(p => p.scope === 'everything'),
      keys: keys.filter(k => k.program === program && !k.revokedAt).map(({ id, name: n, program: p }) => ({ id, name: n, program: p })),
    })).sort((a, b) => live(b) - live(a) || a.id.localeCompare(b.id));
    if (!this.firstChild) {
      this.append(h('h1', {}, 'Agents'), h('p', { id: 'sum', class: 'lead' }),
        h('ul', { class: 'cards two' }), h('div', { id: 'nothing' }, empty('No agent has come yet.',
          'Give one the address of this server and a key of its own: parley key create --program NAME.')));
    }
    const silent = programs.length - programs.filter(live).length;
    this.querySelector('#sum').textContent = programs.length ? `${programs.length - silent} live${silent ? `, ${silent} silent` : ''}` +
      ` · ${count(overview.claims.length)} tasks in work${more ? ' · the first 50 sessions' : ''}` : '';
    list(this.querySelector('ul'), programs, p => this.program(p));
    this.querySelector('#nothing').hidden = programs.length > 0;
    if (this.of) setTimeout(() => this.lead());
  }

  // lead brings the agent that a link leads to before the person, once.
  lead() {
    const card = this.querySelector(`[data-program="${CSS.escape(this.of)}"]`);
    this.of = '';
    card?.scrollIntoView({ block: 'center' });
    card?.querySelector('button')?.focus({ preventScroll: true });
  }

  program(p) {
    const target = { scope: 'program', name: p.id };
    return h('li', { class: `card${p.pause ? ' warning' : ''}`, 'data-item': true, 'data-program': p.id },
      h('div', { class: 'top' }, h('h2', { dir: 'auto' },
        h('span', { class: live(p) ? 'live' : 'silent', role: 'img', 'aria-label': live(p) ? 'live' : 'silent' }), p.id),
        p.pause && badge('paused'),
        p.pause?.scope === 'everything' ? null : h('button',
          { type: 'button', 'data-act': true, onclick: async () => {
          if (await (p.pause ? resume(p.pause) : pause(target))) this.update(); } }, p.pause ? 'Resume' : 'Pause')),
      p.sessions.length ? p.sessions.map(s => this.session(s, p.sessions.length > 1)) :
        h('p', { class: 'faint' }, 'Has a key, and has opened no session.'),
      p.claims.length > 0 && h('ul', { class: 'plain' },
        p.claims.map(c => h('li', {}, h('a', { href: `/work/${encodeURIComponent(c.id)}`, dir: 'auto' }, c.title),
        ' ', h('small', {}, 'lease ends ', when(c.leaseUntil))))),
      h('p', { class: 'facts' }, h('span', {}, `${money(p.usage?.costUsd)} today`), h('span', {}, `${count(p.usage?.calls || 0)} calls`),
        p.unread?.count > 0 && h('a', { href: `/mail?with=${encodeURIComponent(p.id)}` },
          `${p.unread.count}${p.unread.more ? '+' : ''} unread`),
        p.held > 0 && h('a', { href: `/files?by=${encodeURIComponent(p.id)}` },
          `${p.held}${p.heldMore ? '+' : ''} ${p.held === 1 ? 'reservation' : 'reservations'}`)),
      h('div', { class: 'choices' }, h('button', { type: 'button',
        onclick: async () => { if (await write(p.id)) this.update(); } }, 'Write'),
        h('button', { type: 'button', onclick: async () => { if (await hand(p.id)) this.update(); } }, 'New task'),
        p.keys.length > 0 && h('button', { type: 'button', class: 'quiet danger',
          'aria-label': `Revoke a key of ${p.id}`, onclick: () => this.revoke(p) }, 'Revoke…')));
  }

  // session shows a session, with a pause of its own where it is one of several.
  session(s, several) {
    const target = { scope: 'agent', name: address(s) };
    const halt = s.pause || several && s.live ? h('button',
      { type: 'button', class: 'quiet', 'aria-label': `${s.pause ? 'Resume' : 'Pause'} ${s.name}`,
      onclick: async () => { if (await (s.pause ? resume(target) : pause(target))) this.update(); } }, s.pause ? 'Resume' : 'Pause') : null;
    return h('div', { class: `session${s.live ? '' : ' gone'}` }, halt,
      h('p', {}, said('strong', s.name), ' ', badge(s.live ? s.state : s.state === 'complete' ? 'complete' : 'silent'),
        s.pause && badge('paused'),
        h('small', {}, ' ', when(s.lastHeartbeat || s.updatedAt))),
      s.status && said('p', s.status), s.client && place(s.client), s.client && rules(s.client, this.open), meter(s.progress, `Progress of ${s.name}`));
  }

  async revoke(p) {
    let key = p.keys[0];
    if (p.keys.length > 1) {
      const v = await ask({ title: `Which key of ${p.id}?`, confirm: 'Next',
        fields: [{ name: 'id', label: 'Key', options: p.keys.map(k => ({ value: k.id, label: k.name || k.id.slice(0, 12) })) }] });
      if (!v) return;
      key = p.keys.find(k => k.id === v.id);
    }
    if (!key) return toast('It has no key any more.');
    if (await revoke(key)) this.update();
  }
}

const address = s => s.sessionId.includes('/') ? s.sessionId : `${s.programId}/${s.sessionId}`;

const live = p => Number(p.sessions.some(s => s.live));

customElements.define(name, Agents);

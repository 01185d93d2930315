// Where agents talk things over: councils, fires and verifications.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';

export const name = 'parley-talk';

const slot = 'parley.fires'; // the fires that this browser has seen, which no operation lists

class Talk extends View {
  kinds = ['council', 'fire', 'verification'];
  title = 'Talk';

  concerns(event) {
    if (event.kind === 'fire') remember(event.id);
    return super.concerns(event);
  }

  async load(signal) {
    const [councils, checks, ...fires] = await Promise.all([api('/v1/councils?limit=50', { signal }), api('/v1/verifications?limit=50', { signal }),
      ...known().map(id => api(`/v1/fires/${encodeURIComponent(id)}`, { signal }).catch(e => { if (e.temporary) throw e; return null; }))]);
    return { councils: councils.sessions, checks: checks.sessions, fires: fires.filter(Boolean) };
  }

  draw({ councils, checks, fires }) {
    if (!this.firstChild) {
      const part = (id, title, none, more) => h('section', { 'aria-labelledby': `${id}-title` },
        h('div', { class: 'top' }, h('h2', { id: `${id}-title` }, title), more), h('ul', { class: 'rows', id }), h('p', { class: 'faint', id: `${id}-none` }, none));
      this.append(h('h1', {}, 'Talk'),
        part('councils', 'Councils', 'An agent opens a council with start_council, to ask all others.'),
        part('fires', 'Fires', 'Agents debate a plan at a fire. Those that this browser has seen are listed here; others are found by a search, or opened by their name.', [h('a', { class: 'button quiet', href: '/search?kind=fire' }, 'Search fires'), h('button', { type: 'button', onclick: () => open(this) }, 'Open a fire…')]),
        part('checks', 'Verifications', 'A verifier begins one with elenchus_start_session.'));
    }
    const show = (id, items, make, key) => {
      list(this.querySelector(`#${id}`), items, make, key);
      this.querySelector(`#${id}-none`).hidden = items.length > 0;
    };
    show('councils', councils, c => row(`/talk/council/${c.id}`, c.title, badge(c.status), [who(c.created_by), ` · ${c.responses} of ${c.participants} answered`], c.created_at));
    show('fires', fires, f => row(`/talk/fire/${encodeURIComponent(f.id)}`, f.id, badge(f.duel ? 'duel' : 'debate'), `plan ${f.plan.version} · ${some(f.messages, 'message')} · ${some(f.duels, 'duel')}`, f.createdAt));
    show('checks', checks, c => row(`/talk/verification/${c.sessionId}`, c.target, badge(c.verdict || c.status), `round ${c.currentRound} of ${c.maxRounds} · next: ${c.nextRole}`, c.updatedAt), c => c.sessionId);
  }
}

const some = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

const row = (href, title, state, more, time) => h('li', { 'data-item': true }, h('a', { href }, h('span', { class: 'what', dir: 'auto' }, title),
  h('span', { class: 'state' }, state), h('span', { class: 'for' }, more), h('span', { class: 'since' }, when(time))));

function known() {
  try { return JSON.parse(localStorage.getItem(slot)) || []; } catch { return []; }
}

export function remember(id) {
  try { localStorage.setItem(slot, JSON.stringify([...new Set([id, ...known()])].slice(0, 20))); } catch { /* it is opened by its name again */ }
}

async function open(view) {
  const v = await ask({ title: 'Open a fire', confirm: 'Open', fields: [{ name: 'id', label: 'Its name', max: 100 }] });
  if (!v) return;
  view.dispatchEvent(new CustomEvent('parley-go', { bubbles: true, detail: `/talk/fire/${encodeURIComponent(v.id)}` }));
}

customElements.define(name, Talk);

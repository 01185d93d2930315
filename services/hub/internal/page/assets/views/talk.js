// Where agents talk things over: councils, fires and verifications.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';
import { known, remember } from '/assets/known.js';

export const name = 'parley-talk';

const page = 50;

class Talk extends View {
  kinds = ['council', 'fire', 'verification'];
  title = 'Talk';
  pages = { councils: 1, verifications: 1 };

  concerns(event) {
    if (event.kind === 'fire') remember('fire', event.id);
    return super.concerns(event);
  }

  async load(signal) {
    const [councils, checks, ...fires] = await Promise.all([this.some('councils', signal), this.some('verifications', signal),
      ...known('fire').map(id => api(`/v1/fires/${encodeURIComponent(id)}`,
        { signal }).catch(e => { if (e.temporary) throw e; return null; }))]);
    return { councils, checks, fires: fires.filter(Boolean) };
  }

  // some reads as many pages as are shown.
  async some(kind, signal) {
    const items = [];
    let cursor = '';
    for (let n = 0; n < this.pages[kind]; n++) {
      const r = await api(query(`/v1/${kind}`, { limit: page, cursor }), { signal });
      items.push(...r.sessions);
      if (!(cursor = r.nextCursor || r.next_cursor)) break;
    }
    return { items, more: !!cursor };
  }

  draw({ councils, checks, fires }) {
    if (!this.firstChild) {
      const further = kind => h('button', { type: 'button', id: `further-${kind}`, hidden: true,
        onclick: () => { this.pages[kind]++; this.update(); } }, 'Show more');
      const part = (id, title, none, more, kind) => h('section', { 'aria-labelledby': `${id}-title` },
        h('div', { class: 'top' }, h('h2', { id: `${id}-title` }, title), more), h('ul', { class: 'rows', id }),
          h('p', { class: 'faint', id: `${id}-none` }, none), kind && further(kind));
      this.append(h('h1', {}, 'Talk'),
        part('councils', 'Councils', 'An agent opens a council with start_council, to ask all others.', null, 'councils'),
        part('fires', 'Fires',
          'Agents debate a plan at a fire. Those that this browser has seen are listed here; others are found by a search, or opened by their name.',
          [h('a', { class: 'button quiet', href: '/search?kind=fire' }, 'Search'),
          h('button', { type: 'button', onclick: () => open(this) }, 'Open a fire…')]),
        part('checks', 'Verifications', 'A verifier begins one with elenchus_start_session.', null, 'verifications'));
    }
    const show = (id, items, make, key) => {
      list(this.querySelector(`#${id}`), items, make, key);
      this.querySelector(`#${id}-none`).hidden = items.length > 0;
    };
    show('councils', councils.items, c => row(`/talk/council/${c.id}`, c.title, badge(c.status),
      [who(c.created_by), ` · ${c.responses} of ${c.participants} answered`], c.created_at));
    show('fires', fires, f => row(`/talk/fire/${encodeURIComponent(f.id)}`, f.id, badge(f.duel ? 'duel' : 'debate'),
      `plan ${f.plan.version} · ${some(f.messages, 'message')} · ${some(f.duels, 'duel')}`, f.createdAt));
    show('checks', checks.items, c => row(`/talk/verification/${c.sessionId}`, c.target, badge(c.verdict || c.status),
      `round ${c.currentRound} of ${c.maxRounds} · next: ${c.nextRole}`, c.updatedAt), c => c.sessionId);
    this.querySelector('#further-councils').hidden = !councils.more;
    this.querySelector('#further-verifications').hidden = !checks.more;
  }
}

const some = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

const row = (href, title, state, more, time) => h('li', { 'data-item': true },
  h('a', { href }, h('span', { class: 'what', dir: 'auto' }, title),
  h('span', { class: 'state' }, state), h('span', { class: 'for' }, more), h('span', { class: 'since' }, when(time))));

async function open(view) {
  const v = await ask({ title: 'Open a fire', confirm: 'Open', fields: [{ name: 'id', label: 'Its name', max: 100 }] });
  if (!v) return;
  view.dispatchEvent(new CustomEvent('parley-go', { bubbles: true, detail: `/talk/fire/${encodeURIComponent(v.id)}` }));
}

customElements.define(name, Talk);

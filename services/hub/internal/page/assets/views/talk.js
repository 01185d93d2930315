// Where agents talk things over: councils, fires and verifications.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';

export const name = 'parley-talk';

const page = 50;

class Talk extends View {
  kinds = ['council', 'fire', 'verification'];
  title = 'Talk';
  pages = { councils: 1, fires: 1, verifications: 1 };

  async load(signal) {
    const [councils, fires, checks] = await Promise.all(Object.keys(this.pages).map(kind => this.some(kind, signal)));
    return { councils, fires, checks };
  }

  // some reads as many pages as are shown.
  async some(kind, signal) {
    const items = [];
    let cursor = '';
    for (let n = 0; n < this.pages[kind]; n++) {
      const r = await api(query(`/v1/${kind}`, { limit: page, cursor }), { signal });
      items.push(...(r.sessions || r.fires));
      if (!(cursor = r.nextCursor || r.next_cursor)) break;
    }
    return { items, more: !!cursor };
  }

  draw({ councils, checks, fires }) {
    if (!this.firstChild) {
      const further = kind => h('button', { type: 'button', id: `further-${kind}`, hidden: true,
        onclick: () => { this.pages[kind]++; this.update(); } }, 'Show more');
      const part = (id, title, none, kind) => h('section', { 'aria-labelledby': `${id}-title` },
        h('h2', { id: `${id}-title` }, title), h('ul', { class: 'rows', id }),
        h('p', { class: 'faint', id: `${id}-none` }, none), further(kind));
      this.append(h('h1', {}, 'Talk'),
        part('councils', 'Councils', 'An agent opens a council with start_council, to ask all others.', 'councils'),
        part('fires', 'Fires', 'Agents debate a plan at a fire, which campfire_get_or_create_fire lights.', 'fires'),
        part('checks', 'Verifications', 'A verifier begins one with elenchus_start_session.', 'verifications'));
    }
    const show = (id, items, make, key) => {
      list(this.querySelector(`#${id}`), items, make, key);
      this.querySelector(`#${id}-none`).hidden = items.length > 0;
    };
    show('councils', councils.items, c => row(`/talk/council/${c.id}`, c.title, badge(c.status),
      [who(c.created_by), ` · ${c.responses} of ${c.participants} answered`], c.created_at));
    show('fires', fires.items, f => row(`/talk/fire/${encodeURIComponent(f.id)}`, f.id, badge(f.state === 'DEBATING' ? 'debate' : 'duel'),
      `plan ${f.plan} · ${some(f.messages, 'message')} · ${some(f.duels, 'duel')}`, f.createdAt));
    show('checks', checks.items, c => row(`/talk/verification/${c.sessionId}`, c.target, badge(c.verdict || c.status),
      `round ${c.currentRound} of ${c.maxRounds} · next: ${c.nextRole}`, c.updatedAt), c => c.sessionId);
    for (const [kind, { more }] of Object.entries({ councils, fires, verifications: checks })) {
      this.querySelector(`#further-${kind}`).hidden = !more;
    }
  }
}

const some = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

const row = (href, title, state, more, time) => h('li', { 'data-item': true },
  h('a', { href }, h('span', { class: 'what', dir: 'auto' }, title),
  h('span', { class: 'state' }, state), h('span', { class: 'for' }, more), h('span', { class: 'since' }, when(time))));

customElements.define(name, Talk);

// The queues: tasks by state, program and words, and what can be done with each.
import { badge, empty, h, list, when } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';
import { hand, programs } from '/assets/people.js';

export const name = 'parley-work';

const states = [['open', 'Open'], ['created', 'Queued'], ['active', 'In work'], ['blocked', 'Blocked'], ['failed', 'Failed'],
  ['done', 'Done'], ['all', 'All']];
const page = 50;

class Work extends View {
  kinds = ['task', 'dream', 'sprint-story'];
  title = 'Work';
  state = new URLSearchParams(location.search).get('state') || 'open';
  target = new URLSearchParams(location.search).get('for') || '';
  words = '';
  pages = 1;

  async load(signal) {
    const wanted = this.state === 'open' ? ['active', 'blocked', 'created'] : [this.state];
    const [overview, ...lists] = await Promise.all([api('/v1/overview', { signal }), ...wanted.map(status => this.some(status, signal))]);
    const leases = new Map(overview.claims.map(c => [c.id, c.leaseUntil])); // a list has none
    const tasks = lists.flatMap(l => l.tasks).map(t => ({ ...t, leaseUntil: t.leaseUntil || leases.get(t.id) }));
    return { tasks, more: lists.some(l => l.more) };
  }

  // some reads as many pages as are shown.
  async some(status, signal) {
    const tasks = [];
    for (let n = 0, cursor = ''; n < this.pages; n++) {
      const r = await api(query('/v1/tasks', { status, target: this.target, limit: page, cursor, type: 'all',
        includeInstructions: 'false' }), { signal });
      tasks.push(...r.tasks.filter(t => t.type !== 'question' && t.type !== 'alert'));
      cursor = r.nextCursor;
      if (!cursor) return { tasks, more: false };
    }
    return { tasks, more: true };
  }

  draw({ tasks, more }) {
    if (!this.firstChild) this.build();
    const words = this.words.toLowerCase();
    const shown = tasks.filter(t => !words ||
      `${t.title} ${t.target} ${t.claimedBy || ''} ${t.projectId || ''}`.toLowerCase().includes(words));
    for (const b of this.querySelectorAll('.tabs button')) b.setAttribute('aria-pressed', b.value === this.state);
    list(this.querySelector('ul.rows'), shown, t => row(t));
    this.querySelector('#nothing').hidden = shown.length > 0;
    this.querySelector('#further').hidden = !more;
  }

  build() {
    const choose = state => {
      this.state = state;
      this.pages = 1;
      history.replaceState(null, '', query('/work', { state, for: this.target }));
      this.update();
    };
    this.append(h('div', { class: 'top' }, h('h1', {}, 'Work'),
      h('button', { type: 'button', class: 'main', 'data-new': true,
        onclick: async () => { if (await hand(this.target)) this.update(); } }, 'New task')),
    h('div', { class: 'filters' },
      h('div', { class: 'tabs', role: 'group', 'aria-label': 'State' }, states.map(([value, text]) =>
        h('button', { type: 'button', value, onclick: () => choose(value) }, text))),
      h('input', { type: 'search', 'aria-label': 'Filter by words', placeholder: 'Filter by words',
        oninput: e => { this.words = e.target.value; this.again(); } }),
      h('input', { type: 'search', 'aria-label': 'Queue of an agent', placeholder: 'Agent’s queue', value: this.target,
        list: 'queues', autocomplete: 'off', onfocus: () => this.suggest(),
        onchange: e => { this.target = e.target.value.trim(); choose(this.state); } }), h('datalist', { id: 'queues' })),
    h('ul', { class: 'rows' }),
    h('div', { id: 'nothing' }, empty('No task is in this state.', 'Agents create tasks with create_task; “New task” makes one here.')),
    h('button', { type: 'button', id: 'further', hidden: true, onclick: () => { this.pages++; this.update(); } }, 'Show more'));
  }

  // suggest offers the names of all queues, once.
  async suggest() {
    const offered = this.querySelector('#queues');
    if (offered.asked) return;
    offered.asked = true;
    try {
      offered.append(...['any', 'user', ...await programs()].map(n => h('option', { value: n })));
    } catch { offered.asked = false; }
  }
}

function row(t) {
  return h('li', { 'data-item': true }, h('a', { href: `/work/${encodeURIComponent(t.id)}` },
    h('span', { class: 'what', dir: 'auto' }, t.priority === 'high' && badge('high'), ' ', t.title),
    h('span', { class: 'state' }, badge(t.status)),
    h('span', { class: 'for', dir: 'auto' }, t.claimedBy && t.claimedBy !== t.target ? `${t.claimedBy} ← ${t.target}` : t.target),
    h('span', { class: 'since' }, t.leaseUntil && t.status === 'active' ? ['lease ends ', when(t.leaseUntil)] :
      when(t.completedAt || t.createdAt),
      t.attempts > 1 ? ` · attempt ${t.attempts}` : '')));
}

customElements.define(name, Work);

// A team as a picture: its members, and its tasks by what they depend on.
import { badge, empty, h, said, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { graph } from '/assets/graph.js';

export const name = 'parley-team';

class Team extends View {
  kinds = ['team', 'process', 'task'];
  title = 'Team';

  async load(signal) {
    const tasks = [];
    const team = await api(`/v1/teams/${this.arg}`, { signal });
    for (let cursor = '', n = 0; n < 10; n++) {
      const r = await api(`/v1/teams/${this.arg}/tasks?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, { signal });
      tasks.push(...r.tasks);
      if (!(cursor = r.nextCursor)) break;
    }
    return { team, tasks };
  }

  draw({ team, tasks }) {
    this.title = team.name;
    if (!this.firstChild) this.append(h('p', { class: 'back' }, h('a', { href: '/sprints' }, '‹ Sprints')),
      h('div', { id: 'head' }), h('div', { id: 'graph', class: 'graph' }));
    this.querySelector('#head').replaceChildren(h('h1', { dir: 'auto' }, team.name),
      team.description && said('p', team.description, { class: 'lead' }),
      h('ul', { class: 'cards two' }, team.members.map(m => h('li', { class: 'card', 'data-item': true, tabindex: -1 },
        h('p', {}, who(m.name), ' ', h('small', {}, m.agentType || '', m.model ? ` · ${m.model}` : '')),
        (team.processes || []).filter(p => p.name === m.name).map(p => h('p', { class: 'faint' }, badge(p.state), p.error || ''))))),
      tasks.length ? '' : empty('This team has no tasks yet.', 'Its members create them with team_task_create.'));
    const levels = new Map(), byId = new Map(tasks.map(t => [t.id, t]));
    const level = (id, path = new Set()) => {
      if (levels.has(id)) return levels.get(id);
      if (path.has(id)) return 0; // a cycle has no level of its own
      const before = byId.get(id).blockedBy.filter(b => byId.has(b)).map(b => level(b, new Set([...path, id])) + 1);
      levels.set(id, Math.max(0, ...before));
      return levels.get(id);
    };
    const columns = [];
    for (const t of tasks) (columns[level(t.id)] ??= []).push(t);
    graph(this.querySelector('#graph'), [...columns].map((some, i) =>
      ({ title: i ? `Level ${i + 1}` : 'First', nodes: (some || []).map(t => {
      const open = t.blockedBy.filter(b => byId.get(b)?.status !== 'completed');
      return { id: t.id, after: t.blockedBy, open, node: h('article', { class: 'card story', tabindex: 0 },
        h('p', { class: 'meta' }, badge(t.status), t.status === 'pending' && !open.length &&
          h('span', { class: 'badge good' }, 'ready'), t.owner && who(t.owner)),
        said('h3', t.subject), open.length > 0 && h('p', { class: 'faint' },
          `waits for ${open.map(b => byId.get(b)?.subject || b).join(', ')}`)) };
    }) })));
  }
}

customElements.define(name, Team);

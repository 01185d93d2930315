// The sprints, and the teams.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';

export const name = 'parley-sprints';

class Sprints extends View {
  kinds = ['sprint', 'sprint-story', 'team'];
  title = 'Sprints';
  pages = { sprints: 1, teams: 1 };

  async load(signal) {
    const [sprints, teams] = await Promise.all([this.some('sprints', signal), this.some('teams', signal)]);
    return { sprints, teams };
  }

  // some reads as many pages of a kind as are shown.
  async some(kind, signal) {
    const items = [];
    let cursor = '';
    for (let n = 0; n < this.pages[kind]; n++) {
      const r = await api(query(`/v1/${kind}`, { limit: 50, cursor }), { signal });
      items.push(...r[kind]);
      if (!(cursor = r.nextCursor)) break;
    }
    return { items, more: !!cursor };
  }

  draw({ sprints, teams }) {
    if (!this.firstChild) {
      const further = kind => h('button', { type: 'button', id: `further-${kind}`, hidden: true,
        onclick: () => { this.pages[kind]++; this.update(); } }, 'Show more');
      this.append(h('h1', {}, 'Sprints'), h('ul', { class: 'rows', id: 'sprints' }),
        h('div', { id: 'nothing' }, empty('There is no sprint yet.',
        'An agent plans one with create_sprint: stories in waves, with what each waits for.')),
        further('sprints'),
        h('section', {}, h('h2', {}, 'Teams'), h('ul', { class: 'rows', id: 'teams' }),
          h('p', { class: 'faint', id: 'no-team' }, 'There is no team yet. A lead founds one with team_create.'), further('teams')));
    }
    list(this.querySelector('#sprints'), sprints.items, s => h('li', { 'data-item': true },
      h('a', { href: `/sprints/${s.sprintId}` }, h('span', { class: 'what', dir: 'auto' }, s.projectName),
      h('span', { class: 'state' }, badge(s.status)), h('span', { class: 'for' }, who(s.source),
        ` · ${s.stories} ${s.stories === 1 ? 'story' : 'stories'}`),
        h('span', { class: 'since' }, when(s.completedAt || s.createdAt)))), s => s.sprintId);
    list(this.querySelector('#teams'), teams.items, t => h('li', { 'data-item': true },
      h('a', { href: `/teams/${encodeURIComponent(t.name)}` }, h('span', { class: 'what', dir: 'auto' }, t.name),
      h('span', { class: 'state' }), h('span', { class: 'for' }, `${t.members} ${t.members === 1 ? 'member' : 'members'}`),
      h('span', { class: 'since' }, when(new Date(t.createdAt).toISOString())))), t => t.name);
    for (const [kind, { items, more }] of Object.entries({ sprints, teams })) {
      this.querySelector(`#further-${kind}`).hidden = !more;
      this.querySelector(kind === 'teams' ? '#no-team' : '#nothing').hidden = items.length > 0;
    }
  }
}

customElements.define(name, Sprints);

// The sprints, and the teams that are known by their keys.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { ask } from '/assets/dialog.js';
import { View } from '/assets/view.js';

export const name = 'parley-sprints';

class Sprints extends View {
  kinds = ['sprint', 'sprint-story', 'team', 'key'];
  title = 'Sprints';

  async load(signal) {
    const [sprints, keys] = await Promise.all([api('/v1/sprints?limit=50', { signal }), api('/v1/keys?limit=100', { signal })]);
    return { sprints: sprints.sprints, teams: [...new Set(keys.keys.filter(k => !k.revokedAt).map(k => k.team).filter(Boolean))].sort().map(id => ({ id })) };
  }

  draw({ sprints, teams }) {
    if (!this.firstChild) {
      this.append(h('h1', {}, 'Sprints'), h('ul', { class: 'rows', id: 'sprints' }), h('div', { id: 'nothing' }, empty('There is no sprint yet.', 'An agent plans one with create_sprint: stories in waves, with what each waits for.')),
        h('section', {}, h('div', { class: 'top' }, h('h2', {}, 'Teams'), h('button', { type: 'button', 'data-new': true, onclick: () => this.open() }, 'Open a team…')),
          h('ul', { class: 'rows', id: 'teams' }), h('p', { class: 'faint', id: 'no-team' }, 'A team is made with team_create. It is listed here once a key is its own, and is opened by its name before.')));
    }
    list(this.querySelector('#sprints'), sprints, s => h('li', { 'data-item': true }, h('a', { href: `/sprints/${s.sprintId}` }, h('span', { class: 'what', dir: 'auto' }, s.projectName),
      h('span', { class: 'state' }, badge(s.status)), h('span', { class: 'for' }, who(s.source), ` · ${s.stories} ${s.stories === 1 ? 'story' : 'stories'}`), h('span', { class: 'since' }, when(s.completedAt || s.createdAt)))), s => s.sprintId);
    list(this.querySelector('#teams'), teams, t => h('li', { 'data-item': true }, h('a', { href: `/teams/${encodeURIComponent(t.id)}` }, h('span', { class: 'what', dir: 'auto' }, t.id))));
    this.querySelector('#nothing').hidden = sprints.length > 0;
    this.querySelector('#no-team').hidden = teams.length > 0;
  }

  async open() {
    const v = await ask({ title: 'Open a team', confirm: 'Open', fields: [{ name: 'id', label: 'Its name', max: 100 }] });
    if (v) this.dispatchEvent(new CustomEvent('parley-go', { bubbles: true, detail: `/teams/${encodeURIComponent(v.id)}` }));
  }
}

customElements.define(name, Sprints);

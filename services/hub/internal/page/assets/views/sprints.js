// The sprints, and the teams that are known by their keys.
import { badge, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { ask } from '/assets/dialog.js';
import { known, remember } from '/assets/known.js';
import { View } from '/assets/view.js';

export const name = 'parley-sprints';

class Sprints extends View {
  kinds = ['sprint', 'sprint-story', 'team', 'key'];
  title = 'Sprints';
  pages = 1;

  concerns(event) {
    if (event.kind === 'team') remember('team', event.line);
    return super.concerns(event);
  }

  async load(signal) {
    const [sprints, keys] = await Promise.all([this.some(signal), api('/v1/keys?limit=100', { signal })]);
    const teams = [...keys.keys.filter(k => !k.revokedAt).map(k => k.team).filter(Boolean), ...known('team')];
    return { ...sprints, teams: [...new Set(teams)].sort().map(id => ({ id })) };
  }

  // some reads as many pages as are shown.
  async some(signal) {
    const sprints = [];
    let cursor = '';
    for (let n = 0; n < this.pages; n++) {
      const r = await api(query('/v1/sprints', { limit: 50, cursor }), { signal });
      sprints.push(...r.sprints);
      if (!(cursor = r.nextCursor)) break;
    }
    return { sprints, more: !!cursor };
  }

  draw({ sprints, teams, more }) {
    if (!this.firstChild) {
      this.append(h('h1', {}, 'Sprints'), h('ul', { class: 'rows', id: 'sprints' }),
        h('div', { id: 'nothing' }, empty('There is no sprint yet.',
        'An agent plans one with create_sprint: stories in waves, with what each waits for.')),
        h('button', { type: 'button', id: 'further', hidden: true, onclick: () => { this.pages++; this.update(); } }, 'Show more'),
        h('section', {}, h('div', { class: 'top' }, h('h2', {}, 'Teams'),
          h('button', { type: 'button', 'data-new': true, onclick: () => this.open() }, 'Open a team…')),
          h('ul', { class: 'rows', id: 'teams' }), h('p', { class: 'faint', id: 'no-team' },
            'A team is made with team_create. Those that have keys of their own, and those that this browser has seen, are listed here; others are opened by their name.')));
    }
    list(this.querySelector('#sprints'), sprints, s => h('li', { 'data-item': true },
      h('a', { href: `/sprints/${s.sprintId}` }, h('span', { class: 'what', dir: 'auto' }, s.projectName),
      h('span', { class: 'state' }, badge(s.status)), h('span', { class: 'for' }, who(s.source),
        ` · ${s.stories} ${s.stories === 1 ? 'story' : 'stories'}`),
        h('span', { class: 'since' }, when(s.completedAt || s.createdAt)))), s => s.sprintId);
    list(this.querySelector('#teams'), teams, t => h('li', { 'data-item': true },
      h('a', { href: `/teams/${encodeURIComponent(t.id)}` }, h('span', { class: 'what', dir: 'auto' }, t.id))));
    this.querySelector('#further').hidden = !more;
    this.querySelector('#nothing').hidden = sprints.length > 0;
    this.querySelector('#no-team').hidden = teams.length > 0;
  }

  async open() {
    const v = await ask({ title: 'Open a team', confirm: 'Open', fields: [{ name: 'id', label: 'Its name', max: 100 }] });
    if (v) this.dispatchEvent(new CustomEvent('parley-go', { bubbles: true, detail: `/teams/${encodeURIComponent(v.id)}` }));
  }
}

customElements.define(name, Sprints);

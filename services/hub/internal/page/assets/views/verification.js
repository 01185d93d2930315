// A verification: its rounds as turns, and its issues by severity.
import { badge, capital, h, said, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-verification';

const order = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'];

class Verification extends View {
  kinds = ['verification'];
  title = 'Verification';

  async load(signal) {
    const [context, issues] = await Promise.all([api(`/v1/verifications/${this.arg}`, { signal }),
      api(`/v1/verifications/${this.arg}/issues?limit=100`, { signal })]);
    return { context, issues: issues.issues };
  }

  draw({ context: c, issues }) {
    this.title = c.target;
    const rank = i => order.indexOf(i.severity) < 0 ? 9 : order.indexOf(i.severity);
    const sorted = [...issues].sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id));
    this.replaceChildren(h('p', { class: 'back' }, h('a', { href: '/talk' }, '‹ Talk')),
      h('p', { class: 'meta' }, badge(c.status), `round ${c.currentRound} · next: ${c.nextRole}`),
        h('h1', { dir: 'auto' }, c.target), said('p', c.requirements, { class: 'said' }),
      h('p', { class: 'lead' },
        `${c.issuesSummary.total} issues, ${c.issuesSummary.unresolved} unresolved, ${c.issuesSummary.criticalUnresolved} of them critical`),
      h('div', { class: 'columns' },
        h('section', { 'aria-labelledby': 'issues-title' }, h('h2', { id: 'issues-title' }, 'Issues'),
          h('ul', { class: 'cards' }, sorted.map(issue))),
        h('section', { 'aria-labelledby': 'rounds-title' }, h('h2', { id: 'rounds-title' }, 'Rounds'),
          h('ol', { class: 'talk' }, [...c.outputs].sort((a, b) => a.round - b.round ||
          (a.at < b.at ? -1 : 1)).map(o => h('li', { class: `turn ${o.role}`, 'data-item': true, tabindex: -1 },
          h('p', { class: 'meta' }, h('span', { class: 'badge' }, `${o.round} · ${o.role}`), who(o.by), ' · ',
            when(o.at)), markdown(o.output)))))));
  }
}

const issue = i => h('li', { class: `card${i.severity === 'CRITICAL' && i.status !== 'RESOLVED' ? ' error' : ''}`,
  'data-item': true, tabindex: -1 },
  h('p', { class: 'meta' }, badge(i.severity), h('span', { class: 'badge' }, capital(i.status.toLowerCase())),
    `${i.id} · round ${i.raisedInRound}`),
  said('h3', i.summary), i.location && h('p', {}, h('code', {}, i.location)), i.description && markdown(i.description));

customElements.define(name, Verification);

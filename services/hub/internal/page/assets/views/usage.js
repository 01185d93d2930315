// The usage: calls, errors, tokens and dollars, by day, agent and tool.
import { count, empty, h, money } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';

export const name = 'parley-usage';

const measures = [['costUsd', 'Dollars', money], ['tokens', 'Tokens', count], ['calls', 'Calls', count], ['errors', 'Errors', count]];
const periods = [[1, 'Today'], [7, '7 days'], [30, '30 days']];

class Usage extends View {
  kinds = ['task'];
  title = 'Usage';
  days = 7;
  measure = 'costUsd';

  async load(signal) {
    const from = new Date(Date.now() - (this.days - 1) * 86_400_000).toISOString().slice(0, 10);
    const [day, program, tool] = await Promise.all(['day', 'program',
      'tool'].map(groupBy => api(query('/v1/usage', { groupBy, from }), { signal })));
    return { from, total: day.total, day: day.groups, program: program.groups, tool: tool.groups };
  }

  draw({ from, total, day, program, tool }) {
    if (!this.firstChild) this.build();
    for (const b of this.querySelectorAll('.tabs button')) b.setAttribute('aria-pressed',
      b.value === String(this.days) || b.value === this.measure);
    this.querySelector('#totals').replaceChildren(...measures.map(([key, title, show]) => h('div', { class: 'card' },
      h('dt', {}, title), h('dd', {}, show(value(total, key))))));
    const all = Array.from({ length: this.days }, (_, i) => new Date(Date.parse(from) + i * 86_400_000).toISOString().slice(0, 10));
    const rows = all.map(key => day.find(g => g.key === key) || { key, calls: 0, errors: 0, tokensIn: 0, tokensOut: 0, costUsd: 0 });
    this.querySelector('#charts').replaceChildren(this.columns(rows), this.rows('By agent', program), this.rows('By tool', tool));
    this.querySelector('#nothing').hidden = total.calls > 0;
  }

  build() {
    const tabs = (label, choices, choose) => h('div', { class: 'tabs', role: 'group', 'aria-label': label },
      choices.map(([v, text]) => h('button', { type: 'button', value: v, onclick: () => choose(v) }, text)));
    this.append(h('h1', {}, 'Usage'), h('div', { class: 'filters' },
      tabs('Period', periods, v => { this.days = v; this.update(); }),
      tabs('Measure', measures, v => { this.measure = v; this.again(); })),
      h('dl', { id: 'totals' }), h('div', { id: 'charts' }),
        h('div', { id: 'nothing', hidden: true }, empty('Nothing was used in this time.',
        'Every call of an agent counts; what it costs is what complete_task reports.')));
  }

  // columns are the days, side by side.
  columns(groups) {
    const show = this.show(), most = Math.max(...groups.map(g => value(g, this.measure)), 0);
    return h('section', { class: 'card' }, h('h2', {}, 'By day'), h('ol', { class: 'columns-chart' }, groups.map((g, i) => {
      const bar = h('span', { class: 'bar', 'aria-hidden': 'true' }), n = value(g, this.measure);
      bar.style.height = `${most ? 100 * n / most : 0}%`;
      const few = groups.length <= 7 || i % 5 === groups.length % 5;
      return h('li', { title: `${day(g.key)}: ${show(n)}` },
        h('span', { class: 'amount' }, n && groups.length <= 7 ? show(n) : ''), h('span', { class: 'track' }, bar),
        h('span', { class: few ? 'label' : 'label hid' }, i ? String(Number(g.key.slice(8))) : day(g.key)));
    })));
  }

  // rows are agents or tools, the greatest first.
  rows(title, groups) {
    const show = this.show(), some = groups.filter(g => value(g, this.measure)).sort((a, b) => value(b,
      this.measure) - value(a, this.measure)).slice(0, 15);
    const most = value(some[0] || {}, this.measure);
    return h('section', { class: 'card' }, h('h2', {}, title), some.length ? h('ul', { class: 'bars plain' }, some.map(g => {
      const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
      bar.style.width = `${100 * value(g, this.measure) / most}%`;
      return h('li', {}, h('span', { dir: 'auto' }, g.key === '(none)' ? 'you, and keys without a program' : g.key),
        h('span', { class: 'amount' }, show(value(g, this.measure))), bar);
    })) : h('p', { class: 'faint' }, 'Nothing in this time.'));
  }

  show() { return measures.find(([key]) => key === this.measure)[2]; }
}

const value = (g, key) => key === 'tokens' ? g.tokensIn + g.tokensOut : g[key];
const day = key => new Date(`${key}T12:00:00Z`).toLocaleDateString('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

customElements.define(name, Usage);

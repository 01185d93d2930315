// A sprint as a picture: its waves as columns, its stories as cards, and what waits for what.
import { badge, h, meter, said, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { graph } from '/assets/graph.js';

export const name = 'parley-sprint';

class Sprint extends View {
  kinds = ['sprint', 'sprint-story'];
  title = 'Sprint';

  load(signal) { return api(`/v1/sprints/${this.arg}`, { signal }); }

  draw(s) {
    this.title = s.projectName;
    if (!this.firstChild) {
      this.append(h('p', { class: 'back' }, h('a', { href: '/sprints' }, '‹ Sprints')), h('div', { id: 'head' }),
        h('div', { id: 'graph', class: 'graph' }));
    }
    const c = s.counts;
    this.querySelector('#head').replaceChildren(h('p', { class: 'meta' }, badge(s.status), 'planned by ', who(s.source),
      ' · ', when(s.createdAt), ' · ', h('code', {}, s.branch)),
      h('h1', { dir: 'auto' }, s.projectName), meter(s.progress, 'Progress of the sprint'),
      h('p', { class: 'lead' }, [['complete', c.complete], ['in work', c.active], ['queued', c.queued],
        ['blocked', c.blocked], ['failed', c.failed], ['skipped', c.skipped]]
        .filter(([, n]) => n).map(([w, n]) => `${n} ${w}`).join(' · ')));
    const held = document.activeElement?.closest?.('#graph [data-story]')?.dataset.story;
    graph(this.querySelector('#graph'), s.waves.map(w => ({ title: `Wave ${w.wave}${w.ended ? ', ended' : w.open ? '' : ', waits'}`,
      nodes: w.stories.map(x => ({ id: x.id, after: x.dependencies, open: x.waitingFor,
        node: this.story(x, s.ready.includes(x.id)) })) })));
    if (held) this.querySelector(`[data-story="${CSS.escape(held)}"] a`)?.focus();
  }

  story(x, ready) {
    const set = (status, words) => () => this.doing(`/v1/sprints/${this.arg}/stories/${encodeURIComponent(x.id)}`,
      { method: 'PATCH', body: { status } }, words);
    const tone = { failed: ' error', complete: ' success', active: ' running', blocked: ' warning' }[x.status] || '';
    return h('article', { class: `card story${tone}`, 'data-story': x.id },
      h('p', { class: 'meta' }, badge(x.status), ready && h('span', { class: 'badge good' }, 'ready'),
        x.complexity === 'high' && h('span', { class: 'badge' }, 'complex'), x.claimedBy && who(x.claimedBy)),
      h('h3', {}, h('a', { href: `/work/${encodeURIComponent(x.taskId)}`, dir: 'auto' }, x.title)),
      x.currentAction && said('p', x.currentAction, { class: 'faint' }),
        x.status === 'active' && meter(x.progress, `Progress of ${x.title}`),
      x.waitingFor.length > 0 && h('p', { class: 'faint' }, `waits for ${x.waitingFor.join(', ')}`),
        x.blockedBy.length > 0 && h('p', { class: 'bad' }, `blocked by ${x.blockedBy.join(', ')}`),
      (x.status === 'failed' || x.status === 'queued') && h('div', { class: 'choices' },
        x.status === 'failed' && h('button', { type: 'button', 'data-act': true, onclick: set('queued', 'Queued again') }, 'Queue again'),
        h('button', { type: 'button', class: 'quiet', onclick: set('skipped', 'Skipped') }, 'Skip')));
  }
}

customElements.define(name, Sprint);

// The open questions alone, which a browser that may only answer them sees.
import { exact, h, list, said } from '/assets/dom.js';
import { api } from '/assets/api.js';

export const name = 'parley-questions';

class Questions extends HTMLElement {
  title = 'Questions';

  async step(signal) {
    const r = await api('/v1/questions?status=pending&limit=100', { signal });
    if (!this.firstChild) {
      this.append(h('section', { 'aria-labelledby': 'list-title' }, h('h1', { id: 'list-title' }, 'Questions'),
        h('p', { id: 'none', hidden: true }, 'No question waits for you.'), h('ul', { id: 'questions' }),
        h('p', { id: 'more', hidden: true }, 'There are more; they show here once some of these are answered.')));
    }
    const find = id => this.querySelector(`#${id}`);
    list(find('questions'), r.questions, q => h('li', { 'data-item': true },
      h('a', { href: `/q/${encodeURIComponent(q.id)}` }, said('span', q.question),
        said('small', q.source || 'an agent without a name'),
        h('small', {}, `${q.verified ? 'verified' : 'not verified'} · ${q.priority} priority · ` +
          `expires ${exact(q.expiresAt)}${q.assurance === 'device' ? ' · for a paired device' : ''}`))));
    find('none').hidden = r.questions.length > 0;
    find('more').hidden = !r.nextCursor;
    return 15_000;
  }
}

customElements.define(name, Questions);

// A council: the request, the answers in the order of their rank, and the conclusion.
import { badge, h, said, when, who } from '/assets/dom.js';
import { api, peek } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-council';

class Council extends View {
  kinds = ['council'];
  title = 'Council';

  async load(signal) {
    const feedback = [];
    for (let cursor = '', n = 0; ; n++) {
      const r = await peek('council', 'get_current_session_data',
        { agent_name: 'user', session_id: this.arg, ...(cursor && { cursor }) }, signal);
      feedback.push(...r.feedback);
      cursor = r.next_cursor;
      if (!r.more || n === 10) return { ...r, feedback };
    }
  }

  draw({ request, feedback, state }) {
    this.title = request?.content || 'Council';
    const rank = new Map((state.ranking || []).map((r, i) => [r.label, { ...r, place: i + 1 }]));
    const answers = [...feedback].sort((a, b) => (rank.get(a.label)?.mean_rank ?? 99) - (rank.get(b.label)?.mean_rank ?? 99));
    this.replaceChildren(h('p', { class: 'back' }, h('a', { href: '/talk' }, '‹ Talk')),
      h('p', { class: 'meta' }, badge(state.status || request?.status || 'open'), 'Council of ',
        who(request?.created_by), ' · ', when(request?.created_at)),
      said('h1', request?.content || 'No request'),
      h('p', { class: 'lead' }, `${state.counts.responses} of ${state.counts.participants} have answered`,
        state.pending_participants?.length ? `; ${state.pending_participants.join(', ')} not yet` : ''),
      state.conclusion ? h('section', { class: 'card success' },
        h('p', { class: 'meta' }, 'Conclusion by ', who(state.conclusion.author), ' · ',
        when(state.conclusion.created_at)), markdown(state.conclusion.content)) :
        h('div', { class: 'choices' }, h('button', { type: 'button', class: 'main', 'data-new': true,
          onclick: () => this.answer() }, 'Answer in this council')),
      h('ul', { class: 'cards' }, answers.map(a => h('li', { class: 'card', 'data-item': true, tabindex: -1 },
        h('p', { class: 'meta' }, rank.has(a.label) ? h('span', { class: 'badge go' },
          `${rank.get(a.label).place}. · mean rank ${rank.get(a.label).mean_rank.toFixed(1)}`) : null,
          h('span', { class: 'badge' }, a.label), who(a.author), ' · ', when(a.created_at)), markdown(a.content)))),
      answers.length ? '' : h('p', { class: 'faint' }, 'No answer has come yet.'));
  }

  async answer() {
    const done = await ask({ title: 'Your answer', confirm: 'Send',
      fields: [{ name: 'content', label: 'Answer', type: 'textarea', max: 20000 }],
      act: async ({ content }) => {
        await api(`/v1/councils/${this.arg}/join`, { body: { agent_name: 'user' } }).catch(e => { if (e.status !== 409) throw e; });
        await api(`/v1/councils/${this.arg}/responses`, { body: { agent_name: 'user', content } });
      } });
    if (done) this.update();
  }
}

customElements.define(name, Council);

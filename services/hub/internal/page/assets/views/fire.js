// A fire: the log of the debate, the plan with its history, and the duel as turns.
import { badge, capital, h, list, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';
import { changes } from '/assets/diff.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-fire';

class Fire extends View {
  kinds = ['fire'];
  title = 'Fire';

  get path() { return `/v1/fires/${this.arg}`; }

  async load(signal) {
    const fire = await api(this.path, { signal });
    const older = Array.from({ length: Math.min(5, Math.max(0, fire.plan.version - 1)) },
      (_, i) => fire.plan.version - 1 - i).filter(v => v > 0);
    const [messages, duels, ...plans] = await Promise.all([this.log(signal), api(`${this.path}/duels?limit=10`, { signal }),
      ...older.map(v => api(`${this.path}?planVersion=${v}`, { signal }).then(f => f.plan))]);
    return { fire, messages, duels: duels.duels, plans: [fire.plan, ...plans] };
  }

  async log(signal) {
    const messages = [];
    for (let cursor = '', n = 0; n < 10; n++) {
      const r = await api(`${this.path}/messages?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, { signal });
      messages.push(...r.messages);
      cursor = r.nextCursor;
      if (!r.more) break;
    }
    return messages;
  }

  draw({ fire, messages, duels, plans }) {
    this.title = `Fire ${fire.id}`;
    if (!this.firstChild) {
      this.append(h('p', { class: 'back' }, h('a', { href: '/talk' }, '‹ Talk')),
        h('h1', {}, `Fire `, h('bdi', {}, fire.id)), h('div', { id: 'duel' }),
        h('div', { class: 'columns' }, h('section', { 'aria-labelledby': 'log-title' },
          h('h2', { id: 'log-title' }, 'Debate'), h('ol', { class: 'talk', id: 'log' }),
          h('button', { type: 'button', 'data-new': true, onclick: () => this.say() }, 'Say something')),
        h('section', { 'aria-labelledby': 'plan-title' }, h('h2', { id: 'plan-title' }, 'Plan'),
          h('div', { id: 'plan' }))), h('div', { id: 'past' }));
    }
    const find = id => this.querySelector(`#${id}`);
    find('duel').replaceChildren(...(fire.duel ? [this.duel(fire.duel, true)] : []));
    list(find('log'), messages, m => h('li', { class: 'turn', 'data-item': true, tabindex: -1 },
      h('p', { class: 'meta' }, who(m.author || (m.human ? 'a person' : '')), ' · ', when(m.createdAt)),
      markdown(m.text)), m => m.seq);
    find('plan').replaceChildren(...plans.map((p, i) => h('details', { open: i === 0, class: 'card' },
      h('summary', {}, `Version ${p.version} `, h('small', {}, p.author ? ['by ', who(p.author), ' · '] : '',
        when(p.createdAt), p.cause === 'verdict' ? ' · by a verdict' : '')),
      plans[i + 1] ? changes(plans[i + 1].content, p.content) : changes(p.content, p.content))));
    const ended = duels.filter(d => d.outcome);
    find('past').replaceChildren(...(ended.length ? [h('h2', {}, 'Duels before'), ...ended.map(d => this.duel(d, false))] : []));
  }

  duel(d, open) {
    return h('section', { class: `card${open ? ' warning' : ''}` },
      h('div', { class: 'top' }, h('h2', {}, 'Duel: ', who(d.challengerName), ' against ', who(d.defenderName)),
        open && !d.judgeName && h('button', { type: 'button', class: 'main', onclick: () => this.judge() }, 'Take the seat of the judge')),
      h('p', { class: 'meta' }, open ? ['Turn of the ', capital(d.currentTurn.toLowerCase()), ' · until ',
        when(d.turnDeadline)] : [badge(d.outcome.result), d.outcome.winner ? ` ${d.outcome.winner} won` : ''],
        d.judgeName ? [' · judge: ', who(d.judgeName)] : ' · no judge yet'),
      markdown(d.thesisOfAttack),
      h('ol', { class: 'talk' }, d.transcript.map(t => h('li', { class: `turn ${t.role}` },
        h('p', { class: 'meta' }, h('span', { class: 'badge' }, t.role), who(t.name), ' · ', when(t.at)),
        markdown(t.text)))),
      open && d.judgeName === 'user' && (d.currentTurn.toLowerCase() === 'judge' ?
        h('div', { class: 'choices' }, h('button', { type: 'button', class: 'main', onclick: () => this.verdict() }, 'Give the verdict')) :
        h('p', { class: 'faint' }, 'You are the judge. The verdict is yours once both have spoken.')));
  }

  judge() { return this.doing(`${this.path}/duel/oath`, { body: { character_name: 'user' } }, 'You are the judge'); }

  async verdict() {
    const done = await ask({ title: 'The verdict', confirm: 'Give it', fields: [
      { name: 'winner', label: 'Who has won', options: ['challenger', 'defender'] },
      { name: 'ruling_rationale', label: 'Why', type: 'textarea' },
        { name: 'required_plan_mutation', label: 'The plan from now on', type: 'textarea',
        value: this.last.fire.plan.content }],
    act: v => api(`${this.path}/duel/verdict`, { body: { ...v, character_name: 'user' } }) });
    if (done) this.update();
  }

  async say() {
    const done = await ask({ title: 'Say something', confirm: 'Send',
      fields: [{ name: 'text', label: 'Message', type: 'textarea', max: 4000 }],
      act: ({ text }) => api(`${this.path}/messages`, { body: { text, author: 'user' } }) });
    if (done) this.update();
  }
}

customElements.define(name, Fire);

// The mail between agents: threads, unacknowledged messages, and dead letters.
import { badge, capital, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';
import { toast } from '/assets/dialog.js';
import { programs, write } from '/assets/people.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-mail';

class Mail extends View {
  kinds = ['message', 'group'];
  title = 'Mail';
  who = new URLSearchParams(location.search).get('with') || '';
  open = new Set(); // threads that the person has opened
  found = new URLSearchParams(location.search).get('message') || ''; // the message that a search has found
  led = !this.found; // the person was brought to it

  async load(signal) {
    const all = await programs(signal);
    const read = async target => {
      const r = await api(query('/v1/messages', { target, includeDelivered: 'true', limit: 100 }), { signal });
      return r.messages;
    };
    const targets = [...new Set([...(this.who ? [this.who] : all.slice(0, 30)), 'user'])];
    const [dead, ...boxes] = await Promise.all([api('/v1/messages/dead?limit=50', { signal }),
      ...targets.map(t => read(t).catch(e => { if (e.temporary || signal?.aborted) throw e; return []; }))]);
    const messages = [...new Map(boxes.flat().map(m => [m.multicastId || m.id, m])).values()];
    return { all, messages, dead: dead.messages };
  }

  draw({ all, messages, dead }) {
    if (!this.firstChild) this.build();
    const threads = new Map();
    for (const m of messages.sort((a, b) => a.createdAt < b.createdAt ? -1 : 1)) {
      const id = m.threadId || [m.source, m.addressedTo || m.target].sort().join(' and ');
      threads.set(id, [...(threads.get(id) || []), m]);
    }
    const shown = [...threads].map(([id, mail]) => ({ id, mail })).sort((a, b) => latest(a) < latest(b) ? 1 : -1);
    if (!this.led) this.lead(shown);
    const choice = this.querySelector('select');
    choice.replaceChildren(h('option', { value: '' }, 'All agents'),
      ...[...new Set([...all, ...(this.who ? [this.who] : [])])].map(n => h('option', { value: n }, n)));
    choice.value = this.who;
    list(this.querySelector('#threads'), shown, t => this.thread(t));
    list(this.querySelector('#dead'), dead, m => this.letter(m));
    this.querySelector('#died').hidden = !dead.length;
    this.querySelector('#nothing').hidden = shown.length > 0 || dead.length > 0;
  }

  build() {
    this.append(h('div', { class: 'top' }, h('h1', {}, 'Mail'),
      h('select', { 'aria-label': 'Mail of', onchange: e => {
        this.who = e.target.value;
        history.replaceState(null, '', query('/mail', { with: this.who }));
        this.update();
      } }),
      h('button', { type: 'button', class: 'main', 'data-new': true,
        onclick: async () => { if (await write()) this.update(); } }, 'Write')),
    h('section', { id: 'died', hidden: true, 'aria-labelledby': 'died-title' },
      h('h2', { id: 'died-title' }, 'Dead letters'), h('ul', { class: 'cards', id: 'dead' })),
    h('h2', {}, 'Threads'), h('ul', { class: 'cards', id: 'threads' }),
    h('div', { id: 'nothing' }, empty('No agent has written to another.',
      'Agents send mail with send_message; “Write” sends one from you.')));
  }

  // lead opens the thread of the message that was found, and brings it before the person, once.
  lead(threads) {
    this.led = true;
    const thread = threads.find(t => t.mail.some(m => m.id === this.found));
    if (!thread) return toast('That message is not among the latest that are shown here.');
    this.open.add(thread.id);
    setTimeout(() => this.querySelector('.found')?.scrollIntoView({ block: 'center' }));
  }

  thread({ id, mail }) {
    const people = [...new Set(mail.flatMap(m => [m.source, m.addressedTo || m.target]))];
    const waits = mail.filter(m => m.needsAck && m.status !== 'acknowledged').length;
    const last = mail.at(-1);
    const box = h('details', { open: this.open.has(id), ontoggle: () => box.open ? this.open.add(id) : this.open.delete(id) },
      h('summary', {}, h('span', { class: 'what' }, h('bdi', {},
        mail[0].threadId ? capital(id) : people.join(' and '))), h('small', {}, `${mail.length} · `, when(last.createdAt)),
        h('span', { class: 'faint line', dir: 'auto' },
          waits > 0 && h('span', { class: 'badge warn' }, `${waits} not acknowledged`), `${last.source}: ${last.message}`)),
      h('ol', { class: 'talk' }, mail.map(m => h('li', { class: m.id === this.found ? 'turn found' : 'turn',
        'aria-current': m.id === this.found && 'true' },
        h('p', { class: 'meta' }, who(m.source), ' to ', who(m.addressedTo || m.target), ' · ', when(m.createdAt), ' ',
          h('span', { class: 'badge' }, m.message_type.toLowerCase()), m.priority === 'high' && badge('high'),
          m.needsAck && m.status !== 'acknowledged' && h('span', { class: 'badge warn' },
            m.status === 'pending' ? 'unread' : 'not acknowledged')),
        markdown(m.message)))),
      h('div', { class: 'choices' }, h('button', { type: 'button', onclick: async () => {
        if (await write(last.source, { threadId: mail[0].threadId })) this.update();
      } }, 'Write in this thread')));
    return h('li', { class: 'card thread', 'data-item': true, tabindex: -1 }, box);
  }

  letter(m) {
    return h('li', { class: 'card error', 'data-item': true },
      h('p', { class: 'meta' }, badge('dead', `: ${m.reason}`), who(m.source), ' to ', who(m.addressedTo || m.target),
        ' · ', when(m.createdAt)),
      h('div', { class: 'body' }, markdown(m.message)),
      h('div', { class: 'choices' }, h('button', { type: 'button', 'data-act': true, onclick: async () => {
        if (await write(m.target, { message: m.message, threadId: m.threadId })) this.update();
      } }, 'Send again…')));
  }
}

const latest = t => t.mail.at(-1).createdAt;

customElements.define(name, Mail);

// The inbox: what waits for the person, and what went wrong.
import { badge, capital, empty, h, list, said, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { toast } from '/assets/dialog.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-inbox';

const most = 20; // of one kind that are shown
const grace = 5000; // ms in which an answer by one tap can be taken back
const slot = 'parley.seen'; // until when the person has seen the inbox
const weight = { high: 0, normal: 1, low: 2 }, graver = { error: 0, warning: 1 };

function read() {
  try { return localStorage.getItem(slot) || ''; } catch { return ''; }
}

class Inbox extends View {
  kinds = ['question', 'alert', 'task', 'dream', 'sprint-story'];
  title = 'Inbox';
  seen = read(); // newer entries are unread
  going = new Map(); // answers that are sent soon: {response, timer} by question

  connectedCallback() {
    this.leave = () => { if (document.hidden) this.flush(); };
    document.addEventListener('visibilitychange', this.leave);
    addEventListener('pagehide', this.flushAll = () => this.flush());
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.leave);
    removeEventListener('pagehide', this.flushAll);
    this.flush();
    try { localStorage.setItem(slot, new Date().toISOString()); } catch { /* all is unread then */ }
  }

  async load(signal) {
    const tasks = (fields, texts = false) => api(`/v1/tasks?limit=${most}&includeInstructions=${texts}&${fields}`, { signal });
    const questions = api('/v1/questions?status=pending&limit=100', { signal });
    try {
      const [q, alerts, mine, failed, blocked] = await Promise.all([questions, tasks('type=alert&status=created'),
        tasks('type=task&status=created&target=user', true), tasks('type=task&status=failed'), tasks('type=task&status=blocked')]);
      return { questions: q.questions, alerts: alerts.tasks, mine: mine.tasks.filter(t => t.target === 'user'),
        trouble: [...blocked.tasks, ...failed.tasks],
        more: !!(alerts.nextCursor || mine.nextCursor || failed.nextCursor || blocked.nextCursor) };
    } catch (e) {
      if (e.status !== 403) throw e;
      return { questions: (await questions).questions, alerts: [], mine: [], trouble: [], few: true };
    }
  }

  draw({ questions, alerts, mine, trouble, few, more = false }) {
    if (!this.firstChild) this.build();
    const sorted = items => items.map(i => ({ ...i, unread: i.createdAt > this.seen }))
      .sort((a, b) => b.unread - a.unread || weight[a.priority] - weight[b.priority] ||
        (graver[a.alertType] ?? 2) - (graver[b.alertType] ?? 2) || (a.createdAt < b.createdAt ? 1 : -1));
    const part = (id, items, make) => {
      this.querySelector(`#${id}`).hidden = !items.length;
      this.querySelector(`#${id} h2 small`).textContent = items.length || '';
      list(this.querySelector(`#${id} ul`), sorted(items), item => make.call(this, item));
    };
    part('asked', [...questions, ...mine], i => i.question ? this.question(i) : this.task(i));
    part('alerts', alerts, this.alert);
    part('trouble', trouble, this.trouble);
    this.querySelector('#nothing').hidden = questions.length + mine.length + alerts.length + trouble.length > 0;
    this.querySelector('#few').hidden = !few;
    this.querySelector('#more').hidden = !more;
  }

  build() {
    const part = (id, title) => h('section', { id, hidden: true, 'aria-labelledby': `${id}-title` },
      h('h2', { id: `${id}-title` }, title, ' ', h('small', {})), h('ul', { class: 'cards' }));
    this.append(h('h1', {}, 'Inbox'),
      h('p', { id: 'few', hidden: true }, 'This browser may only answer questions. A link of ',
        h('code', {}, 'parley link --console'), ' opens the rest.'),
      part('asked', 'Waits for you'), part('alerts', 'Alerts'), part('trouble', 'Failed and blocked'),
      h('p', { id: 'more', class: 'back', hidden: true },
        h('a', { href: '/work?state=failed' }, `Each part shows the first ${most}: all are in Work ›`)),
      h('div', { id: 'nothing', hidden: true }, empty('Nothing waits for you.',
        'Questions, alerts and tasks for you come here. An agent asks with ask_question, and alerts with send_alert.')));
  }

  head(i, what) {
    return h('p', { class: 'meta' }, i.unread && h('span', { class: 'dot', role: 'img', 'aria-label': 'unread' }),
      i.priority === 'high' && badge('high', ' priority'), what, who(i.source || i.claimedBy), ' · ', when(i.createdAt));
  }

  question(q) {
    const wait = this.going.get(q.id);
    const box = h('li', { class: `card${q.priority === 'high' ? ' urgent' : ''}`, 'data-item': true }, this.head(q, ''),
      h('h3', {}, h('a', { href: `/q/${encodeURIComponent(q.id)}`, dir: 'auto' }, q.question)));
    if (q.context) box.append(h('div', { class: 'clamp' }, markdown(q.context)));
    const asks = q.assurance === 'passkey'; // on its page, where the person is asked
    const options = asks ? [] : (q.options || []).filter(o => o.trim());
    const row = h('div', { class: 'choices' });
    const offer = () => row.replaceChildren(...(options.length ? options.map((o, n) => h('button', { type: 'button', dir: 'auto',
      class: 'option', 'data-act': n === 0, onclick: () => this.answer(q, o, row, offer) }, o)) :
      [h('a', { class: 'button', 'data-act': true, href: `/q/${encodeURIComponent(q.id)}` }, asks ? 'Answer with a passkey…' : 'Answer…')]),
    ...(options.length ? [h('a', { class: 'button quiet', href: `/q/${encodeURIComponent(q.id)}` }, 'In other words…')] : []));
    if (wait) this.count(q, row, offer);
    else offer();
    box.append(row);
    return box;
  }

  // answer sends an option after the time in which it can be taken back.
  answer(q, response, row, offer) {
    const timer = setTimeout(() => this.send(q.id), grace);
    this.going.set(q.id, { response, timer });
    this.count(q, row, offer);
  }

  count(q, row, offer) {
    const undo = h('button', { type: 'button', class: 'undo', onclick: () => {
      clearTimeout(this.going.get(q.id)?.timer);
      this.going.delete(q.id);
      offer();
      row.querySelector('button')?.focus();
    } }, 'Undo');
    row.replaceChildren(h('p', { class: 'sending', role: 'status' }, 'Answers ', said('strong', this.going.get(q.id).response)), undo);
    undo.focus({ preventScroll: true });
  }

  async send(id, keepalive = false) {
    const wait = this.going.get(id);
    if (!wait) return;
    this.going.delete(id);
    clearTimeout(wait.timer);
    try {
      await api(`/v1/questions/${id}/answer`, { body: { response: wait.response }, keepalive });
      toast(`Answered: ${wait.response}`);
    } catch (e) {
      toast(e.status === 409 ? 'It was answered elsewhere, was withdrawn, or has expired.' : `Not answered: ${e.message}`);
      if (this.last) this.querySelector('#asked ul').known?.clear();
    }
    if (this.isConnected) this.update();
  }

  // flush sends the answers that still wait, because the person leaves.
  flush() { for (const id of [...this.going.keys()]) this.send(id, true); }

  alert(a) {
    return h('li', { class: `card ${a.alertType || ''}`, 'data-item': true },
      this.head(a, badge(a.alertType || 'info')),
      h('h3', {}, h('a', { href: `/work/${encodeURIComponent(a.id)}`, dir: 'auto' }, a.title)),
      a.context && h('div', { class: 'clamp' }, markdown(a.context)),
      h('div', { class: 'choices' }, h('button', { type: 'button', 'data-act': true,
        onclick: () => this.doing(`/v1/tasks/${a.id}`, { method: 'PATCH', body: { status: 'done' } }, 'Acknowledged') }, 'Acknowledge')));
  }

  task(t) {
    return h('li', { class: 'card', 'data-item': true }, this.head(t, h('span', { class: 'badge' }, capital(t.type))),
      h('h3', {}, h('a', { href: `/work/${encodeURIComponent(t.id)}`, dir: 'auto' }, t.title)),
      t.instructions && h('div', { class: 'clamp' }, markdown(t.instructions)),
      h('div', { class: 'choices' }, h('button', { type: 'button', 'data-act': true, onclick: () => this.done(t) }, 'Done'),
        h('a', { class: 'button quiet', href: `/work/${encodeURIComponent(t.id)}` }, 'Open')));
  }

  // done claims a task for the person and completes it.
  async done(t) {
    try {
      const { claimToken } = await api(`/v1/tasks/${t.id}/claim`, { body: {} });
      await this.doing(`/v1/tasks/${t.id}/complete`, { body: { claimToken } }, 'Done');
    } catch (e) { toast(e.message); }
  }

  trouble(t) {
    const set = (status, words) => () => this.doing(`/v1/tasks/${t.id}`, { method: 'PATCH', body: { status } }, words);
    return h('li', { class: `card ${t.status === 'failed' ? 'error' : 'warning'}`, 'data-item': true }, this.head(t, badge(t.status)),
      h('h3', {}, h('a', { href: `/work/${encodeURIComponent(t.id)}`, dir: 'auto' }, t.title)),
      (t.result || t.note || t.reason) && h('div', { class: 'clamp' }, markdown(t.result || t.note || t.reason)),
      h('div', { class: 'choices' }, t.status === 'failed' ?
        h('button', { type: 'button', 'data-act': true, onclick: set('created', 'Queued again') }, 'Queue again') : null,
        h('button', { type: 'button', class: 'quiet', 'data-act': t.status !== 'failed',
          onclick: set('derezzed', 'Cancelled') }, t.status === 'failed' ? 'Dismiss' : 'Cancel')));
  }
}

customElements.define(name, Inbox);

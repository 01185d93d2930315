// The question's page: one question with its answer, or whatever else a push notification is about.
import { $, capital, h, now, said, set, span, when } from '/assets/dom.js';
import { api, Fault, isDevice } from '/assets/api.js';
import { markdown } from '/assets/markdown.js';
import { answer, can, elsewhere, place, there } from '/assets/passkey.js';

export const name = 'parley-question';

class Question extends HTMLElement {
  title = 'Question';
  task = null;
  ended = false;
  waited = false; // this page has shown the question as open
  sent = null; // the last answer that this page sent
  sending = false;
  last = ''; // the displayed data, as JSON
  timer = 0;

  connectedCallback() { if (this.task) this.show(this.task); }
  disconnectedCallback() { clearTimeout(this.timer); }
  // forget: the task is loaded again after a sign-in; a typed answer stays.
  forget() { this.task = null; }

  // build makes the parts of the page, once.
  build() {
    if (this.firstChild) return;
    this.append(h('article', { id: 'task', 'aria-labelledby': 'title' },
      h('p', { id: 'from' }, h('span', { id: 'kind' }), ' from ', h('bdi', { id: 'source' }), ' ', h('span', { id: 'verified' }), ' ',
        h('span', { id: 'about' })),
      h('h1', { id: 'title', dir: 'auto' }),
      h('dl', { id: 'parts' }),
      h('p', { id: 'state', role: 'status', tabindex: -1 }), h('p', { id: 'left' }), h('p', { id: 'guarded', hidden: true }),
      h('p', { id: 'standing', class: 'said', dir: 'auto', hidden: true }),
      h('form', { id: 'answer', hidden: true },
        h('fieldset', { id: 'options' }, h('legend', {}, 'Choose an answer'), h('div', { id: 'choices' })),
        h('label', { for: 'text', id: 'text-label' }), h('textarea', { id: 'text', rows: 3, maxlength: 4000, dir: 'auto' }),
        h('p', { id: 'refused', role: 'alert' }),
        h('div', { class: 'sticky' }, h('button', { class: 'main', id: 'send', disabled: true }, 'Send'))),
      h('p', { id: 'next', hidden: true })));
    const find = id => this.querySelector(`#${id}`);
    find('answer').addEventListener('submit', event => this.send(event));
    find('choices').addEventListener('change', () => this.redraw());
    for (const type of ['input', 'focus']) find('text').addEventListener(type, () => this.typed());
  }

  // step returns the pause until the next update in ms, or -1 if nothing will change.
  async step(signal, failed) {
    const id = this.arg;
    if (this.task?.type !== 'question') {
      const t = await api(`/v1/tasks/${id}`, { signal });
      this.build();
      if (!this.isConnected) $('view').replaceChildren(this);
      if (this.isNew(t) || !this.task) this.show(t);
    }
    $('view').hidden = false;
    $('sign-in').hidden = true;
    if (this.task.type !== 'question') return 20_000;
    if (this.ended) return -1;
    const began = Date.now();
    this.showEnd(await api(`/v1/questions/${id}/response?waitMs=${failed ? 0 : 50_000}`, { signal }));
    return this.ended ? -1 : Date.now() - began < 5000 ? 1000 : 0; // a server that shuts down answers at once
  }

  // isNew: the data differs from the displayed data.
  isNew(data) { return this.last !== (this.last = JSON.stringify(data)); }

  // show displays the parts of a task that do not change.
  show(t) {
    this.task = t;
    const q = t.type === 'question' ? t.question : null;
    set('kind', capital(t.type));
    this.title = capital(t.type);
    set('source', t.source || 'an agent without a name');
    set('verified', t.verified ? '(verified)' : '(not verified)');
    this.guard();
    $('about').replaceChildren(`· ${t.alertType ? t.alertType + ' · ' : ''}${t.priority === 'normal' ? '' : `${t.priority} priority · `}`,
      when(t.createdAt));
    $('task').classList.toggle('urgent', t.priority === 'high');
    set('title', q ? q.content : t.title);
    const parts = ['instructions', 'context', 'note', 'result', 'reason'].filter(p => t[p] && t[p] !== t.title);
    $('parts').replaceChildren(...parts.flatMap(p => [h('dt', {}, capital(p)), h('dd', { class: 'said' }, markdown(t[p]))]));
    $('answer').hidden = !q;
    if (q) this.showQuestion(q);
    else set('state', `Status: ${t.status}`);
  }

  // guard says whether this browser may answer, where not every one may.
  guard() {
    if (!this.isConnected || !this.firstChild) return;
    const demanded = this.task?.question?.assurance;
    $('guarded').hidden = !['device', 'passkey'].includes(demanded) || this.task.status !== 'created' || this.ended;
    if (demanded === 'passkey') return this.guardPasskey();
    set('guarded', isDevice() ? 'Only a paired device may answer this. This browser is one.' :
      'Only a paired device may answer this, and this browser is none. Open it on a paired one.');
  }

  // guardPasskey says how a question that demands a passkey is answered here, or where it is.
  guardPasskey() {
    const words = can() ? ['Sending asks for your passkey: nothing else answers this.'] :
      elsewhere() ? ['Only a passkey answers this, and passkeys work at ', h('code', {}, place), '. ',
        h('button', { type: 'button', onclick: event => there().catch(e => event.target.replaceWith(e.message)) }, 'Open it there')] :
        ['Only a passkey answers this, and this browser has none here. Open it in one that has.'];
    if ($('guarded').dataset.for === words[0]) return;
    $('guarded').dataset.for = words[0];
    $('guarded').replaceChildren(...words);
  }

  showQuestion(q) {
    const options = (q.options || []).filter(o => o.trim());
    $('choices').replaceChildren(...options.map(o => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'choice', value: o }), said('span', o))));
    $('options').hidden = !options.length;
    set('text-label', options.length ? 'Or answer in your own words' : 'Your answer');
    set('state', 'Waiting for your answer');
    this.ended = false;
    if (this.task.status === 'done') this.showEnd({ ...q, status: 'answered' });
    else if (this.task.status === 'derezzed') {
      const { cancelledBy, reason, note } = this.task;
      this.showEnd({ status: 'expired', withdrawn: cancelledBy && (reason || note || 'its answer is not needed any more') });
    }
    else this.waited = true;
    this.tick();
    this.redraw();
  }

  // tick updates the countdown to the expiry, by the server's clock.
  tick() {
    clearTimeout(this.timer);
    if (this.ended || this.task?.type !== 'question' || !this.isConnected) return;
    const left = Date.parse(this.task.expiresAt) - now();
    if (left <= 0) return this.finish('This question expired without an answer');
    set('left', `Expires in ${span(left)}`);
    this.timer = setTimeout(() => this.tick(), Math.min(left, 1000));
  }

  // finish removes the means to answer. Text that was not sent stays readable.
  finish(state, mine) {
    set('state', state);
    set('left', '');
    set('refused', '');
    $('answer').hidden = mine || !$('text').value.trim();
    $('options').hidden = $('send').hidden = $('text').readOnly = true;
    set('text-label', 'What you wrote, which was not sent');
    this.offerNext();
  }

  // showEnd displays a question's final result.
  showEnd(r) {
    if (r.status === 'pending' || !this.isConnected) return;
    this.ended = true;
    clearTimeout(this.timer);
    if (r.status === 'expired') {
      return this.finish(r.withdrawn ? `This question was withdrawn: ${r.withdrawn}` : 'This question expired without an answer');
    }
    const mine = r.response === this.sent;
    this.finish(this.waited && !mine ? 'This question was answered elsewhere' : 'This question is answered', mine);
    const how = { passkey: ' · with a passkey', device: ' · from a paired device', local: ' · from the machine of the agents' }[r.answeredWith] || '';
    $('left').replaceChildren(when(r.answeredAt) || '', `${r.answeredBy ? ` · by ${r.answeredBy}` : ''}${how}`);
    this.guard();
    set('standing', r.response);
    $('standing').hidden = false;
  }

  // offerNext leads to the next question, or to the inbox.
  async offerNext() {
    let next = null;
    try {
      const r = await api('/v1/questions?status=pending&limit=2');
      next = r.questions.find(q => q.id !== this.task?.id);
    } catch { /* the inbox is offered */ }
    if (!this.isConnected) return;
    $('next').replaceChildren(next ? h('a', { class: 'button main', href: `/q/${encodeURIComponent(next.id)}` },
      h('small', {}, 'Next question'), said('span', next.question)) :
        h('a', { class: 'button', href: this.home() }, 'Nothing else waits: to the inbox'));
    $('next').hidden = false;
  }

  home() { return (this.shell.me()?.scopes || []).includes('answer') ? '/q' : '/'; }

  // ---- The answer

  picked() { return this.querySelector('#choices :checked'); }
  chosen() { return this.picked()?.value ?? $('text').value; }

  // redraw shows the answer that the button would send.
  redraw() {
    $('send').disabled = this.sending || !this.chosen().trim();
    set('send', this.sending ? 'Sending…' : this.picked() ? `Send: ${this.chosen()}` : 'Send');
    $('options').disabled = this.sending;
    $('text').readOnly = this.sending || $('send').hidden;
  }

  // typed deselects the option, so that the text is the answer.
  typed() {
    if ($('text').value.trim() && this.picked() && !this.sending) this.picked().checked = false;
    this.redraw();
  }

  async send(event) {
    event.preventDefault();
    if ($('send').disabled || this.ended) return;
    this.sending = true;
    this.sent = this.chosen();
    set('refused', '');
    this.redraw();
    try {
      const passkey = this.task.question.assurance === 'passkey';
      this.showEnd(await (passkey ? answer(this.arg, this.sent) : api(`/v1/questions/${this.arg}/answer`, { body: { response: this.sent } })));
    } catch (e) {
      await this.showError(e);
    }
    this.sending = false;
    if (!this.isConnected) return;
    this.redraw();
    (this.ended ? $('state') : $('send')).focus();
  }

  // showError shows why an answer was refused, or the answer that was accepted instead.
  async showError(e) {
    if (e.status === 409) {
      try {
        this.showEnd(await api(`/v1/questions/${this.arg}/response`));
        if (this.task.question.assurance !== 'passkey') e = new Fault(503, 'The question is being changed.');
      } catch (f) { e = f; }
    }
    if (this.ended) return;
    if (e.status === 401) {
      this.dispatchEvent(new CustomEvent('signed-out', { bubbles: true, detail: e }));
      return;
    }
    set('refused', e.temporary ? `${e.message} Your answer is still here: send it again.` : e.message);
  }
}

customElements.define(name, Question);

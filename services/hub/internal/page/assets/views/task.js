// One task with its whole history, and the actions of a person.
import { badge, capital, count, h, money, said, when, who } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';
import { move } from '/assets/people.js';
import { markdown } from '/assets/markdown.js';

export const name = 'parley-task';

class Task extends View {
  title = 'Task';

  concerns(event) { return event.id === this.arg; }

  load(signal) { return api(`/v1/tasks/${this.arg}`, { signal }); }

  draw(t) {
    this.title = t.title;
    const text = (title, words) => words && words !== t.title ? [h('h2', {}, title), h('div', { class: 'said' }, markdown(words))] : [];
    this.replaceChildren(h('p', { class: 'back' }, h('a', { href: '/work' }, '‹ Work')),
      h('p', { class: 'meta' }, badge(t.status), t.priority !== 'normal' && badge(t.priority, ' priority'),
        h('span', {}, t.alertType ? `${capital(t.alertType)} alert` : capital(t.type)), ' from ', who(t.source),
          h('small', {}, t.verified ? ' (verified)' : ' (not verified)')),
      h('h1', { dir: 'auto' }, t.title), this.actions(t), this.facts(t),
      ...text('What to do', t.instructions), ...text('Context', t.context), ...text('Note', t.note),
        ...text('Result', t.result), ...text('Reason', t.reason),
      h('h2', {}, 'History'), h('ol', { class: 'history' },
        history(t).map(([at, what, by]) => h('li', {}, when(at), ' ', what, by ? [' by ', who(by)] : ''))));
  }

  actions(t) {
    const set = (status, words) => () => this.doing(`/v1/tasks/${t.id}`, { method: 'PATCH', body: { status } }, words);
    const sure = (title, then) => async () => { if (await ask({ title, text: t.title, confirm: 'Yes', danger: true })) then(); };
    const open = !['done', 'failed', 'derezzed'].includes(t.status), work = ['task', 'dream'].includes(t.type);
    return h('div', { class: 'choices', 'data-item': true },
      t.type === 'question' && h('a', { class: 'button main', href: `/q/${t.id}` }, 'Open the question'),
      t.type === 'alert' && open && h('button', { type: 'button', 'data-act': true, class: 'main',
        onclick: set('done', 'Acknowledged') }, 'Acknowledge'),
      t.status === 'failed' && h('button', { type: 'button', 'data-act': true, class: 'main',
        onclick: set('created', 'Queued again') }, 'Queue again'),
      t.type === 'sprint' && h('a', { class: 'button main', href: `/sprints/${t.id}` }, 'Open the sprint'),
      t.type === 'sprint-story' && t.sprintId && h('a', { class: 'button', href: `/sprints/${t.sprintId}` }, 'Open the sprint'),
      work && t.status === 'created' && h('button', { type: 'button', 'data-act': true,
        onclick: async () => { if (await move(t)) this.update(); } }, 'Change…'),
      t.type === 'task' && ['active', 'blocked', 'completing'].includes(t.status) && h('button', { type: 'button', onclick:
        sure(`Take it back from ${t.claimedBy || 'its holder'}?`, set('created', 'In the queue again')) }, 'Back to the queue'),
      open && work && h('button', { type: 'button', class: 'danger',
        onclick: sure('Cancel this task?', set('derezzed', 'Cancelled')) }, 'Cancel task'));
  }

  facts(t) {
    const facts = [['For', t.target], ['Holder', t.claimedBy], ['Session', t.sessionId], ['Project', t.projectId], ['Thread', t.threadId],
      ['Attempts', t.attempts], ['Lease ends', t.status === 'active' && t.leaseUntil && when(t.leaseUntil)],
        ['Expires', t.expiresAt && when(t.expiresAt)],
      ['Falls back to', t.fallback?.join(', ')], ['Cost',
        t.usage && `${money(t.usage.cost_usd)} · ${count((t.usage.tokens_in || 0) + (t.usage.tokens_out || 0))} tokens`]];
    return h('dl', { class: 'grid' }, facts.filter(([, v]) => v).map(([k, v]) => h('div', {}, h('dt', {}, k),
      typeof v === 'object' ? h('dd', {}, v) : said('dd', String(v)))));
  }
}

// history lists the events of the task, the oldest first.
function history(t) {
  const end = { done: 'Completed', failed: 'Failed', derezzed: 'Cancelled' }[t.status];
  return [[t.createdAt, 'Created', t.source], [t.startedAt, t.attempts > 1 ? `Claimed, attempt ${t.attempts},` : 'Claimed', t.claimedBy],
    [t.notedAt, 'Noted', t.claimedBy], [t.question?.answeredAt, 'Answered', t.question?.answeredBy],
    [t.completedAt, end || 'Ended', t.cancelledBy || t.endedBy || t.claimedBy]].filter(([at]) => at).sort((a, b) => a[0] < b[0] ? -1 : 1);
}

customElements.define(name, Task);

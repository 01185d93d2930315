// The files: their reservations by checkout, the calls that wait, and the incidents.
import { badge, empty, h, list, now, said, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';
import { programs, write } from '/assets/people.js';
import { View } from '/assets/view.js';

export const name = 'parley-files';

const page = 50;

class Files extends View {
  kinds = ['files'];
  title = 'Files';
  by = new URLSearchParams(location.search).get('by') || '';
  words = '';
  most = page;

  // concerns: a reservation ends also with its session and with its task.
  concerns(event) {
    return super.concerns(event) || !!this.last?.held.some(r => r.taskId && r.taskId === event.id ||
      r.sessionId && event.kind === 'session' && same(address(r.holder, r.sessionId), address(event.program, event.id)));
  }

  disconnectedCallback() { clearTimeout(this.ending); }

  async load(signal) {
    const held = [], waiting = [], recent = [];
    let cursor = '', older = false;
    do {
      const r = await api(query('/v1/files/reservations', { program: this.by, recent: !cursor, cursor }), { signal });
      held.push(...r.reservations);
      waiting.push(...r.waiting || []);
      recent.push(...r.recent || []);
      older ||= !!r.recentMore;
      cursor = r.nextCursor;
    } while (cursor && held.length <= this.most);
    return { held, waiting, recent, older, more: !!cursor };
  }

  draw({ held, waiting, recent, older, more }) {
    if (!this.firstChild) this.build();
    this.wake([...held, ...waiting]);
    const words = this.words.toLowerCase();
    const fits = x => !words || [x.project, x.worktree, x.branch, x.pattern, ...x.patterns || [], x.path, ...x.paths || [],
      x.holder, x.sessionId, x.by, x.reason].join(' ').toLowerCase().includes(words);
    const found = held.filter(fits), lined = waiting.filter(fits), past = recent.filter(fits);
    const projects = grouped([...found.slice(0, this.most), ...lined.map(w => ({ ...w, waits: true }))], x => x.project);
    const box = this.querySelector('#projects');
    list(box, projects.map(({ id }) => ({ id })), p => project(p.id));
    for (const p of projects) this.fill(box.known.get(p.id).node, p.items);
    list(this.querySelector('#past ol'), past, incident, i => `${i.at} ${i.project} ${i.path || i.pattern} ${i.holder}`);
    this.querySelector('#past').hidden = !past.length;
    this.querySelector('#older').hidden = !older;
    const none = !found.length && !lined.length;
    this.querySelector('#nothing').hidden = !none || !!(words || this.by);
    this.querySelector('#none').hidden = !none || !(words || this.by);
    this.querySelector('#further').hidden = !more && found.length <= this.most;
  }

  build() {
    this.append(h('h1', {}, 'Files'),
      h('div', { class: 'filters' },
        h('input', { type: 'search', 'aria-label': 'Filter by words', placeholder: 'Filter by words',
          oninput: e => { this.words = e.target.value; this.again(); } }),
        h('input', { type: 'search', 'aria-label': 'Held by an agent', placeholder: 'Held by', value: this.by,
          list: 'holders', autocomplete: 'off', onfocus: () => this.suggest(), onchange: e => {
            this.by = e.target.value.trim();
            history.replaceState(null, '', query('/files', { by: this.by }));
            this.update();
          } }), h('datalist', { id: 'holders' })),
      h('div', { id: 'projects' }),
      h('div', { id: 'nothing' }, empty('No file is reserved.', [
        'An agent says with reserve_files what it edits, and you say it with ',
        h('code', {}, 'parley files reserve PATH'), '. ', h('code', {}, 'parley guard install'),
        ' makes git refuse a commit of files that another holds.'])),
      h('div', { id: 'none' }, empty('No reservation fits.', 'Change the words or the name above.')),
      h('button', { type: 'button', id: 'further', hidden: true,
        onclick: () => { this.most += page; this.update(); } }, 'Show more'),
      h('section', { id: 'past', hidden: true, 'aria-labelledby': 'past-title' },
        h('h2', { id: 'past-title' }, 'Incidents of the last day'), h('ol', { class: 'holds card' }),
        h('p', { id: 'older', hidden: true }, 'There were more; name an agent above to see its own.')));
  }

  // suggest offers the names of all agents, once.
  async suggest() {
    const offered = this.querySelector('#holders');
    if (offered.asked) return;
    offered.asked = true;
    try {
      offered.append(...(await programs()).map(n => h('option', { value: n })));
    } catch { offered.asked = false; }
  }

  // wake reads the list again when the first lease or turn ends, of which the feed says nothing.
  wake(items) {
    clearTimeout(this.ending);
    const left = Math.min(...items.map(i => Date.parse(i.until))) - now();
    if (left < Infinity) this.ending = setTimeout(() => this.update(), Math.min(Math.max(left, 0) + 1000, 3_600_000));
  }

  // fill shows the checkouts of a project, and who waits there.
  fill(box, items) {
    const checkouts = grouped(items.filter(i => !i.waits), r => JSON.stringify([r.worktree || '', r.branch || '']));
    const named = checkouts.length > 1 || checkouts.some(c => c.items[0].worktree);
    const at = box.querySelector('.checkouts');
    list(at, checkouts.map(({ id }) => ({ id, named })), checkout);
    for (const c of checkouts) {
      list(at.known.get(c.id).node.querySelector('ul'), c.items, r => this.row(r), r => r.reservationId);
    }
    const waiting = items.filter(i => i.waits);
    list(box.querySelector('.waiting ol'), waiting, w => this.waiter(w),
      w => JSON.stringify([w.holder, w.sessionId, w.patterns, w.since]));
    box.querySelector('.waiting').hidden = !waiting.length;
  }

  row(r) {
    return h('li', { 'data-item': true },
      h('p', { class: 'what' }, h('code', { dir: 'auto' }, r.pattern), ' ', badge(r.mode)),
      r.reason && said('p', r.reason, { class: 'why' }),
      h('p', { class: 'facts' }, holder(r), r.taskId && h('a', { href: `/work/${encodeURIComponent(r.taskId)}` }, 'its task'),
        h('span', {}, 'reserved ', when(r.since)), h('span', {}, 'lease ends ', when(r.until)),
        h('span', { title: 'Higher than that of every reservation before' }, `fence ${r.token}`)),
      h('div', { class: 'choices' }, this.writes(r),
        h('button', { type: 'button', class: 'quiet danger', 'data-act': true, onclick: () => this.break(r) }, 'Break…')));
  }

  waiter(w) {
    return h('li', { 'data-item': true },
      h('p', { class: 'what' }, w.patterns.map(p => [h('code', { dir: 'auto' }, p), ' ']).flat(),
        w.more > 0 && `and ${w.more} more `, badge(w.mode)),
      h('p', { class: 'facts' }, holder(w), h('span', {}, 'asked ', when(w.since)),
        w.worktree && h('span', {}, 'in the worktree ', h('bdi', {}, w.worktree))),
      h('div', { class: 'choices' }, this.writes(w)));
  }

  writes(x) {
    return reached(x.holder) && h('button', { type: 'button', onclick: () => write(address(x.holder, x.sessionId)) }, 'Write');
  }

  // break ends a reservation, after the person has read what that means.
  async break(r) {
    const told = reached(r.holder);
    let out;
    const done = await ask({ title: 'Break this reservation?', danger: true, confirm: 'Break it',
      text: `${shown(r)} holds ${r.pattern}.\n\nFrom now on others may reserve and edit these files; ` +
        'nothing that was edited is undone. ' +
        (told ? `${r.holder} gets a message with your reason.` : 'The holder has no mailbox, so nobody is told.'),
      fields: told ? [{ name: 'reason', label: 'Why', required: false, max: 200 }] : [],
      act: async ({ reason }) => {
        out = await api(`/v1/files/reservations/${r.reservationId}/break`, { body: { reason: reason || undefined } });
      } });
    if (!done) return;
    toast(out.told ? `Broken, and ${out.told} is told` : 'Broken');
    this.update();
  }
}

// grouped returns the items by a key, in the order of their first ones.
function grouped(items, key) {
  const groups = new Map();
  for (const i of items) groups.set(key(i), [...groups.get(key(i)) || [], i]);
  return [...groups].map(([id, all]) => ({ id, items: all }));
}

const project = id => h('section', { 'data-project': id }, h('h2', {}, h('bdi', {}, id)), h('div', { class: 'checkouts' }),
  h('div', { class: 'card waiting' }, h('h3', {}, 'Waiting, in the order of their turns'), h('ol', { class: 'holds turns' })));

function checkout({ id, named }) {
  const [worktree, branch] = JSON.parse(id);
  const on = branch && ['on the branch ', h('bdi', {}, branch)];
  return h('div', { class: 'card' },
    (named || branch) && h('h3', {}, worktree ? ['Worktree ', h('bdi', {}, worktree), ' '] : 'No worktree named ', on),
    h('ul', { class: 'holds' }));
}

function incident(i) {
  return h('li', { 'data-item': true, tabindex: -1 },
    h('p', { class: 'what' }, h('code', { dir: 'auto', title: (i.paths || []).join('\n') }, i.path || i.pattern), ' ',
      i.files > 1 && `and ${i.files - 1} more `, badge(i.kind)),
    h('p', { class: 'why' }, i.kind === 'broken' ?
      ['The reservation of ', who(person(i.holder)), ' was broken by ', who(person(i.by)), '.'] :
      [who(person(i.by)), i.files > 1 ? ' changed them, and ' : ' changed it, and ', who(person(i.holder)), ' held ', h('code', { dir: 'auto' }, i.pattern), '.']),
    i.reason && i.kind === 'broken' && said('p', i.reason, { class: 'why faint' }),
    h('p', { class: 'facts' }, h('bdi', {}, i.project), when(i.at)));
}

// A holder is a program, which messages reach, or the short form of a key.
const reached = name => !name.includes(':');
const person = name => name.startsWith('human:') ? 'you' : name;
const same = (a, b) => a.toLowerCase() === b.toLowerCase();
const address = (program = '', session = '') =>
  !session ? program : session.includes('/') ? session : `${program}/${session}`;
const shown = x => reached(x.holder) ? address(x.holder, x.sessionId) : person(x.holder);

// holder names who holds or waits, and leads to the agent.
const holder = x => reached(x.holder) ?
  h('a', { href: `/agents?of=${encodeURIComponent(x.holder)}` }, who(shown(x))) : who(shown(x));

customElements.define(name, Files);

// The keyboard: every view is reached, and every list walked, without a mouse.
import { $, h } from '/assets/dom.js';

const places = { i: '/', g: '/agents', w: '/work', f: '/files', m: '/mail', t: '/talk', s: '/sprints', u: '/usage', e: '/settings' };

const help = [
  ['j, k', 'the next, the previous item'], ['Enter', 'open it'], ['a', 'answer the first question, or the item’s first action'],
  ['n', 'new: a task, a message'], ['/', 'search'], ['f', 'filter the list'], ['g then i, g, w, f, m, t, s, u, e', 'inbox, agents, work, files, mail, talk, sprints, usage, settings'],
  ['Esc', 'leave a field or a dialog'], ['?', 'this list'],
];

export function keys({ go }) {
  let prefix = 0; // when g was pressed
  $('keyboard').addEventListener('click', showHelp);
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (event.target.matches('input, textarea, select')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const second = Date.now() - prefix < 1500;
    prefix = 0;
    if (second && places[event.key]) go(places[event.key]);
    else if (event.key === 'g') prefix = Date.now();
    else if (event.key === 'j' || event.key === 'k') move(event.key === 'j' ? 1 : -1);
    else if (event.key === '?') showHelp();
    else if (event.key === '/') focusOn('#view input[name=q]') || go('/search');
    else if (event.key === 'f') focusOn('#view .filters input');
    else if (event.key === 'n') press('#view [data-new]');
    else if (event.key === 'a') press('[data-item]:focus-within [data-act], [data-item]:focus [data-act]') || focusOn('#view [data-act], #choices input, #text');
    else return;
    event.preventDefault();
  });
}

function focusOn(sel) {
  const e = [...document.querySelectorAll(sel)].find(x => x.checkVisibility());
  e?.focus();
  return !!e;
}

function press(sel) {
  const e = [...document.querySelectorAll(sel)].find(x => x.checkVisibility());
  e?.click();
  return !!e;
}

function move(by) {
  const items = [...document.querySelectorAll('#view [data-item]')].filter(e => e.checkVisibility());
  const at = items.findIndex(e => e.contains(document.activeElement));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.max(0, Math.min(items.length - 1, at + by))];
  if (!next) return;
  const control = next.matches('a, button, [tabindex]') ? next : next.querySelector('a, button');
  control.focus();
  next.scrollIntoView({ block: 'nearest' });
}

function showHelp() {
  const dialog = h('dialog', { 'aria-labelledby': 'help-title' }, h('form', { method: 'dialog' },
    h('h2', { id: 'help-title' }, 'Keyboard'),
    h('dl', { class: 'help' }, help.map(([k, what]) => h('div', {}, h('dt', {}, h('kbd', {}, k)), h('dd', {}, what)))),
    h('div', { class: 'actions' }, h('button', { class: 'main' }, 'Close'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

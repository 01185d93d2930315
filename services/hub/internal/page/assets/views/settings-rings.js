// What rings, how often, and the quiet hours.
import { h, set } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { toast } from '/assets/dialog.js';

const kinds = [['questions', 'Questions'], ['alerts', 'Alerts'], ['tasks', 'Tasks for you'], ['dreams', 'Dreams'],
  ['changes', 'Blocked and failed work']];

const check = (v, text, on) => h('label', { class: 'check', for: `ring-${v}` },
  h('input', { type: 'checkbox', id: `ring-${v}`, checked: on }), h('span', {}, text));

const field = (id, label, props, about) => h('div', { class: 'field' }, h('label', { for: id }, label),
  h('input', { id, 'aria-describedby': about && `${id}-about`, ...props }), about && h('p', { class: 'meta', id: `${id}-about` }, about));

// whatRings makes the form of the settings.
export function whatRings(rings) {
  const q = rings.quietHours || {};
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const form = h('form', { class: 'card', id: 'what-rings', novalidate: true,
    onsubmit: event => { event.preventDefault(); save(form, zone); } },
    h('fieldset', {}, h('legend', {}, 'Notify me of'), h('div', { class: 'checks' },
      kinds.map(([v, text]) => check(v, text, !rings.off.includes(v))),
      check('completions', 'Completed work', rings.on.includes('completions')))),
    h('fieldset', {}, h('legend', {}, 'Quiet hours'),
      h('p', { class: 'meta', id: 'quiet-about' }, 'Alerts that only inform do not ring then; questions and errors do. ',
        q.from ? `The times are those of ${q.timeZone || 'UTC'}; saving them makes them those of ${zone}.` :
          `The times are those of ${zone}.`),
      h('div', { class: 'pair' }, field('quiet-from', 'From', { type: 'time', value: q.from || '', 'aria-describedby': 'quiet-about' }),
        field('quiet-to', 'To', { type: 'time', value: q.to || '' }))),
    h('div', { class: 'pair' }, field('perHour', 'At most in an hour',
      { type: 'number', inputmode: 'numeric', min: 0, max: 100, value: rings.perHour }, 'Of all pushes: 0 to 100.'),
      field('changesPerHour', 'Of them, blocked or failed work',
        { type: 'number', inputmode: 'numeric', min: 0, max: 20, value: rings.changesPerHour }, '0 to 20.')),
    h('p', { id: 'unsaved', role: 'alert', class: 'bad' }), h('button', { class: 'main' }, 'Save'));
  return form;
}

async function save(form, zone) {
  const find = id => form.querySelector(`#${id}`);
  const from = find('quiet-from').value, to = find('quiet-to').value;
  if (!from !== !to) return set('unsaved', 'Give both times of the quiet hours, or none.');
  const body = { off: kinds.map(([v]) => v).filter(v => !find(`ring-${v}`).checked),
    on: find('ring-completions').checked ? ['completions'] : [] };
  for (const id of ['perHour', 'changesPerHour']) if (find(id).value) body[id] = Number(find(id).value);
  if (from) body.quietHours = { from, to, timeZone: zone };
  try {
    await api('/v1/settings/notifications', { method: 'PUT', body });
    set('unsaved', '');
    toast('Saved');
  } catch (e) { set('unsaved', e.message); }
}

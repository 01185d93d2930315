// Keys and devices, quiet hours, and what rings.
import { badge, capital, h, list, said, set, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask, toast } from '/assets/dialog.js';
import { revoke } from '/assets/people.js';

export const name = 'parley-settings';

const kinds = [['questions', 'Questions'], ['alerts', 'Alerts'], ['tasks', 'Tasks for you'], ['dreams', 'Dreams'], ['changes', 'Blocked and failed work']];

class Settings extends View {
  kinds = ['key', 'device'];
  title = 'Settings';

  async load(signal) {
    const get = path => api(path, { signal });
    const [keys, devices, rings, me] = await Promise.all([get('/v1/keys?limit=100'), get('/v1/devices?limit=50'), get('/v1/settings/notifications'), get('/v1/me')]);
    return { keys: keys.keys, devices: devices.devices, rings, me };
  }

  draw({ keys, devices, rings, me }) {
    if (!this.firstChild) this.build(rings, me);
    const use = keys.filter(k => !k.revokedAt && !(Date.parse(k.expiresAt) < Date.now()));
    list(this.querySelector('#keys'), use, k => this.key(k, k.id === me.keyId));
    list(this.querySelector('#devices'), devices, d => this.device(d), d => d.deviceId);
    this.querySelector('#no-device').hidden = devices.length > 0;
  }

  build(rings, me) {
    const may = !me.scopes.includes('console');
    const field = (id, label, props) => h('div', { class: 'field' }, h('label', { for: id }, label), h('input', { id, ...props }));
    const q = rings.quietHours || {};
    this.append(h('h1', {}, 'Settings'),
      h('section', {}, h('div', { class: 'top' }, h('h2', {}, 'Keys'), may && h('button', { type: 'button', 'data-new': true, onclick: () => this.make() }, 'New key')),
        !may && h('p', { class: 'faint' }, 'This browser makes no keys: ', h('code', {}, 'parley key create --program NAME'), ' does, where the server runs.'), h('ul', { class: 'plain entries', id: 'keys' })),
      h('section', {}, h('h2', {}, 'Devices that ring'), h('p', { class: 'faint', id: 'no-device' }, 'No device is registered. An app of yours registers one; see docs/apps.md.'), h('ul', { class: 'plain entries', id: 'devices' })),
      h('section', {}, h('h2', {}, 'What rings'), h('form', { class: 'card', onsubmit: e => this.save(e) },
        h('fieldset', {}, h('legend', {}, 'Notify me of'), kinds.map(([v, text]) => check(v, text, !rings.off.includes(v))), check('completions', 'Completed work', rings.on.includes('completions'))),
        h('fieldset', {}, h('legend', {}, 'Quiet hours'), h('div', { class: 'pair' }, field('quiet-from', 'From', { type: 'time', value: q.from || '' }), field('quiet-to', 'To', { type: 'time', value: q.to || '' }))),
        field('perHour', 'At most in an hour', { type: 'number', min: 1, max: 1000, value: rings.perHour }),
        h('p', { id: 'unsaved', role: 'alert', class: 'bad' }), h('button', { class: 'main' }, 'Save'))));
    this.rings = rings;
  }

  async save(event) {
    event.preventDefault();
    const find = id => this.querySelector(`#${id}`);
    const body = { off: kinds.map(([v]) => v).filter(v => !find(`ring-${v}`).checked), on: find('ring-completions').checked ? ['completions'] : [],
      perHour: Number(find('perHour').value), changesPerHour: this.rings.changesPerHour };
    if (find('quiet-from').value && find('quiet-to').value) {
      body.quietHours = { from: find('quiet-from').value, to: find('quiet-to').value, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
    }
    try {
      this.rings = await api('/v1/settings/notifications', { method: 'PUT', body });
      set('unsaved', '');
      toast('Saved');
    } catch (e) { set('unsaved', e.message); }
  }

  key(k, own) {
    return h('li', { 'data-item': true }, h('div', {}, said('strong', k.name || k.program || 'a key'), ' ', k.program && h('span', { class: 'badge go' }, k.program), k.kind === 'human' && badge('human'), own && h('span', { class: 'badge good' }, 'this browser'),
      h('p', { class: 'meta' }, k.scopes.length ? `${k.scopes.join(', ')} · ` : '', 'made ', when(k.createdAt), k.lastUsedAt ? [' · used ', when(k.lastUsedAt)] : ' · never used', k.expiresAt ? [' · expires ', when(k.expiresAt)] : '', k.parentId ? ` · made by ${k.parentId.slice(0, 8)}` : '')),
    !own && h('button', { type: 'button', class: 'danger quiet', 'data-act': true, 'aria-label': `Revoke ${k.name || k.program || k.id}`, onclick: async () => { if (await revoke(k)) this.update(); } }, 'Revoke'));
  }

  device(d) {
    return h('li', { 'data-item': true }, h('div', {}, said('strong', d.name || 'a device'), ' ', h('span', { class: 'badge' }, d.platform), h('p', { class: 'meta' }, 'registered ', when(d.registeredAt))),
      h('button', { type: 'button', class: 'danger quiet', 'data-act': true, 'aria-label': `Remove ${d.name || d.platform}`, onclick: () => this.doing(`/v1/devices/${d.deviceId}`, { method: 'DELETE' }, 'Removed') }, 'Remove'));
  }

  async make() {
    let made;
    const v = await ask({ title: 'A new key for an agent', confirm: 'Make', fields: [{ name: 'program', label: 'Its program', max: 50 }, { name: 'name', label: 'Name of the key', required: false, max: 100 }],
      act: async f => { made = await api('/v1/keys', { body: { program: f.program, name: f.name || undefined } }); } });
    if (!v) return;
    await ask({ title: `${capital(v.program)} has a key`, text: `${made.key}\n\nIt is shown this once.`, confirm: 'I have copied it' });
    this.update();
  }
}

const check = (v, text, on) => h('label', { class: 'check', for: `ring-${v}` }, h('input', { type: 'checkbox', id: `ring-${v}`, checked: on }), h('span', {}, text));

customElements.define(name, Settings);

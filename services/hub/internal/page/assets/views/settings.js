// Keys and devices, quiet hours, and what rings.
import { badge, capital, h, list, said, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';
import { ask } from '/assets/dialog.js';
import { revoke } from '/assets/people.js';
import { tag } from '/assets/views/settings-devices.js';
import { passkeysTag } from '/assets/views/settings-passkeys.js';
import { whatRings } from '/assets/views/settings-rings.js';

export const name = 'parley-settings';

class Settings extends View {
  kinds = ['key', 'device', 'passkey'];
  title = 'Settings';

  async load(signal) {
    const get = path => api(path, { signal });
    const [keys, devices, rings, me, passkeys] = await Promise.all([get('/v1/keys?limit=100'), get('/v1/devices?limit=100'),
      get('/v1/settings/notifications'), get('/v1/me'), get('/v1/passkeys')]);
    return { keys: keys.keys, devices: devices.devices, rings, me, passkeys };
  }

  draw({ keys, devices, rings, me, passkeys }) {
    if (!this.firstChild) this.build(rings, me);
    const use = keys.filter(k => !k.revokedAt && !(Date.parse(k.expiresAt) < Date.now()));
    list(this.querySelector('#keys'), use, k => this.key(k, k.id === me.keyId));
    this.devices.draw(devices, rings, me);
    this.passkeys.draw(passkeys);
  }

  build(rings, me) {
    const may = !me.scopes.includes('console');
    this.devices = h(tag, { onchanged: () => this.update() });
    this.devices.connectedCallback();
    this.passkeys = h(passkeysTag, { onchanged: () => this.update() });
    this.passkeys.connectedCallback();
    this.append(h('h1', {}, 'Settings'),
      h('section', {}, this.devices),
      h('section', {}, h('h2', {}, 'What rings'), whatRings(rings)),
      h('section', {}, this.passkeys),
      h('section', {}, h('div', { class: 'top' }, h('h2', {}, 'Keys'),
        may && h('button', { type: 'button', 'data-new': true, onclick: () => this.make() }, 'New key')),
        !may && h('p', { class: 'faint' }, 'This browser makes no keys: ',
          h('code', {}, 'parley key create --program NAME'), ' does, where the server runs.'),
          h('p', {}, h('a', { href: '/pair', class: 'button' }, 'Approve a machine by its code')),
          h('ul', { class: 'plain entries', id: 'keys' })));
  }

  key(k, own) {
    return h('li', { 'data-item': true }, h('div', {}, said('strong', k.name || k.program || 'a key'), ' ',
      k.program && h('span', { class: 'badge go' }, k.program), k.kind === 'human' && badge('human'),
      own && h('span', { class: 'badge good' }, 'this browser'),
      h('p', { class: 'meta' }, k.scopes.length ? `${k.scopes.join(', ')} · ` : '', 'made ', when(k.createdAt),
        k.lastUsedAt ? [' · used ', when(k.lastUsedAt)] : ' · never used',
        k.expiresAt ? [' · expires ', when(k.expiresAt)] : '', k.parentId ? ` · made by ${k.parentId.slice(0, 8)}` : '')),
    !own && h('button', { type: 'button', class: 'danger quiet', 'data-act': true,
      'aria-label': `Revoke ${k.name || k.program || k.id}`,
      onclick: async () => { if (await revoke(k)) this.update(); } }, 'Revoke'));
  }

  async make() {
    let made;
    const v = await ask({ title: 'A new key for an agent', confirm: 'Make',
      fields: [{ name: 'program', label: 'Its program', max: 50 },
      { name: 'name', label: 'Name of the key', required: false, max: 100 }],
      act: async f => { made = await api('/v1/keys', { body: { program: f.program, name: f.name || undefined } }); } });
    if (!v) return;
    await ask({ title: `${capital(v.program)} has a key`, text: `${made.key}\n\nIt is shown this once.`, confirm: 'I have copied it' });
    this.update();
  }
}

customElements.define(name, Settings);

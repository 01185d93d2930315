// The person's passkeys: add one, and remove one, with a proof by one that there is.
import { h, list, said, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';
import { name } from '/assets/bell.js';
import { can, elsewhere, make, place, prove, there } from '/assets/passkey.js';

export const passkeysTag = 'parley-passkeys';

class Passkeys extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.append(h('div', { class: 'top' }, h('h2', {}, 'Passkeys'), can() && h('button', { type: 'button', id: 'add-passkey', onclick: () => this.add() }, 'Add a passkey')),
      h('p', { class: 'faint' }, 'A passkey signs you in here, and answers what demands one. Nothing on this machine can use it without you.'),
      h('div', { id: 'no-passkeys' }), h('ul', { class: 'plain entries', id: 'passkeys' }));
  }

  draw({ passkeys, why }) {
    this.passkeys = passkeys;
    list(this.querySelector('#passkeys'), passkeys, p => this.passkey(p));
    const box = this.querySelector('#no-passkeys');
    if (!box.firstChild) box.append(...this.obstacle(why));
  }

  // obstacle says why this page has no passkeys, and what to do.
  obstacle(why) {
    if (can()) return [];
    const card = (...parts) => [h('div', { class: 'card' }, ...parts)];
    if (elsewhere()) return card(h('p', {}, 'Passkeys work at ', h('code', {}, place), ', and not at ', h('code', {}, location.host), '.'),
      h('button', { type: 'button', class: 'main', id: 'go-there', onclick: () => there().catch(e => toast(e.message)) }, 'Open it there'));
    return card(h('p', {}, why ? `Passkeys work nowhere yet: ${why}.` : 'This browser has no passkeys. Another one, or its newest version, may.'));
  }

  passkey(p) {
    return h('li', { 'data-item': true }, h('div', {}, said('strong', p.name), ' ', p.synced && h('span', { class: 'badge' }, 'synced'),
      h('p', { class: 'meta' }, 'made ', when(p.createdAt), p.lastUsedAt ? [' · used ', when(p.lastUsedAt)] : ' · never used')),
    can() && h('button', { type: 'button', class: 'danger quiet', 'data-act': true, 'aria-label': `Remove the passkey ${p.name}`, onclick: () => this.discard(p) }, 'Remove'));
  }

  async add() {
    const more = this.passkeys.length > 0;
    const done = await ask({ title: 'A new passkey', confirm: 'Add', text: more ? 'One that you have confirms it first.' : 'It stays on this device, or on a phone or security key that you pick.',
      fields: [{ name: 'name', label: 'Your name for it', value: name(), max: 100 }],
      act: async v => {
        const proof = more ? await prove({}) : undefined;
        const { request } = await api('/v1/passkeys/begin', { body: { proof } });
        await api('/v1/passkeys', { body: { name: v.name, credential: await make(request) } });
      } });
    if (done) this.changed('It signs you in from now on');
  }

  async discard(p) {
    const done = await ask({ title: `Remove the passkey “${p.name}”?`, danger: true, confirm: 'Remove',
      text: 'It no longer signs you in, and browsers that it signed in are signed out. A passkey of yours confirms it.',
      act: async () => api(`/v1/passkeys/${p.id}/remove`, { body: { proof: await prove({}) } }) });
    if (done) this.changed('Removed');
  }

  changed(words) {
    toast(words);
    this.dispatchEvent(new CustomEvent('changed', { bubbles: true }));
  }
}

customElements.define(passkeysTag, Passkeys);

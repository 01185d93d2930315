// The devices that ring: this browser, topics of ntfy, webhooks, and what apps registered.
import { h, list, said, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';
import { name, obstacle, own, ring, silence } from '/assets/bell.js';

export const tag = 'parley-devices';

const words = {
  webpush: 'browser', ntfy: 'ntfy', webhook: 'webhook', android: 'Android app', ios: 'iOS app', web: 'web app',
};

const privacy = { name: 'private', label: 'What it gets',
  options: [{ value: '', label: 'Title, text and options' }, { value: '1', label: 'The title alone' }] };

// A topic's name is its password.
const random = () => [...crypto.getRandomValues(new Uint8Array(12))].map(b => b.toString(36).padStart(2, '0')).join('');

class Devices extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.append(h('h2', {}, 'Devices that ring'), h('div', { id: 'bell' }), h('ul', { class: 'plain entries', id: 'devices' }),
      h('div', { class: 'choices' }, h('button', { type: 'button', id: 'add-ntfy', onclick: () => this.ntfy() }, 'Add a topic of ntfy'),
        h('button', { type: 'button', id: 'add-webhook', onclick: () => this.webhook() }, 'Add a webhook')));
  }

  draw(devices, rings, me) {
    Object.assign(this, { devices, rings, me });
    const here = own();
    const shown = devices.map(d => ({ ...d, here: d.deviceId === here }));
    list(this.querySelector('#devices'), shown, d => this.device(d), d => d.deviceId);
    this.bell(shown.some(d => d.here));
  }

  // bell draws the person's choices for this browser.
  bell(rung) {
    const box = this.querySelector('#bell'), why = obstacle(this.rings.vapidPublicKey), state = `${rung} ${why}`;
    if (box.dataset.state === state) return;
    box.dataset.state = state;
    if (rung && !why) box.replaceChildren();
    else if (why) box.replaceChildren(h('div', { class: 'card' }, ...reasons[why]()));
    else {
      box.replaceChildren(h('div', { class: 'card' }, h('h3', {}, 'Hear of questions when this page is closed'),
        h('p', {}, 'This browser shows them as notifications. Where it can, their buttons answer.'),
        h('p', { class: 'bad', role: 'alert', id: 'not-rung' }),
        h('button', { type: 'button', class: 'main', id: 'ring', onclick: event => this.ring(event.currentTarget) }, 'Ring this browser'),
        loopback() && h('details', { class: 'more' }, h('summary', {}, 'And a phone?'),
          h('p', {}, 'A phone does not reach ', h('code', {}, location.host), ', and browsers ring only over HTTPS. ',
          ways()), three(), byNtfy())));
    }
  }

  async ring(button) {
    const why = this.querySelector('#not-rung');
    why.textContent = '';
    button.disabled = true;
    try {
      await ring(this.rings.vapidPublicKey, name(), this.me.keyId);
      toast('This browser rings');
      this.changed();
    } catch (e) { why.textContent = e.message; }
    button.disabled = false;
    this.draw(this.devices, this.rings, this.me); // a refused permission is said
  }

  changed() { this.dispatchEvent(new CustomEvent('changed', { bubbles: true })); }

  device(d) {
    const called = d.name || words[d.platform] || d.platform;
    const outcome = h('p', { class: 'meta outcome', role: 'status' });
    return h('li', { 'data-item': true }, h('div', {}, said('strong', called), ' ',
      h('span', { class: 'badge' }, words[d.platform] || d.platform),
      d.here && h('span', { class: 'badge good' }, 'this browser'),
        h('p', { class: 'meta' }, 'registered ', when(d.registeredAt)), outcome),
    h('div', { class: 'choices' },
      h('button', { type: 'button', class: 'quiet', 'data-act': true, 'aria-label': `Send a test to ${called}`,
        onclick: event => this.test(d, outcome, event.currentTarget) }, 'Test'),
      h('button', { type: 'button', class: 'danger quiet', 'aria-label': `Remove ${called}`,
        onclick: () => this.remove(d, called) }, 'Remove')));
  }

  async test(d, outcome, button) {
    button.disabled = true;
    outcome.classList.remove('bad');
    outcome.textContent = 'Sending…';
    try {
      const { result, reason } = await api(`/v1/devices/${d.deviceId}/test`, { method: 'POST' });
      outcome.classList.toggle('bad', result !== 'sent');
      outcome.textContent = { sent: 'Sent: it rings in a moment, unless the device holds it back.', failed: `Not sent now: ${reason}.`,
        refused: `Refused: ${reason}.`, removed: `Removed: ${reason}.` }[result] || result;
      if (result === 'removed') {
        toast(outcome.textContent);
        if (d.here) await silence();
        this.changed();
      }
    } catch (e) {
      outcome.classList.add('bad');
      outcome.textContent = e.message;
    }
    button.disabled = false;
  }

  async remove(d, called) {
    const done = await ask({ title: `Remove “${called}”?`, text: 'It rings no more, and answers no question.',
      confirm: 'Remove', danger: true,
      act: () => d.here ? silence() : api(`/v1/devices/${d.deviceId}`, { method: 'DELETE' }) });
    if (!done) return;
    toast('Removed');
    this.changed();
  }

  add(platform, title, text, fields) {
    return ask({ title, text, fields: [{ name: 'name', label: 'Your name for it',
      value: platform === 'ntfy' ? 'phone' : '', max: 100 }, ...fields, privacy], confirm: 'Add',
      act: async v => {
        const given = Object.fromEntries(Object.entries(v).filter(([, value]) => value));
        await api('/v1/devices', { body: { platform, ...given, private: v.private ? true : undefined } });
      } }).then(done => { if (done) { toast('Added: send it a test'); this.changed(); } });
  }

  ntfy() {
    return this.add('ntfy', 'A topic of ntfy',
      'The app ntfy on a phone subscribes to the same topic. Who knows its address reads what rings, so its name is long and random; better still is a server of your own with access control.',
      [
      { name: 'url', label: 'Address of the topic', type: 'url', value: `https://ntfy.sh/${random()}`, max: 1000 },
      { name: 'token', label: 'Access token of its server', required: false, max: 1000 },
      { name: 'reply', label: 'Topic for answers, on the same server', type: 'url', required: false, max: 1000 }]);
  }

  webhook() {
    return this.add('webhook', 'A webhook', 'It is called with the signature of Standard Webhooks.', [
      { name: 'url', label: 'Address', type: 'url', max: 1000 },
      { name: 'secret', label: 'Secret, whsec_ and base64', required: false, max: 200 }]);
  }
}

const loopback = () => /^(localhost|127\.|\[::1\])/.test(location.host);
const ways = () => 'Three ways lead to an address over HTTPS:';
const three = () => h('ul', {}, h('li', {}, 'a proxy with TLS, such as Caddy, before this server;'),
  h('li', {}, 'a tunnel or a tailnet: ', h('code', {}, 'tailscale serve'), ' or ', h('code', {}, 'cloudflared tunnel'), ';'),
  h('li', {}, 'Cloud Run, where ', h('code', {}, 'make deploy'), ' puts it.'));
const byNtfy = () => h('p', {}, 'Start the server with ', h('code', {}, '--public-url'),
  ' and that address. Without one, a topic of ntfy rings a phone all the same.');

// reasons say why this browser cannot be rung, and what to do.
const reasons = {
  insecure: () => [h('h3', {}, 'This browser cannot ring here'),
    h('p', { id: 'insecure' },
      `This page came from ${location.origin}, without encryption, and browsers ring only for pages over HTTPS or on the server’s own machine. `,
      ways()), three(), byNtfy()],
  home: () => [h('h3', {}, 'Add Parley to the home screen first'),
    h('p', {}, 'On an iPhone or iPad only a page on the home screen may ring: Share, then Add to Home Screen, then open it from there.')],
  none: () => [h('h3', {}, 'This browser cannot ring'),
    h('p', {}, 'It has no Web Push, or a private window turns it off. A topic of ntfy or a webhook rings without it.')],
  keyless: () => [h('h3', {}, 'This server sends no Web Push'),
    h('p', {}, 'It has no VAPID key. ', h('code', {}, 'make deploy'),
    ' makes one in the cloud; a server with the embedded store makes its own.')],
  blocked: () => [h('h3', {}, 'Notifications of this page are blocked'),
    h('p', { id: 'blocked' },
    'Allow them in the browser’s settings for this page, beside its address, then reload the page.')],
};

customElements.define(tag, Devices);

// A machine that asks for a key: its code, who asks, and the person's approval or denial.
import { h, said, when } from '/assets/dom.js';
import { api } from '/assets/api.js';
import { View } from '/assets/view.js';

export const name = 'parley-pair';

const at = (code, more = '') => `/v1/pairings/${encodeURIComponent(code)}${more}`;

// able says in words what scopes let a key do.
function able(scopes) {
  const sets = scopes.filter(s => s !== 'read' && s !== 'write');
  const where = sets.length ? ` in ${sets.join(', ')}` : '';
  return scopes.includes('write') || !scopes.includes('read') ? `Read and write${where}: tasks, messages and whatever else an agent works with`
    : `Read${where}, and change nothing`;
}

class Pair extends View {
  title = 'Approve a machine';

  // The code of an address is asked for once: each wrong one counts.
  async load(signal) {
    if (!this.arg || this.asked) return this.last || null;
    this.asked = true;
    let code;
    try { code = decodeURIComponent(this.arg); } catch { return { fault: 'This address holds no code.' }; }
    return this.find(code, signal);
  }

  async find(code, signal) {
    try { return await api(at(code), { signal }); } catch (e) {
      if (signal?.aborted || e.status === 401 || e.status === 0) {
        this.asked = false;
        throw e;
      }
      return { code, fault: e.message };
    }
  }

  draw(p) {
    if (!this.firstChild) this.append(h('h1', {}, 'Approve a machine'), h('div', { id: 'pairing-step' }));
    const box = this.querySelector('#pairing-step');
    if (this.drawn === JSON.stringify(p) && box.firstChild) return;
    this.drawn = JSON.stringify(p);
    box.replaceChildren(...(!p || p.fault ? this.form(p) : p.state === 'pending' ? this.question(p) : this.result(p)));
  }

  form(p) {
    const code = h('input', { id: 'pair-code', required: true, maxlength: 20, autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false', placeholder: 'BCDF-GHJK', value: p?.code || '',
      'aria-describedby': 'pair-fault' });
    const button = h('button', { class: 'main', id: 'pair-find' }, 'Continue');
    const form = h('form', { class: 'card', onsubmit: async event => {
      event.preventDefault();
      button.disabled = true;
      try {
        this.show(await this.find(code.value.trim()));
        this.querySelector('#pair-code, #pair-title')?.focus();
      } catch (e) {
        this.querySelector('#pair-fault').textContent = e.message;
        button.disabled = false;
      }
    } }, h('p', {}, 'On the other machine, ', h('code', {}, 'parley connect CLIENT --url'), ' shows a code of eight letters.'),
    h('div', { class: 'field' }, h('label', { for: 'pair-code' }, 'Code'), code), h('p', { class: 'bad', role: 'alert', id: 'pair-fault' }, p?.fault || ''), button);
    return [form];
  }

  show(p) {
    this.last = p;
    this.draw(p);
  }

  question(p) {
    const program = h('input', { id: 'pair-program', required: true, maxlength: 100, pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]*', autocomplete: 'off', value: p.program });
    const reads = h('input', { type: 'checkbox', id: 'pair-reads' });
    const why = h('p', { class: 'bad', role: 'alert', id: 'pair-fault' });
    const decide = (what, body) => async event => {
      event.preventDefault();
      const buttons = this.querySelectorAll('#pairing-step button');
      for (const b of buttons) b.disabled = true;
      try {
        this.show(await api(at(p.userCode, what), { body: body() }));
        this.querySelector('#pair-title')?.focus();
      } catch (e) {
        why.textContent = e.message;
        for (const b of buttons) b.disabled = false;
      }
    };
    const narrow = () => p.scopes.includes('write') ? [...p.scopes.filter(s => s !== 'write' && s !== 'read'), 'read'] : p.scopes;
    const approve = decide('/approve', () => ({ program: program.value === p.program ? undefined : program.value, scopes: reads.checked ? narrow() : undefined }));
    return [h('form', { class: 'card warning', onsubmit: approve },
      h('h2', { id: 'pair-title', tabindex: -1 }, said('bdi', p.client), ' on ', said('bdi', p.machine), ' asks for a key'),
      h('p', {}, h('strong', {}, 'Approve only if you started this on that machine yourself'), ', and it shows the code ', h('code', { id: 'pair-shown' }, p.userCode), '.'),
      h('dl', { class: 'grid' }, fact('Directory', p.directory || 'every directory'), fact('Network address', p.address || 'unknown'),
        fact('Asked', when(p.createdAt)), fact('Good until', when(p.expiresAt))),
      h('dl', { class: 'grid one' }, fact('The key will be able to', able(p.scopes))),
      h('div', { class: 'field' }, h('label', { for: 'pair-program' }, 'The agent’s name'), program,
        p.program !== p.requested && h('p', { class: 'meta' }, said('bdi', p.requested), ' has a key already.')),
      p.scopes.includes('write') && h('label', { class: 'choice', for: 'pair-reads' }, reads, h('span', {}, 'It may only read')),
      why, h('div', { class: 'choices' }, h('button', { class: 'main', id: 'pair-approve' }, 'Approve'),
        h('button', { type: 'button', class: 'danger', id: 'pair-deny', onclick: decide('/deny', () => ({})) }, 'Deny')))];
  }

  result(p) {
    const words = {
      approved: ['Approved', `The machine gets its key in a moment, and speaks as ${p.program}. Settings list it, and revoke it.`, 'success'],
      denied: ['Denied', 'The machine gets no key.', 'error'],
      expired: ['Expired', 'Nobody approved in time. Start it again on the machine.', 'error'],
    }[p.state] || [p.state, '', ''];
    return [h('div', { class: `card ${words[2]}` }, h('h2', { id: 'pair-title', tabindex: -1 }, words[0]), h('p', { id: 'pair-result' }, words[1]),
      h('div', { class: 'choices' }, h('a', { href: '/settings', class: 'button' }, 'Settings'), p.state !== 'approved' && h('button', { type: 'button', onclick: () => this.show(null) }, 'Another code')))];
  }
}

const fact = (word, value) => h('div', {}, h('dt', {}, word), h('dd', { dir: 'auto' }, value));

customElements.define(name, Pair);

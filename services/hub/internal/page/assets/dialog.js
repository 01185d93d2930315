// A dialog that asks for a confirmation or for some fields.
import { h } from '/assets/dom.js';

let made = 0; // numbers the fields' ids

// ask shows a dialog and returns its values by field, or null where it was left. With act it stays open until act(values)
// has succeeded, and shows why it has not.
export function ask({ title, text, fields = [], confirm = 'OK', danger = false, act }) {
  const left = document.activeElement;
  return new Promise(done => {
    const why = h('p', { class: 'bad', role: 'alert' });
    const yes = h('button', { class: danger ? 'main danger' : 'main' }, confirm);
    const controls = fields.map(field);
    const id = `dialog-${++made}`;
    const form = h('form', { method: 'dialog' }, h('h2', { id }, title), text && h('p', { class: 'said' }, text),
      controls.map(c => c.box), why,
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), yes));
    const dialog = h('dialog', { 'aria-labelledby': id }, form);
    let result = null;
    form.addEventListener('submit', async event => {
      event.preventDefault();
      const values = Object.fromEntries(controls.map(c => [c.name, c.input.value]));
      yes.disabled = true;
      try {
        if (act) await act(values);
        result = values;
        dialog.close();
      } catch (e) {
        why.textContent = e.message;
        yes.disabled = false;
      }
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (left?.isConnected) left.focus();
      done(result);
    });
    document.body.append(dialog);
    dialog.showModal();
    (controls[0]?.input || yes).focus();
  });
}

function field({ name, label, type = 'text', value = '', required = true, options, max, suggest }) {
  const id = `field-${++made}`;
  const props = { id, required, maxlength: max };
  let input;
  if (options) {
    input = h('select', { id }, options.map(o => h('option', { value: o.value ?? o }, o.label ?? o)));
    input.value = value || (options[0]?.value ?? options[0]);
  } else if (type === 'textarea') input = h('textarea', { ...props, rows: 4, dir: 'auto' });
  else input = h('input', { ...props, type, list: suggest && `${id}-list`, autocomplete: suggest && 'off' });
  if (!options) input.value = value;
  const names = suggest && h('datalist', { id: `${id}-list` });
  suggest?.then(all => names.append(...all.map(n => h('option', { value: n }))), () => {}); // they are a help alone
  return { name, input, box: h('div', { class: 'field' }, h('label', { for: id }, label, required ? '' : ' (optional)'), input, names) };
}

let fading = 0;

// toast shows a message for some seconds. With undo it has a button that calls undo.
export function toast(text, undo) {
  const box = document.getElementById('toast');
  clearTimeout(fading);
  const parts = [h('span', {}, text)];
  if (undo) parts.push(h('button', { type: 'button', onclick: () => { box.replaceChildren(); undo(); } }, 'Undo'));
  box.replaceChildren(...parts);
  fading = setTimeout(() => box.replaceChildren(), 6000);
}

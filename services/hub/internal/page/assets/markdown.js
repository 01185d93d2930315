// Markdown of agents, limited to these elements: paragraphs, headings, lists, quotations, code, emphasis, and links
// that open only after a confirmation. There is no HTML and no image.
import { h } from '/assets/dom.js';
import { ask } from '/assets/dialog.js';

// markdown returns the elements of a text.
export function markdown(text) {
  const box = h('div', { class: 'text', dir: 'auto' });
  const lines = String(text ?? '').replace(/\r\n?/g, '\n').split('\n');
  for (let i = 0; i < lines.length;) i = block(lines, i, box);
  return box;
}

const bullet = /^\s{0,3}[-*+]\s+(.*)$/, number = /^\s{0,3}\d{1,9}[.)]\s+(.*)$/;
const starts = /^\s{0,3}(#{1,6}\s|```|>|[-*+]\s|\d{1,9}[.)]\s)/;

// block appends the block that begins at a line, and returns the line after it.
function block(lines, i, box) {
  const line = lines[i];
  if (!line.trim()) return i + 1;
  if (/^\s{0,3}```/.test(line)) {
    let end = i + 1;
    while (end < lines.length && !/^\s{0,3}```\s*$/.test(lines[end])) end++;
    box.append(h('pre', { tabindex: 0 }, h('code', {}, lines.slice(i + 1, end).join('\n'))));
    return end + 1;
  }
  const heading = /^\s{0,3}#{1,6}\s+(.*)$/.exec(line);
  if (heading) {
    box.append(h('p', { class: 'heading' }, inline(heading[1])));
    return i + 1;
  }
  for (const [mark, tag] of [[bullet, 'ul'], [number, 'ol']]) {
    if (!mark.test(line)) continue;
    const items = h(tag, {});
    for (; i < lines.length && mark.test(lines[i]); i++) items.append(h('li', {}, inline(mark.exec(lines[i])[1])));
    box.append(items);
    return i;
  }
  if (/^\s{0,3}>/.test(line)) {
    const quote = h('blockquote', {});
    for (; i < lines.length && /^\s{0,3}>/.test(lines[i]); i++) quote.append(h('p', {}, inline(lines[i].replace(/^\s{0,3}>\s?/, ''))));
    box.append(quote);
    return i;
  }
  const p = h('p', {});
  const first = i;
  for (; i < lines.length && lines[i].trim() && (i === first || !starts.test(lines[i])); i++) {
    if (i > first) p.append('\n');
    p.append(...inline(lines[i]));
  }
  box.append(p);
  return i;
}

const marks = /(`+)(.+?)\1|\*\*(\S(?:.*?\S)?)\*\*|\*(\S(?:.*?\S)?)\*|\[([^\]]{1,500})\]\((https?:\/\/[^\s()]{1,2000})\)|(https?:\/\/[^\s<>()"']{1,2000})/;

// inline returns the parts of a line.
function inline(text) {
  const parts = [];
  for (let rest = text; ;) {
    const m = marks.exec(rest);
    if (!m) return [...parts, rest];
    parts.push(rest.slice(0, m.index));
    if (m[1]) parts.push(h('code', {}, m[2]));
    else if (m[3]) parts.push(h('strong', {}, ...inline(m[3])));
    else if (m[4]) parts.push(h('em', {}, ...inline(m[4])));
    else parts.push(link(m[5] || m[7], m[6] || m[7]));
    rest = rest.slice(m.index + m[0].length);
  }
}

function link(text, address) {
  let url;
  try { url = new URL(address); } catch { return text; }
  return h('button', { type: 'button', class: 'link', title: url.href, onclick: async () => {
    const yes = await ask({ title: `Open ${url.host}?`, text: url.href, confirm: 'Open' });
    if (yes) window.open(url.href, '_blank', 'noopener,noreferrer');
  } }, text);
}

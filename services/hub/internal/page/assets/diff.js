// The difference of two texts, line by line.
import { h } from '/assets/dom.js';

// diff returns the lines of both texts in order, each with '-', '+' or ' '.
function diff(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // of a from i and b from j
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push([' ', a[i++], j++]);
    else if (i < a.length && (j === b.length || common[i + 1][j] >= common[i][j + 1])) out.push(['-', a[i++]]);
    else out.push(['+', b[j++]]);
  }
  return out;
}

const spoken = { '-': 'removed', '+': 'added' };

// changes shows the differences of two versions of a text. Past 2,000 lines it shows the later version alone.
export function changes(before, after) {
  const long = Math.max(before.split('\n').length, after.split('\n').length) > 2000;
  return h('div', { class: 'diff', dir: 'auto' }, (long ? after.split('\n').map(l => [' ', l]) : diff(before, after))
    .map(([mark, text]) => h(mark === '-' ? 'del' : mark === '+' ? 'ins' : 'span', { 'aria-label': spoken[mark] && `${spoken[mark]}: ${text}` }, `${mark} ${text}`)));
}

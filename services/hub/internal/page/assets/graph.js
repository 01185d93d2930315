// A picture of work with dependencies: columns of cards, and a line from each card to those that wait for it. On a narrow
// screen the columns stand below each other, and each card names the cards that it waits for.
import { h, svg } from '/assets/dom.js';

// graph fills a box with columns [{title, nodes: [{id, node, after: [id]}]}], and keeps the lines in place.
export function graph(box, columns) {
  const lines = svg('svg', { class: 'lines', 'aria-hidden': 'true' });
  const at = new Map();
  box.replaceChildren(lines, ...columns.map(c => h('section', { class: 'column' }, h('h2', {}, c.title), h('ul', { class: 'plain' }, c.nodes.map(n => {
    const item = h('li', { 'data-item': true }, n.node);
    at.set(n.id, item);
    return item;
  })))));
  const edges = columns.flatMap(c => c.nodes.flatMap(n => n.after.filter(id => at.has(id)).map(id => [at.get(id), at.get(n.id), n.open?.includes(id)])));
  const draw = () => {
    const frame = box.getBoundingClientRect();
    lines.replaceChildren(...edges.map(([from, to, open]) => {
      const a = from.getBoundingClientRect(), b = to.getBoundingClientRect();
      const x1 = a.right - frame.left, y1 = a.top + a.height / 2 - frame.top, x2 = b.left - frame.left, y2 = b.top + b.height / 2 - frame.top;
      const bend = Math.max(20, (x2 - x1) / 2);
      return svg('path', { class: open ? 'open' : '', d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
    }));
  };
  box.watch?.disconnect();
  box.watch = new ResizeObserver(draw);
  box.watch.observe(box);
  draw();
}

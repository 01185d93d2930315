// The search over everything that was written: tasks, questions, mail, councils, fires and verifications.
import { badge, capital, empty, h, list, when, who } from '/assets/dom.js';
import { api, query } from '/assets/api.js';
import { View } from '/assets/view.js';

export const name = 'parley-search';

const kinds = ['task', 'question', 'message', 'council', 'fire', 'verification'];
const page = 20;

const ways = [['parser', 'the word, in any case, with or without accents'], ['parser lexer', 'both words, in any order'],
  ['"the old parser"', 'words that follow each other'], ['pars*', 'words that begin so']];

class Search extends View {
  title = 'Search';
  pages = 1;

  connectedCallback() { if (!this.wanted.q) this.querySelector('[name=q]')?.focus({ preventScroll: true }); }

  // wanted are the fields of the search in the address.
  get wanted() {
    const q = new URLSearchParams(location.search);
    return Object.fromEntries(['q', 'kind', 'program', 'from', 'to'].map(f => [f, q.get(f) || '']));
  }

  async load(signal) {
    const wanted = this.wanted, results = [];
    if (!wanted.q.trim()) return { wanted, results };
    let cursor = '';
    try {
      for (let n = 0; n < this.pages; n++) {
        const r = await api(query('/v1/search', { ...wanted, limit: page, cursor }), { signal });
        results.push(...r.results);
        if (!(cursor = r.nextCursor)) break;
      }
    } catch (e) {
      if (e.status !== 400) throw e;
      return { wanted, results: [], problem: capital(e.message.replace(/^\w+: /, '')) };
    }
    return { wanted, results, more: !!cursor };
  }

  draw({ wanted, results, more, problem = '' }) {
    if (!this.firstChild) this.build(wanted);
    const asked = !!wanted.q.trim();
    this.title = asked ? `${wanted.q} · Search` : 'Search';
    const find = id => this.querySelector(`#${id}`);
    list(find('hits'), results, hit, r => `${r.kind}/${r.id}`);
    find('ways').hidden = asked;
    find('problem').textContent = problem;
    find('found').textContent = asked && !problem ?
      `${results.length || 'Nothing'}${more && results.length ? ' and more' : ''} found${more && !results.length ? ' yet' : ''}` :
      '';
    find('nothing').hidden = !asked || results.length > 0 || more || !!problem;
    find('further').hidden = !more;
  }

  build(wanted) {
    const field = (id, label, input) => h('div', { class: 'field' }, h('label', { for: id }, label), input(id));
    const input = (key, props) => id => h('input', { id, name: key, value: wanted[key], onchange: () => this.ask(), ...props });
    this.append(h('h1', {}, 'Search'),
      h('form', { role: 'search', class: 'asking', onsubmit: e => { e.preventDefault(); this.ask(); } },
        h('input', { type: 'search', name: 'q', value: wanted.q, 'aria-label': 'Words', placeholder: 'Words',
          maxlength: 400, enterkeyhint: 'search', autocomplete: 'off' }),
        h('button', { class: 'main' }, 'Search'),
        h('details', { class: 'filter', open: matchMedia('(min-width: 60rem)').matches ||
          !!(wanted.kind || wanted.program || wanted.from || wanted.to) },
          h('summary', {}, 'Filters'), h('div', { class: 'narrow' },
          field('in-kind', 'Kind', id => {
            const choice = h('select', { id, name: 'kind', onchange: () => this.ask() },
              h('option', { value: '' }, 'All'), kinds.map(k => h('option', { value: k }, capital(k))));
            choice.value = wanted.kind;
            return choice;
          }),
          field('in-program', 'Agent', input('program', { maxlength: 100, placeholder: 'Any', autocomplete: 'off' })),
          field('in-from', 'From', input('from', { type: 'date' })), field('in-to', 'To', input('to', { type: 'date' }))))),
      h('p', { id: 'problem', class: 'bad', role: 'alert' }), h('p', { id: 'found', class: 'lead', role: 'status' }),
      h('ul', { class: 'hits', id: 'hits' }),
      h('div', { id: 'nothing', hidden: true }, empty('Nothing that was written has all these words.',
        'Try fewer words, a beginning such as pars*, or no filter.')),
      h('button', { type: 'button', id: 'further', hidden: true, onclick: () => { this.pages++; this.update(); } }, 'Show more'),
      h('section', { id: 'ways', 'aria-labelledby': 'ways-title' }, h('h2', { id: 'ways-title' }, 'What can be found'),
        h('p', {},
          'Tasks, questions and answers, mail between agents, councils, fires and verifications: all that agents and people wrote.'),
        h('dl', { class: 'help' }, ways.map(([k, what]) => h('div', {}, h('dt', {}, h('code', {}, k)), h('dd', {}, what))))));
  }

  // ask puts the values of the fields into the address, and searches. Without words it makes no call.
  ask() {
    const fields = Object.fromEntries([...new FormData(this.querySelector('form'))].map(([k, v]) => [k, v.trim()]));
    history.replaceState(null, '', query('/search', fields));
    this.pages = 1;
    this.update();
  }
}

const path = r => ({
  task: `/work/${encodeURIComponent(r.id)}`, question: `/q/${encodeURIComponent(r.id)}`,
  message: query('/mail', { with: r.programs?.at(-1), message: r.id }), council: `/talk/council/${encodeURIComponent(r.id)}`,
  fire: `/talk/fire/${encodeURIComponent(r.id)}`, verification: `/talk/verification/${encodeURIComponent(r.id)}`,
}[r.kind]);

// hit shows a result. Where the match is in the title, the title shows it.
const hit = r => h('li', { 'data-item': true }, h('a', { href: path(r) },
  h('span', { class: 'meta' }, badge(r.kind), (r.programs || []).flatMap((p, i) => [i ? ', ' : '', who(p)]), ' · ', when(r.at)),
  h('span', { class: 'what', dir: 'auto' }, entitled(r) ? matches(r.snippet) : r.title || r.id),
  r.snippet && !entitled(r) && h('span', { class: 'snippet', dir: 'auto' }, matches(r.snippet))));

const entitled = r => r.snippet?.replace(/[⟦⟧]/g, '') === r.title;

// matches shows the text between ⟦ and ⟧ as marked.
function matches(text) {
  return text.split(/⟦([^⟦⟧]*)⟧/).map((part, i) => i % 2 ? h('mark', {}, part) : part);
}

customElements.define(name, Search);

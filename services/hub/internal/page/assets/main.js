// The shell: it chooses the view, tells it of changes, and has the controls that every view needs.
import { $, age, h, set, svg } from '/assets/dom.js';
import { api, byPassword, Fault, hasCode, hasFirebase, hooks, isDevice, readAgain, redeem, signedIn, signOut, takeCode }
  from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';
import { keys } from '/assets/keyboard.js';
import { can, elsewhere, place, signIn } from '/assets/passkey.js';
import { resume, pause, paused } from '/assets/pause.js';

// routes are the addresses of the views: the module of each, and the parts of the address that it takes.
const routes = [
  [/^\/$/, 'inbox'], [/^\/q\/?$/, 'questions'], [/^\/q\/([^/]+)$/, 'question'], [/^\/agents$/, 'agents'],
  [/^\/work$/, 'work'], [/^\/work\/([^/]+)$/, 'task'], [/^\/sprints$/, 'sprints'], [/^\/sprints\/([^/]+)$/, 'sprint'],
  [/^\/teams\/([^/]+)$/, 'team'], [/^\/talk$/, 'talk'], [/^\/talk\/council\/([^/]+)$/, 'council'],
  [/^\/talk\/fire\/([^/]+)$/, 'fire'], [/^\/talk\/verification\/([^/]+)$/, 'verification'], [/^\/mail$/, 'mail'],
  [/^\/files$/, 'files'], [/^\/search$/, 'search'], [/^\/usage$/, 'usage'], [/^\/settings$/, 'settings'],
  [/^\/pair\/?$/, 'pair'], [/^\/pair\/([^/]+)$/, 'pair'],
];

const pages = [
  ['/', 'Inbox', 'M3 13h5l2 3h4l2-3h5M3 13l3-8h12l3 8v6H3z'],
  ['/agents', 'Agents', 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6'],
  ['/work', 'Work', 'M9 6h12M9 12h12M9 18h12M4 6h.01M4 12h.01M4 18h.01'],
  ['/files', 'Files', 'M6 3h8l5 5v13H6zM14 3v5h5M9.5 13h6M9.5 17h6'],
  ['/mail', 'Mail', 'M3 6h18v12H3zM3 7l9 7 9-7'],
  ['/talk', 'Talk', 'M4 5h16v11H10l-5 4v-4H4z'],
  ['/sprints', 'Sprints', 'M4 5h5v6H4zM15 5h5v4h-5zM15 14h5v5h-5zM9 8h6M12 8v8h3'],
  ['/search', 'Search', 'M16 16l5 5M18 10.5a7.5 7.5 0 1 1-15 0 7.5 7.5 0 0 1 15 0z'],
  ['/usage', 'Usage', 'M4 20V10M10 20V4M16 20v-7M21 20H3'],
];

let view = null; // the element of the view that is shown
let at = ''; // the path of the view
let cursor = ''; // of the feed
let running = null; // aborts the loop
let me = null; // the person who is signed in, once known
let lost = false; // the last call found no server

// ---- Addresses

async function show() {
  const path = at = location.pathname;
  const found = routes.map(([form, name]) => [form.exec(path), name]).find(([m]) => m);
  mark();
  const name = found?.[1] || 'inbox';
  const module = await import(`/assets/views/${name}.js`);
  if (location.pathname !== path) return;
  const made = document.createElement(module.name);
  made.id = 'shown';
  made.arg = found?.[0]?.[1] || '';
  made.shell = { me: () => me };
  view?.remove();
  view = made;
  fault('');
  start();
}

// mark shows in the navigation where the person is.
function mark() {
  const path = location.pathname.replace(/^\/q(\/|$)/, '/').replace(/^\/teams\//, '/sprints/');
  for (const a of document.querySelectorAll('#nav a')) {
    const at = a.getAttribute('href');
    const here = at === '/' ? path === '/' || location.pathname.startsWith('/q') : path === at || path.startsWith(`${at}/`);
    if (here) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

export function go(path) {
  if (path === location.pathname + location.search) return;
  history.pushState(null, '', path);
  scrollTo(0, 0);
  $('menu').open = false;
  show().then(() => $('main').focus({ preventScroll: true }));
}

function follow(event) {
  const a = event.target.closest?.('a[href^="/"]');
  if (!a || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || a.target) return;
  event.preventDefault();
  go(a.getAttribute('href'));
}

// ---- Following

const rest = ms => new Promise(done => setTimeout(done, ms));

// start keeps the view up to date while the page is visible.
function start() {
  running?.abort();
  if (document.hidden || !view) return;
  running = new AbortController();
  run(running.signal, view);
}

async function run(signal, shown) {
  for (let failed = 0; !signal.aborted;) {
    let ms;
    try {
      if (hasCode()) await redeem();
      if (!signedIn()) return askSignIn('');
      if (!me) learn();
      ms = await (shown.step ? shown.step(signal, failed) : step(signal, shown, failed));
      failed = 0;
      if (signal.aborted) return;
      reveal(shown);
      if (ms < 0) return;
    } catch (e) {
      if (signal.aborted) return;
      if (!(e instanceof Fault)) throw e;
      if (!e.temporary) return stopWith(e);
      lost = true;
      document.body.classList.add('lost');
      set('note', `${e.message} Trying again…`);
      ms = Math.max(e.after * 1000, Math.min(30_000, 1000 * 2 ** failed++) * (0.75 + Math.random() / 2));
    }
    await rest(ms);
  }
}

// step loads the view where it is stale, and otherwise waits for a change. It returns the pause until the next in ms.
async function step(signal, shown, failed) {
  if (!cursor) {
    cursor = (await api('/v1/feed', { signal })).cursor;
    counted = false;
  }
  if (shown.stale) {
    await shown.refresh(signal);
    tell(shown);
  }
  if (!counted && me?.kind) tally(signal);
  reveal(shown);
  const began = Date.now();
  const waits = shown.stale || failed ? 0 : 50_000;
  const r = await api(`/v1/feed?cursor=${encodeURIComponent(cursor)}&waitMs=${waits}`, { signal });
  if (signal.aborted) return 0;
  cursor = r.cursor;
  if (r.truncated || r.events.some(e => shown.concerns(e))) shown.stale = true;
  if (r.truncated || r.events.some(e => counts.includes(e.kind))) counted = false;
  if (r.truncated || r.events.some(e => e.kind === 'pause')) halted();
  if (shown.stale) return 150; // more changes that come at once are shown at once
  return r.events.length || Date.now() - began > 5000 ? 0 : 1000; // a server that shuts down answers at once
}

function reveal(shown) {
  $('sign-in').hidden = true;
  if (!shown.isConnected) $('view').replaceChildren(shown);
  $('view').hidden = false;
  tell(shown);
}

// ---- What waits for the person: in the navigation, the title and the app's badge

const counts = ['question', 'alert', 'task'];
let counted = false, waiting = 0;

async function tally(signal) {
  counted = true;
  try {
    const [q, a, t] = await Promise.all(['/v1/questions?status=pending&limit=100',
      '/v1/tasks?type=alert&status=created&limit=50&includeInstructions=false',
      '/v1/tasks?type=task&status=created&target=user&limit=50&includeInstructions=false'].map(p => api(p, { signal })));
    waiting = q.questions.length + a.tasks.length + t.tasks.filter(x => x.target === 'user').length;
  } catch {
    counted = !signal?.aborted; // another failure is made good at the next change
    return;
  }
  const spot = document.querySelector('#nav a[href="/"] .count');
  if (spot) spot.textContent = waiting || '';
  if (waiting) navigator.setAppBadge?.(waiting).catch(() => {});
  else navigator.clearAppBadge?.().catch(() => {});
  if (view) tell(view);
}

function tell(shown) {
  if (shown !== view) return;
  const title = `${waiting ? `(${waiting}) ` : ''}${shown.title} · Parley`;
  if (document.title !== title) document.title = title;
}

// ---- Pauses

async function halted() {
  try {
    const pauses = await paused();
    const all = pauses.find(p => p.scope === 'everything');
    set('halt', all ? 'Resume all' : 'Pause all');
    $('halt').classList.toggle('on', !!all);
    $('halted').replaceChildren(...(all ? [h('p', { class: 'banner' }, h('strong', {}, 'All agents are paused. '), all.words || '')] : []));
    $('halt').onclick = async () => { if (await (all ? resume(all) : pause({ scope: 'everything' }))) halted(); };
  } catch { /* it is read again at the next change */ }
}

// ---- Sign-in

async function learn() {
  me = {};
  try {
    me = await api('/v1/me');
    const answers = (me.scopes || []).includes('answer');
    $('nav').replaceChildren(...(answers ? [] : pages).map(([at, name, path]) =>
      h('a', { href: at }, icon(path), h('span', {}, name), h('span', { class: 'count' }))));
    $('nav').hidden = answers;
    $('halt').hidden = $('to-search').hidden = answers;
    $('to-settings').hidden = answers;
    document.body.classList.toggle('wide', !answers);
    mark();
    document.querySelector('.brand').href = answers ? '/q' : '/';
    counted = answers;
    if (!answers) {
      halted();
      tally();
      import('/assets/bell.js').then(bell => bell.renew(me.keyId)).catch(() => {}); // it is tried again at the next start
    }
    if (answers && !location.pathname.startsWith('/q')) go('/q');
    else if ((me.scopes || []).includes('console') && /^\/q\/?$/.test(location.pathname)) go('/'); // where a link for the console leads
  } catch { me = null; }
}

const icon = path => svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: path }));

function askSignIn(why) {
  view?.forget?.();
  me = null;
  cursor = '';
  $('by-password').hidden = !hasFirebase();
  $('by-link').hidden = hasFirebase();
  $('by-passkey').hidden = !can();
  $('passkey-there').hidden = !elsewhere();
  if (elsewhere()) $('passkey-place').href = place + location.pathname;
  set('passkey-place', place);
  set('note', '');
  fault('');
  $('nav').hidden = $('halt').hidden = $('to-search').hidden = true;
  $('view').hidden = true;
  $('sign-in').hidden = false;
  document.title = 'Sign in · Parley';
  set('why', why);
  if (why) $('sign-in-title').focus();
}

function fault(text) {
  set('fault', text);
  $('fault').hidden = !text;
}

function stopWith(e) {
  running?.abort();
  if (e.status === 401) return askSignIn(e.message);
  set('note', '');
  $('sign-in').hidden = $('view').hidden = true;
  fault(e.status === 404 ? 'There is nothing here by this name, or it is another user’s.' : e.message);
}

async function pair() {
  $('pair').disabled = true;
  try {
    const made = await api('/v1/links', { body: { console: !(me?.scopes || []).includes('answer') } });
    set('pairing', 'Open this in the other browser, once, within 10 minutes:');
    set('pairing-link', location.origin + made.path);
  } catch (e) {
    set('pairing', e.message);
    set('pairing-link', '');
  }
  $('pairing').hidden = $('pairing-link').hidden = false;
  $('pair').disabled = false;
  $('menu').open = false;
}

hooks.online = () => {
  if (!lost && !$('note').textContent) return;
  lost = false;
  document.body.classList.remove('lost');
  set('note', '');
};
hooks.changed = () => {
  $('menu').hidden = !signedIn();
  $('pair').hidden = !isDevice();
  view?.guard?.();
};

// ---- Events

$('by-password').addEventListener('submit', async event => {
  event.preventDefault();
  event.submitter.disabled = true;
  set('why', '');
  try {
    await byPassword();
    start();
  } catch (e) { set('why', e.message); }
  event.submitter.disabled = false;
});
$('use-passkey').addEventListener('click', async event => {
  const button = event.currentTarget;
  button.disabled = true;
  set('why', '');
  try {
    await signIn();
    start();
  } catch (e) { set('why', e.message); }
  button.disabled = false;
});
$('pair').addEventListener('click', pair);
$('sign-out').addEventListener('click', async () => {
  if (!await ask({ title: 'Sign out?', text: 'This browser needs a passkey or a new link to sign in again.', confirm: 'Sign out' })) return;
  await import('/assets/bell.js').then(bell => bell.silence()).catch(() => {}); // a push to it ends the device too
  signOut();
  location.reload(); // removes all displayed data
});
document.addEventListener('click', event => {
  follow(event);
  if (!$('menu').contains(event.target)) $('menu').open = false;
});
document.addEventListener('stale', start);
document.addEventListener('signed-out', event => stopWith(event.detail));
document.addEventListener('parley-go', event => go(event.detail));
document.addEventListener('visibilitychange', start);
addEventListener('popstate', () => { if (location.pathname !== at) show(); }); // a link's code in the address is no other view
addEventListener('online', start);
addEventListener('offline', start); // the next call says that there is no connection
addEventListener('hashchange', () => { takeCode(); if (hasCode()) start(); });
addEventListener('storage', event => { // another tab signed in or out
  if (event.key === 'parley.signIn' || event.key === null) if (readAgain()) start();
});
navigator.serviceWorker?.addEventListener('message', event => { if (event.data?.open) go(event.data.open); }); // a notification
setInterval(() => { if (!document.hidden) age(); }, 20_000);
keys({ go, toast });

takeCode();
hooks.changed();
show();

// One question, and the list of open ones. Text from agents is set as textContent, never as markup or an address.
'use strict';

const $ = id => document.getElementById(id);
const id = location.pathname.split('/')[2] || ''; // percent-encoded
const firebase = document.body.dataset; // key, auth and token; empty without Firebase

// ---- Calls

// Fault is a failed call. Status 0 means no connection; after is the server's Retry-After in seconds.
class Fault extends Error {
  constructor(status, message, after = 0) {
    super(message);
    Object.assign(this, { status, after });
  }
  // temporary: the same call may succeed later.
  get temporary() { return this.status === 0 || this.status === 429 || this.status >= 500; }
}

const timeout = 70_000; // ms for one call; the server waits for 55 s at most

async function request(url, init, signal) {
  const limit = AbortSignal.timeout(timeout);
  let res, text, body;
  try {
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    res = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store', signal: either });
    text = await res.text();
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Fault(0, 'There is no connection to the server.');
  }
  try { body = JSON.parse(text); } catch { body = null; }
  if (res.ok && body) return body;
  const words = body?.error?.message || `the server answered ${res.status}`;
  throw new Fault(res.ok ? 0 : res.status, `${capital(words)}.`, Number(res.headers.get('Retry-After')) || 0);
}

const capital = text => text[0].toUpperCase() + text.slice(1);
const json = body => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

let ahead = 0; // the server's clock minus this one's, in ms
const now = () => Date.now() + ahead;

// api calls the server as the user, and repeats the call once with a new token.
async function api(path, body, signal) {
  for (let again = false; ; again = true) {
    const used = await bearer();
    const init = body ? json(body) : {};
    try {
      const headers = { ...init.headers, Authorization: `Bearer ${used}` };
      const answer = await request(path, { ...init, headers }, signal);
      ahead = Date.parse(answer.meta.timestamp) - Date.now();
      say('');
      return answer.data;
    } catch (e) {
      if (e.status !== 401) throw e;
      if (token === used) token = '';
      if (user?.refresh && !again) continue;
      if (user?.key === used || user?.refresh) remember(null);
      throw e;
    }
  }
}

// ---- Sign-in

const slot = 'parley.signIn';
let user = remembered(); // {key, until, assurance} from a link, {refresh} from Firebase, or null
let token = ''; // Firebase's ID token
let code = ''; // of a link that has not been redeemed
let redeeming = null, refreshing = null; // the calls in flight

function remembered() {
  try {
    const w = JSON.parse(localStorage.getItem(slot));
    return w && !(Date.parse(w.until) <= Date.now()) ? w : null;
  } catch { return null; }
}

function remember(w) {
  user = w;
  $('sign-out').hidden = !w;
  $('pair').hidden = !isDevice();
  showGuard();
  try {
    if (w) localStorage.setItem(slot, JSON.stringify(w));
    else localStorage.removeItem(slot);
  } catch { /* without storage the sign-in lasts until the tab is closed */ }
}

// isDevice: the sign-in is as good as a paired device.
const isDevice = () => !!user?.refresh || user?.assurance === 'device';

async function bearer() {
  if (!user) throw new Fault(401, '');
  if (user.key) return user.key;
  if (!token) await (refreshing ??= refresh().finally(() => { refreshing = null; }));
  return token;
}

async function refresh() {
  try {
    const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: user.refresh });
    const url = `${firebase.token}/v1/token?key=${encodeURIComponent(firebase.key)}`;
    const r = await request(url, { method: 'POST', body: form });
    if (!user) throw new Fault(401, ''); // signed out meanwhile
    remember({ refresh: r.refresh_token });
    token = r.id_token;
  } catch (e) {
    if (e.temporary) throw e;
    remember(null);
    throw new Fault(401, 'The sign-in has ended.');
  }
}

// takeCode removes a link's code from the address, to keep it out of the browser's history.
function takeCode() {
  const link = /^#link=(.+)$/.exec(location.hash);
  if (!link) return;
  history.replaceState(null, '', location.pathname + location.search);
  code = link[1];
}

// redeem signs in with a link's code. A code is valid once, so the call is never aborted. An invalid code leaves the
// present sign-in in place. A paired device shows its key, which stays its key.
async function redeem() {
  try {
    const init = json({ code });
    if (user?.assurance === 'device') init.headers.Authorization = `Bearer ${user.key}`;
    const { data } = await request('/v1/links/redeem', init);
    remember({ key: data.key, until: data.expiresAt, assurance: data.assurance });
  } catch (e) {
    if (e.temporary) throw e;
    code = '';
    if (!user) throw new Fault(401, e.message);
  }
  code = '';
}

async function signIn(event) {
  event.preventDefault();
  event.submitter.disabled = true;
  set('why', '');
  try {
    const asked = json({ email: $('email').value, password: $('password').value, returnSecureToken: true });
    const url = `${firebase.auth}/v1/accounts:signInWithPassword?key=${encodeURIComponent(firebase.key)}`;
    const r = await request(url, asked);
    $('password').value = '';
    remember({ refresh: r.refreshToken });
    token = r.idToken;
    start();
  } catch (e) {
    const wrong = /^(INVALID_(LOGIN|PASSWORD|EMAIL)|EMAIL_NOT)/.test(e.message);
    set('why', wrong ? 'The e-mail or the password is wrong.' : `Signing in failed: ${e.message}`);
  }
  event.submitter.disabled = false;
}

// pair shows a link that pairs another browser, which the person opens there.
async function pair() {
  $('pair').disabled = true;
  try {
    const made = await api('/v1/links', {});
    set('pairing', 'Open this in the other browser, once, within 10 minutes:');
    set('pairing-link', location.origin + made.path);
  } catch (e) {
    set('pairing', e.message);
    set('pairing-link', '');
  }
  $('pairing').hidden = $('pairing-link').hidden = false;
  $('pair').disabled = false;
}

// ---- View

const set = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
const say = text => set('note', text);
const make = (tag, text, more) =>
  Object.assign(document.createElement(tag), { textContent: text, dir: 'auto', ...more });

function view(name) {
  for (const v of ['sign-in', 'list', 'task', 'fault']) $(v).hidden = v !== name;
}

function askSignIn(why) {
  task = null; // it is loaded again after the sign-in; a typed answer stays
  $('by-password').hidden = !firebase.key;
  $('by-link').hidden = !!firebase.key;
  say('');
  view('sign-in');
  set('why', why);
  if (why) $('sign-in-title').focus();
}

function stopWith(e) {
  running?.abort();
  if (e.status === 401) return askSignIn(e.message);
  say('');
  set('fault', e.status === 404 ? 'There is nothing here by this name, or it is another user’s.' : e.message);
  view('fault');
}

const at = time => new Date(time).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });

function span(ms) {
  const s = Math.ceil(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
  return h >= 48 ? `${Math.floor(h / 24)} days` : h ? `${h} h ${m % 60} min` : m ? `${m} min ${s % 60} s` : `${s} s`;
}

// show displays the parts of a task that do not change.
function show(t) {
  task = t;
  const q = t.type === 'question' ? t.question : null;
  set('kind', capital(t.type));
  document.title = `${$('kind').textContent} · Parley`;
  set('source', t.source || 'an agent without a name');
  set('verified', t.verified ? '(verified)' : '(not verified)');
  showGuard();
  set('about', `· ${t.alertType ? t.alertType + ' · ' : ''}${t.priority} priority · ${at(t.createdAt)}`);
  set('title', q ? q.content : t.title);
  const parts = ['instructions', 'context', 'note', 'result', 'reason'].filter(p => t[p] && t[p] !== t.title);
  $('parts').replaceChildren(...parts.flatMap(p => [make('dt', capital(p)), make('dd', t[p])]));
  $('answer').hidden = !q;
  if (q) showQuestion(q);
  else set('state', `Status: ${t.status}`);
}

// showGuard says whether this browser may answer, where not every one may.
function showGuard() {
  $('guarded').hidden = task?.question?.assurance !== 'device' || task.status !== 'created' || ended;
  set('guarded', isDevice() ? 'Only a paired device may answer this. This browser is one.' :
    'Only a paired device may answer this, and this browser is none. Open it on a paired one.');
}

function showQuestion(q) {
  const options = (q.options || []).filter(o => o.trim());
  $('choices').replaceChildren(...options.map(o => {
    const label = make('label', '', { className: 'choice' });
    label.append(make('input', '', { type: 'radio', name: 'choice', value: o }), make('span', o));
    return label;
  }));
  $('options').hidden = !options.length;
  set('text-label', options.length ? 'Or answer in your own words' : 'Your answer');
  set('state', 'Waiting for your answer');
  ended = false;
  if (task.status === 'done') showEnd({ ...q, status: 'answered' });
  else if (task.status === 'derezzed') showEnd({ status: 'expired' });
  else waited = true;
  tick();
  redraw();
}

// tick updates the countdown to the expiry, by the server's clock.
function tick() {
  clearTimeout(timer);
  if (ended || task?.type !== 'question') return;
  const left = Date.parse(task.expiresAt) - now();
  if (left <= 0) return finish('This question expired without an answer');
  set('left', `Expires in ${span(left)}`);
  timer = setTimeout(tick, Math.min(left, 1000));
}

// finish removes the means to answer. Text that was not sent stays readable.
function finish(state, mine) {
  set('state', state);
  set('left', '');
  set('refused', '');
  $('answer').hidden = mine || !$('text').value.trim();
  $('options').hidden = $('send').hidden = $('text').readOnly = true;
  set('text-label', 'What you wrote, which was not sent');
}

// showEnd displays a question's final result.
function showEnd(r) {
  if (r.status === 'pending') return;
  ended = true;
  clearTimeout(timer);
  if (r.status === 'expired') return finish('This question expired without an answer');
  const mine = r.response === sent;
  finish(waited && !mine ? 'This question was answered elsewhere' : 'This question is answered', mine);
  const how = { device: ' · from a paired device', local: ' · from the machine of the agents' }[r.answeredWith] || '';
  set('left', `${at(r.answeredAt)}${r.answeredBy ? ` · by ${r.answeredBy}` : ''}${how}`);
  showGuard();
  set('standing', r.response);
  $('standing').hidden = false;
}

// ---- The answer

let sent = null; // the last answer that this page sent
let sending = false;

const picked = () => document.querySelector('#choices :checked');
const chosen = () => picked()?.value ?? $('text').value;

// redraw shows the answer that the button would send.
function redraw() {
  $('send').disabled = sending || !chosen().trim();
  set('send', sending ? 'Sending…' : picked() ? `Send: ${chosen()}` : 'Send');
  $('options').disabled = sending;
  $('text').readOnly = sending || $('send').hidden;
}

// typed deselects the option, so that the text is the answer.
function typed() {
  if ($('text').value.trim() && picked() && !sending) picked().checked = false;
  redraw();
}

async function send(event) {
  event.preventDefault();
  if ($('send').disabled || ended) return;
  sending = true;
  sent = chosen();
  set('refused', '');
  redraw();
  try {
    showEnd(await api(`/v1/questions/${id}/answer`, { response: sent }));
  } catch (e) {
    await showError(e);
  }
  sending = false;
  redraw();
  (ended ? $('state') : $('send')).focus();
}

// showError shows why an answer was refused, or the answer that was accepted instead.
async function showError(e) {
  if (e.status === 409) {
    try {
      showEnd(await api(`/v1/questions/${id}/response`));
      e = new Fault(503, 'The question is being changed.');
    } catch (f) { e = f; }
  }
  if (ended) return;
  if (e.status === 401) return stopWith(e);
  set('refused', e.temporary ? `${e.message} Your answer is still here: send it again.` : e.message);
}

// ---- Following

let task = null, ended = false, timer = 0;
let waited = false; // this page has shown the question as open
let running = null; // aborts the current follow
let last = ''; // the last displayed data, as JSON

// isNew: the data differs from the displayed data.
const isNew = data => last !== (last = JSON.stringify(data));
const pause = ms => new Promise(done => setTimeout(done, ms));

// start keeps the page up to date while it is visible.
function start() {
  running?.abort();
  if (document.hidden) return;
  running = new AbortController();
  follow(running.signal);
}

async function follow(signal) {
  for (let failed = 0; !signal.aborted;) {
    let rest;
    try {
      if (code) await (redeeming ??= redeem().finally(() => { redeeming = null; }));
      if (!user) return askSignIn('');
      rest = await (id ? update(signal, failed) : list(signal));
      failed = 0;
      if (rest < 0) return;
    } catch (e) {
      if (signal.aborted) return;
      if (!e.temporary) return stopWith(e);
      say(`${e.message} Trying again…`);
      rest = Math.max(e.after * 1000, Math.min(30_000, 1000 * 2 ** failed++) * (0.75 + Math.random() / 2));
    }
    await pause(rest);
  }
}

// update returns the pause until the next update in ms, or -1 if nothing will change.
async function update(signal, failed) {
  if (task?.type !== 'question') {
    const t = await api(`/v1/tasks/${id}`, null, signal);
    if (isNew(t) || !task) show(t);
  }
  view('task');
  if (task.type !== 'question') return 20_000;
  if (ended) return -1;
  const began = Date.now();
  showEnd(await api(`/v1/questions/${id}/response?waitMs=${failed ? 0 : 50_000}`, null, signal));
  return ended ? -1 : Date.now() - began < 5000 ? 1000 : 0; // a server that shuts down answers at once
}

async function list(signal) {
  const r = await api('/v1/questions?status=pending&limit=100', null, signal);
  if (isNew(r)) {
    $('questions').replaceChildren(...r.questions.map(q => {
      const item = make('li', ''), link = make('a', '', { href: `/q/${encodeURIComponent(q.id)}` });
      link.append(make('span', q.question), make('small', q.source || 'an agent without a name'),
        make('small', `${q.verified ? 'verified' : 'not verified'} · ${q.priority} priority · ` +
          `expires ${at(q.expiresAt)}${q.assurance === 'device' ? ' · for a paired device' : ''}`));
      item.append(link);
      return item;
    }));
    $('none').hidden = r.questions.length > 0;
    $('more').hidden = !r.nextCursor;
  }
  view('list');
  return 15_000;
}

// ---- Events
$('answer').addEventListener('submit', send);
$('choices').addEventListener('change', redraw);
$('text').addEventListener('input', typed);
$('text').addEventListener('focus', typed);
$('by-password').addEventListener('submit', signIn);
$('pair').addEventListener('click', pair);
$('sign-out').addEventListener('click', () => {
  remember(null);
  location.reload(); // removes all displayed data
});
document.addEventListener('visibilitychange', start);
addEventListener('online', start);
addEventListener('hashchange', () => { takeCode(); if (code) start(); });
addEventListener('storage', () => { // another tab signed in or out
  const was = !!user;
  remember(remembered());
  if (was === !!user) return;
  token = '';
  start();
});

remember(user);
takeCode();
start();

// The page of one question, and the list of those that wait for an answer. What agents
// wrote becomes text of the document (textContent) and never markup or an address.
'use strict';

const $ = id => document.getElementById(id);
const id = location.pathname.split('/')[2] || ''; // as an address has it, escaped
const firebase = document.body.dataset; // key, auth and token; empty without Firebase

// ---- Calls

// Fault is what a call came to that did not succeed. Status 0 is no connection, and
// after are the seconds to wait that the server named.
class Fault extends Error {
  constructor(status, message, after = 0) {
    super(message);
    Object.assign(this, { status, after });
  }
  // passing says that the same call may succeed later.
  get passing() { return this.status === 0 || this.status === 429 || this.status >= 500; }
}

const patience = 70_000; // ms for a call; the longest wait of the server's is 55 s

async function request(url, init, signal) {
  const limit = AbortSignal.timeout(patience);
  let res, text, body;
  try {
    res = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store', signal: signal ? AbortSignal.any([signal, limit]) : limit });
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

let ahead = 0; // ms that the server's clock is ahead of this one's
const now = () => Date.now() + ahead;

// api calls the server as who signed in, and repeats the call once with a new token.
async function api(path, body, signal) {
  for (let again = false; ; again = true) {
    const used = await bearer();
    const init = body ? json(body) : {};
    try {
      const answer = await request(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${used}` } }, signal);
      ahead = Date.parse(answer.meta.timestamp) - Date.now();
      say('');
      return answer.data;
    } catch (e) {
      if (e.status !== 401) throw e;
      if (token === used) token = '';
      if (who?.refresh && !again) continue;
      if (who?.key === used || who?.refresh) remember(null);
      throw e;
    }
  }
}

// ---- Who is signed in

const slot = 'parley.signIn';
let who = remembered(); // {key, until} by a link, {refresh} by Firebase, or null
let token = ''; // Firebase's ID token
let code = ''; // of a link that is not redeemed yet
let redeeming = null, refreshing = null; // one of each at a time

function remembered() {
  try {
    const w = JSON.parse(localStorage.getItem(slot));
    return w && !(Date.parse(w.until) <= Date.now()) ? w : null;
  } catch { return null; }
}

function remember(w) {
  who = w;
  $('sign-out').hidden = !w;
  try {
    if (w) localStorage.setItem(slot, JSON.stringify(w));
    else localStorage.removeItem(slot);
  } catch { /* a browser that keeps nothing: signed in until the tab is closed */ }
}

async function bearer() {
  if (!who) throw new Fault(401, '');
  if (who.key) return who.key;
  if (!token) await (refreshing ??= refresh().finally(() => { refreshing = null; }));
  return token;
}

async function refresh() {
  try {
    const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: who.refresh });
    const r = await request(`${firebase.token}/v1/token?key=${encodeURIComponent(firebase.key)}`, { method: 'POST', body: form });
    if (!who) throw new Fault(401, ''); // signed out meanwhile
    remember({ refresh: r.refresh_token });
    token = r.id_token;
  } catch (e) {
    if (e.passing) throw e;
    remember(null);
    throw new Fault(401, 'The sign-in has ended.');
  }
}

// takeCode takes a link's code from the address, so that no history keeps it.
function takeCode() {
  const link = /^#link=(.+)$/.exec(location.hash);
  if (!link) return;
  history.replaceState(null, '', location.pathname + location.search);
  code = link[1];
}

// redeem signs in by the link. A code is good once, so this is never given up midway,
// and one that cannot be used leaves a sign-in that there is.
async function redeem() {
  try {
    const { data } = await request('/v1/links/redeem', json({ code }));
    remember({ key: data.key, until: data.expiresAt });
  } catch (e) {
    if (e.passing) throw e;
    code = '';
    if (!who) throw new Fault(401, e.message);
  }
  code = '';
}

async function signIn(event) {
  event.preventDefault();
  event.submitter.disabled = true;
  set('why', '');
  try {
    const asked = json({ email: $('email').value, password: $('password').value, returnSecureToken: true });
    const r = await request(`${firebase.auth}/v1/accounts:signInWithPassword?key=${encodeURIComponent(firebase.key)}`, asked);
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

// ---- What is seen

const set = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
const say = text => set('note', text);
const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text, dir: 'auto', ...more });

function view(name) {
  for (const v of ['sign-in', 'list', 'task', 'fault']) $(v).hidden = v !== name;
}

function askSignIn(why) {
  task = null; // whoever signs in next reads it anew; what was written stays
  $('by-password').hidden = !firebase.key;
  $('by-link').hidden = !!firebase.key;
  say('');
  view('sign-in');
  set('why', why);
  if (why) $('sign-in-title').focus();
}

function stopWith(e) {
  going?.abort();
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

// show fills in what does not change while the page is open.
function show(t) {
  task = t;
  const q = t.type === 'question' ? t.question : null;
  set('kind', capital(t.type));
  document.title = `${$('kind').textContent} · Parley`;
  set('source', t.source || 'an agent without a name');
  set('verified', t.verified ? '(verified)' : '(not verified)');
  set('about', `· ${t.alertType ? t.alertType + ' · ' : ''}${t.priority} priority · ${at(t.createdAt)}`);
  set('title', q ? q.content : t.title);
  const parts = ['instructions', 'context', 'note', 'result', 'reason'].filter(p => t[p] && t[p] !== t.title);
  $('parts').replaceChildren(...parts.flatMap(p => [make('dt', capital(p)), make('dd', t[p])]));
  $('answer').hidden = !q;
  if (q) showQuestion(q);
  else set('state', `Status: ${t.status}`);
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
  if (task.status === 'done') showEnd({ status: 'answered', response: q.response, answeredAt: q.answeredAt });
  else if (task.status === 'derezzed') showEnd({ status: 'expired' });
  else waited = true;
  tick();
  offer();
}

// tick counts down to the expiry by the server's clock, and shows it at once.
function tick() {
  clearTimeout(timer);
  if (ended || task?.type !== 'question') return;
  const left = Date.parse(task.expiresAt) - now();
  if (left <= 0) return shut('This question expired without an answer');
  set('left', `Expires in ${span(left)}`);
  timer = setTimeout(tick, Math.min(left, 1000));
}

// shut takes the question off the hands of who reads it. Words that were not sent stay readable.
function shut(state, mine) {
  set('state', state);
  set('left', '');
  set('refused', '');
  $('answer').hidden = mine || !$('text').value.trim();
  $('options').hidden = $('send').hidden = $('text').readOnly = true;
  set('text-label', 'What you wrote, which was not sent');
}

// showEnd shows how a question ended.
function showEnd(r) {
  if (r.status === 'pending') return;
  ended = true;
  clearTimeout(timer);
  if (r.status === 'expired') return shut('This question expired without an answer');
  const mine = r.response === sent;
  shut(waited && !mine ? 'This question was answered elsewhere' : 'This question is answered', mine);
  set('left', at(r.answeredAt));
  set('standing', r.response);
  $('standing').hidden = false;
}

// ---- The answer

let sent = null; // what was last sent from here
let sending = false;

const picked = () => document.querySelector('#choices :checked');
const chosen = () => picked()?.value ?? $('text').value;

// offer lets the button say what it would send.
function offer() {
  $('send').disabled = sending || !chosen().trim();
  set('send', sending ? 'Sending…' : picked() ? `Send: ${chosen()}` : 'Send');
  $('options').disabled = sending;
  $('text').readOnly = sending || $('send').hidden;
}

// write makes what is in the text the answer, rather than an option.
function write() {
  if ($('text').value.trim() && picked() && !sending) picked().checked = false;
  offer();
}

async function send(event) {
  event.preventDefault();
  if ($('send').disabled || ended) return;
  sending = true;
  sent = chosen();
  set('refused', '');
  offer();
  try {
    showEnd(await api(`/v1/questions/${id}/answer`, { response: sent }));
  } catch (e) {
    await unsent(e);
  }
  sending = false;
  offer();
  (ended ? $('state') : $('send')).focus();
}

// unsent says why an answer did not arrive, or what stands in its place.
async function unsent(e) {
  if (e.status === 409) {
    try {
      showEnd(await api(`/v1/questions/${id}/response`));
      e = new Fault(503, 'The question is being changed.');
    } catch (f) { e = f; }
  }
  if (ended) return;
  if (e.status === 401) return stopWith(e);
  set('refused', e.passing ? `${e.message} Your answer is still here: send it again.` : e.message);
}

// ---- Following

let task = null, ended = false, timer = 0;
let waited = false; // whether the question was seen here before it ended
let going = null; // ends what runs now
let last = ''; // what was shown last

// fresh says whether this is not what is shown already.
const fresh = data => last !== (last = JSON.stringify(data));
const pause = ms => new Promise(done => setTimeout(done, ms));

// start follows what the page shows, from now and for as long as it can be seen.
function start() {
  going?.abort();
  if (document.hidden) return;
  going = new AbortController();
  follow(going.signal);
}

async function follow(signal) {
  for (let failed = 0; !signal.aborted;) {
    let rest;
    try {
      if (code) await (redeeming ??= redeem().finally(() => { redeeming = null; }));
      if (!who) return askSignIn('');
      rest = await (id ? step(signal, failed) : list(signal));
      failed = 0;
      if (rest < 0) return;
    } catch (e) {
      if (signal.aborted) return;
      if (!e.passing) return stopWith(e);
      say(`${e.message} Trying again…`);
      rest = Math.max(e.after * 1000, Math.min(30_000, 1000 * 2 ** failed++) * (0.75 + Math.random() / 2));
    }
    await pause(rest);
  }
}

// step brings the page up to date, and says how many ms to rest, or -1 where nothing
// will change any more.
async function step(signal, failed) {
  if (task?.type !== 'question') {
    const t = await api(`/v1/tasks/${id}`, null, signal);
    if (fresh(t) || !task) show(t);
  }
  view('task');
  if (task.type !== 'question') return 20_000;
  if (ended) return -1;
  const began = Date.now();
  showEnd(await api(`/v1/questions/${id}/response?waitMs=${failed ? 0 : 50_000}`, null, signal));
  return ended ? -1 : Date.now() - began < 5000 ? 1000 : 0; // a server that stops answers at once
}

async function list(signal) {
  const r = await api('/v1/questions?status=pending&limit=100', null, signal);
  if (fresh(r)) {
    $('questions').replaceChildren(...r.questions.map(q => {
      const item = make('li', ''), link = make('a', '', { href: `/q/${encodeURIComponent(q.id)}` });
      link.append(make('span', q.question), make('small', q.source || 'an agent without a name'),
        make('small', `${q.verified ? 'verified' : 'not verified'} · ${q.priority} priority · expires ${at(q.expiresAt)}`));
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
$('choices').addEventListener('change', offer);
$('text').addEventListener('input', write);
$('text').addEventListener('focus', write);
$('by-password').addEventListener('submit', signIn);
$('sign-out').addEventListener('click', () => {
  remember(null);
  location.reload(); // nothing of what was shown stays
});
document.addEventListener('visibilitychange', start);
addEventListener('online', start);
addEventListener('hashchange', () => { takeCode(); if (code) start(); });
addEventListener('storage', () => { // another tab signed in or out
  const was = !!who;
  remember(remembered());
  if (was === !!who) return;
  token = '';
  start();
});

remember(who);
takeCode();
start();

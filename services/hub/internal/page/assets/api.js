// Calls of the server, and the sign-in that they carry.
import { $, capital, setClock } from '/assets/dom.js';

const firebase = document.body.dataset; // key, auth and token; empty without Firebase
export const hasFirebase = () => !!firebase.key;

// Fault is a failed call. Status 0 means no connection; after is the server's Retry-After in seconds.
export class Fault extends Error {
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
  throw new Fault(res.ok ? 0 : res.status, `${capital(words).replace(/\.$/, '')}.`, Number(res.headers.get('Retry-After')) || 0);
}

const json = (body, method = 'POST') =>
  ({ method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

// hooks are set by the shell: online is told of every call that succeeded, changed of every other sign-in.
export const hooks = { online() {}, changed() {} };

// api calls the server as the user, and repeats the call once with a new token.
export async function api(path, { body, method, signal, keepalive } = {}) {
  for (let again = false; ; again = true) {
    const used = await bearer();
    const init = body ? json(body, method) : { method: method || 'GET' };
    try {
      const headers = { ...init.headers, Authorization: `Bearer ${used}` };
      const answer = await request(path, { ...init, headers, keepalive }, signal);
      setClock(answer.meta.timestamp);
      hooks.online();
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

// peek calls a tool on the read-only endpoint of its toolset: a call that would mark messages as read, or would join
// the caller, changes nothing there. REST has no such endpoint.
export async function peek(toolset, name, args, signal) {
  const init = json({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
  const headers = { ...init.headers, Accept: 'application/json, text/event-stream', Authorization: `Bearer ${await bearer()}` };
  const { result, error } = await request(`/mcp/x/${toolset}/readonly`, { ...init, headers }, signal);
  const said = result?.structuredContent;
  if (error || !result || result.isError) throw new Fault(said?.error?.code === 'NOT_FOUND' ? 404 : 400, `${capital(said?.error?.message || error?.message || 'the call failed')}.`);
  return said;
}

// query appends the fields that are not empty to a path.
export function query(path, fields) {
  const q = new URLSearchParams(Object.entries(fields).filter(([, v]) => v !== '' && v != null && v !== false));
  return q.size ? `${path}?${q}` : path;
}

// ---- Sign-in

const slot = 'parley.signIn';
let user = remembered(); // {key, until, assurance} from a link or a passkey, {refresh} from Firebase, or null
let token = ''; // Firebase's ID token
let code = ''; // of a link that has not been redeemed
let redeeming = null, refreshing = null; // the calls in flight

export const signedIn = () => !!user;
export const hasCode = () => !!code;
// isDevice: the sign-in is as good as a paired device.
export const isDevice = () => !!user?.refresh || ['device', 'passkey'].includes(user?.assurance);

function remembered() {
  try {
    const w = JSON.parse(localStorage.getItem(slot));
    return w && !(Date.parse(w.until) <= Date.now()) ? w : null;
  } catch { return null; }
}

function remember(w) {
  user = w;
  try {
    if (w) localStorage.setItem(slot, JSON.stringify(w));
    else for (const name of Object.keys(localStorage)) if (name.startsWith('parley.')) localStorage.removeItem(name);
  } catch { /* without storage the sign-in lasts until the tab is closed */ }
  hooks.changed();
}

export const signOut = () => remember(null);

// readAgain reads what another tab stored, and reports whether it signed in or out.
export function readAgain() {
  const was = !!user;
  user = remembered();
  hooks.changed();
  if (was === !!user) return false;
  token = '';
  return true;
}

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
export function takeCode() {
  const link = /^#link=(.+)$/.exec(location.hash);
  if (!link) return;
  history.replaceState(null, '', location.pathname + location.search);
  code = link[1];
}

// redeem signs in with a link's code. A code is valid once, so the call is never aborted. An invalid code leaves the
// present sign-in in place. A paired device shows its key, which stays its key.
export const redeem = () => redeeming ??= redeemOnce().finally(() => { redeeming = null; });

async function redeemOnce() {
  try {
    const init = json({ code });
    if (user?.key && isDevice()) init.headers.Authorization = `Bearer ${user.key}`;
    const { data } = await request('/v1/links/redeem', init);
    remember({ key: data.key, until: data.expiresAt, assurance: data.assurance });
  } catch (e) {
    if (e.temporary) throw e;
    code = '';
    if (!user) throw new Fault(401, e.message);
  }
  code = '';
}

// byPasskey signs in with what use makes of the server's request: the signature of a passkey.
export async function byPasskey(use) {
  const { data: begun } = await request('/v1/passkeys/sign-in/begin', { method: 'POST' });
  const { data } = await request('/v1/passkeys/sign-in/finish', json({ credential: await use(begun.request) }));
  remember({ key: data.key, until: data.expiresAt, assurance: data.assurance });
}

// byPassword signs in with Firebase.
export async function byPassword() {
  try {
    const asked = json({ email: $('email').value, password: $('password').value, returnSecureToken: true });
    const url = `${firebase.auth}/v1/accounts:signInWithPassword?key=${encodeURIComponent(firebase.key)}`;
    const r = await request(url, asked);
    $('password').value = '';
    remember({ refresh: r.refreshToken });
    token = r.idToken;
  } catch (e) {
    const wrong = /^(INVALID_(LOGIN|PASSWORD|EMAIL)|EMAIL_NOT)/.test(e.message);
    throw new Fault(e.status, wrong ? 'The e-mail or the password is wrong.' : `Signing in failed: ${e.message}`);
  }
}

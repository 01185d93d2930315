// This browser as a device that rings: its service worker, and its subscription to Web Push.
import { api } from '/assets/api.js';

const script = '/sw.js';
// The page's policy allows one maker of script addresses, which makes this one alone.
const policy = globalThis.trustedTypes?.createPolicy('parley-worker', {
  createScriptURL(url) {
    if (url !== script) throw new TypeError(`${url} is not the service worker`);
    return url;
  },
});

const slot = 'parley.bell';

// kept is what this browser registered: {deviceId, endpoint, keyId, name, ending}, or null.
function kept() {
  try { return JSON.parse(localStorage.getItem(slot)); } catch { return null; }
}

function keep(what) {
  try {
    if (what) localStorage.setItem(slot, JSON.stringify(what));
    else localStorage.removeItem(slot);
  } catch { /* without storage the device is one of the list, and this browser does not know which */ }
}

export const own = () => kept()?.deviceId || '';

// obstacle says why this browser cannot be rung: insecure, home (an iPhone's page that is not on the home screen), none,
// blocked or keyless; empty if it can be.
export function obstacle(vapid) {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) {
    return /iPhone|iPad|Macintosh.*Mobile/.test(navigator.userAgent) ? 'home' : 'none';
  }
  if (!vapid) return 'keyless';
  return Notification.permission === 'denied' ? 'blocked' : '';
}

const within = (promise, ms, words) =>
  Promise.race([promise, new Promise((_, refuse) => setTimeout(() => refuse(new Error(words)), ms))]);

const bytes = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));

const same = (a, b) => !!a && new Uint8Array(a).join() === b.join();

// subscription returns this browser's subscription with the server's key. One with another key is given up.
async function subscription(vapid) {
  await navigator.serviceWorker.register(policy ? policy.createScriptURL(script) : script);
  const { pushManager } = await within(navigator.serviceWorker.ready, 20_000,
    'The service worker of the page does not start. Reload the page, and try again.');
  const key = bytes(vapid);
  const old = await pushManager.getSubscription();
  if (old && same(old.options.applicationServerKey, key)) return old;
  await old?.unsubscribe();
  return within(pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }), 20_000,
    'The browser’s own push service does not answer. Try again later.');
}

async function register(s, name, keyId) {
  const { endpoint, keys } = s.toJSON();
  const made = await api('/v1/devices', { body: { platform: 'webpush', name, subscription: { endpoint, keys } } });
  keep({ deviceId: made.deviceId, endpoint, keyId, name });
}

// ring makes this browser a device, after a click.
export async function ring(vapid, name, keyId) {
  const said = await Notification.requestPermission();
  if (said !== 'granted') throw new Error(said === 'denied' ? 'The browser blocks notifications of this page.' :
    'You have not allowed notifications.');
  await register(await subscription(vapid), name, keyId);
}

// silence makes this browser no device any more. A removal that a reload or a lost connection interrupts is completed
// at the next start.
export async function silence() {
  const was = kept();
  if (was) keep({ ...was, ending: true });
  const worker = await navigator.serviceWorker?.getRegistration();
  await (await worker?.pushManager.getSubscription())?.unsubscribe().catch(() => false);
  if (was) await api(`/v1/devices/${was.deviceId}`, { method: 'DELETE' }).catch(e => { if (e.status !== 404) throw e; });
  keep(null);
}

// renew is called at every start: a browser's subscription changes by itself, and a device answers with the key that
// registered it. A device that was removed elsewhere is silent from then on.
export async function renew(keyId) {
  const was = kept();
  if (was?.ending) return silence();
  if (!was || obstacle('any') || Notification.permission !== 'granted') return;
  const [{ devices }, { vapidPublicKey }] = await Promise.all([api('/v1/devices?limit=100'), api('/v1/settings/notifications')]);
  if (!vapidPublicKey) return;
  const s = await subscription(vapidPublicKey);
  const known = devices.some(d => d.deviceId === was.deviceId);
  if (!known && s.endpoint === was.endpoint) return silence();
  if (known && s.endpoint === was.endpoint && keyId === was.keyId) return;
  await register(s, was.name, keyId);
  if (known && own() !== was.deviceId) await api(`/v1/devices/${was.deviceId}`, { method: 'DELETE' });
}

// name is a first proposal for the name of this browser.
export function name() {
  const ua = navigator.userAgent;
  const browser = [['Edg/', 'Edge'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'],
    ['Safari/', 'Safari']].find(([mark]) => ua.includes(mark))?.[1] || 'Browser';
  const on = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Mac', 'Mac'], ['Windows', 'Windows'],
    ['Linux', 'Linux']].find(([mark]) => ua.includes(mark))?.[1];
  return on ? `${browser} on ${on}` : browser;
}

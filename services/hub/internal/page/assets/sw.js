// The service worker: it shows pushes, and answers a question from a button of its notification. It caches nothing, so
// the page is always the server's.
'use strict';

addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('push', event => event.waitUntil(show(event.data)));
addEventListener('notificationclick', event => {
  event.notification.close();
  event.waitUntil(clicked(event.notification.data || {}, event.action));
});

function read(data) {
  try {
    const { notification: n, parley } = data.json();
    if (n && typeof n.title === 'string') return { n, parley: parley || {} };
  } catch { /* not of this server; a browser wants a notification for every push */ }
  return { n: { title: 'Parley', body: 'Something happened.' }, parley: {} };
}

const icon = '/assets/bell.png', badge = '/assets/bell-badge.png';

// path returns the page of a push. It is opened at the address where this browser is signed in, which may be another than
// the one that the server calls its own.
function path(n, parley) {
  try {
    const { pathname } = new URL(n.navigate);
    if (/^\/(?!\/)/.test(pathname)) return pathname;
  } catch { /* as without one */ }
  return parley.taskId ? `/q/${encodeURIComponent(parley.taskId)}` : '/';
}

async function show(data) {
  const { n, parley } = read(data);
  const [old] = n.tag ? await registration.getNotifications({ tag: n.tag }) : [];
  const options = parley.answer ? parley.options || [] : [];
  await registration.showNotification(n.title, {
    body: n.body || '', tag: n.tag || '', dir: 'auto', icon, badge,
    renotify: !!n.tag && old?.data?.id !== parley.id, // a push that comes twice rings once
    requireInteraction: parley.type === 'question' && parley.priority === 'high',
    actions: options.slice(0, 2).map((title, i) => ({ action: String(i + 1), title })),
    data: { id: parley.id, path: path(n, parley), answer: parley.answer || '' },
  });
  if (n.app_badge) await navigator.setAppBadge?.(n.app_badge).catch(() => {});
  else if (n.app_badge === 0) await navigator.clearAppBadge?.().catch(() => {});
}

// A browser lets a worker open a window for some seconds after a click, so the page is opened where an answer takes longer.
const patience = 3000; // ms

async function clicked({ path = '/', answer }, action) {
  if (!action || !answer) return open(path);
  const sent = give(answer, Number(action));
  const slow = new Promise(done => setTimeout(done, patience, 'The server has not answered yet.'));
  const why = await Promise.race([sent, slow]);
  if (why) await open(path).catch(() => complain(path, why));
  return sent;
}

// give answers a question, and returns why that failed; empty if it did not.
async function give(token, option) {
  try {
    const res = await fetch('/v1/answers', { method: 'POST', credentials: 'omit', cache: 'no-store', keepalive: true,
      headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token, option }) });
    if (res.ok) return '';
    const said = await res.json().catch(() => null);
    return said?.error?.message || `The server answered ${res.status}.`;
  } catch { return 'There is no connection to the server.'; }
}

// complain shows why an answer was not given where no window could be opened.
const complain = (path, body) =>
  registration.showNotification('Your answer was not given', { body, icon, badge, data: { path } });

// open shows a page: in the window that has it, else in a window of Parley, else in a new one.
async function open(path) {
  const windows = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  const there = windows.find(w => new URL(w.url).pathname === path);
  if (there) return there.focus();
  const any = windows.find(w => w.visibilityState === 'visible') || windows[0];
  if (!any) return clients.openWindow(path);
  any.postMessage({ open: path });
  return any.focus();
}

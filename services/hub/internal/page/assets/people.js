// What several views let a person do: write a message, hand a task to an agent, and name the agents there are.
import { api } from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';

// programs returns the names of all agents that have a key or a session.
export async function programs(signal) {
  const [keys, sessions] = await Promise.all([api('/v1/keys?limit=100', { signal }), api('/v1/sessions?limit=50', { signal })]);
  const names = [...keys.keys.filter(k => !k.revokedAt).map(k => k.program), ...sessions.sessions.map(s => s.programId)];
  return [...new Set(names.filter(Boolean))].sort();
}

const priorities = ['normal', 'high', 'low'];
const queues = () => programs().then(names => ['any', 'user', ...names]);

// write asks for a message and sends it.
export async function write(target = '', more = {}) {
  const sent = await ask({
    title: target ? `Write to ${target}` : 'Write a message', confirm: 'Send',
    fields: [
      { name: 'target', label: 'To', value: target, max: 201, suggest: programs() },
      { name: 'message', label: 'Message', type: 'textarea', value: more.message || '', max: 4000 },
      { name: 'message_type', label: 'Kind', options: [{ value: 'DIRECTIVE', label: 'Directive: comes until it is acknowledged' },
        { value: 'QUERY', label: 'Question: comes until it is acknowledged' }, { value: 'STATUS', label: 'Note' }] },
      { name: 'priority', label: 'Priority', options: priorities },
    ],
    act: async v => {
      const out = await api('/v1/messages', { body: { ...v, source: 'user', threadId: more.threadId } });
      if (out.warning) toast(out.warning);
    },
  });
  if (sent) toast(`Sent to ${sent.target}`);
  return !!sent;
}

// hand asks for a task and puts it into a queue.
export async function hand(target = '') {
  const made = await ask({
    title: target ? `A task for ${target}` : 'A new task', confirm: 'Create',
    fields: [
      { name: 'title', label: 'Title', max: 200 },
      { name: 'target', label: 'For', value: target || 'any', max: 100, suggest: queues() },
      { name: 'instructions', label: 'What to do', type: 'textarea', required: false, max: 32000 },
      { name: 'priority', label: 'Priority', options: priorities },
    ],
    act: async v => {
      const out = await api('/v1/tasks', { body: { ...v, instructions: v.instructions || undefined } });
      if (out.warning) toast(out.warning);
    },
  });
  if (made) toast(`In the queue of ${made.target}`);
  return !!made;
}

// move asks for another queue and priority of a task that nobody has claimed.
export async function move(task) {
  const moved = await ask({
    title: 'Change this task', text: task.title, confirm: 'Change',
    fields: [
      { name: 'target', label: 'For', value: task.target, max: 100, suggest: queues() },
      { name: 'priority', label: 'Priority', value: task.priority, options: priorities },
    ],
    act: v => api(`/v1/tasks/${task.id}`, { method: 'PATCH', body: v }),
  });
  if (moved) toast(`Waits for ${moved.target}, with ${moved.priority} priority`);
  return !!moved;
}

// revoke asks, and revokes a key.
export async function revoke(key) {
  const name = key.name || key.program || key.id.slice(0, 12);
  const done = await ask({ title: `Revoke the key “${name}”?`, danger: true, confirm: 'Revoke',
    text: 'Whoever uses it is refused from now on. This cannot be undone.',
    act: () => api(`/v1/keys/${key.id}`, { method: 'DELETE' }) });
  if (done) toast('Revoked');
  return !!done;
}

// Pauses: to halt agents and to let them go on.
import { api } from '/assets/api.js';
import { ask, toast } from '/assets/dialog.js';

export const paused = async signal => (await api('/v1/pauses', { signal })).pauses;

const whom = ({ scope, name }) => scope === 'everything' ? 'all agents' : name;

// pause asks for a word to the agents and pauses them. It reports whether it did.
export async function pause(target) {
  const done = await ask({
    title: `Pause ${whom(target)}?`, danger: true, confirm: `Pause ${whom(target)}`,
    text: 'Until you let them go on, their calls are refused with your words.',
    fields: [{ name: 'words', label: 'What they are told', required: false, max: 300 }],
    act: ({ words }) => api('/v1/pauses', { body: { ...target, words: words || undefined } }),
  });
  if (done) toast(`Paused: ${whom(target)}`);
  return !!done;
}

// resume lets agents go on, and reports whether it did.
export async function resume({ scope, name }) {
  try {
    await api('/v1/pauses/resume', { body: { scope, name: name || undefined } });
    toast(`Goes on: ${whom({ scope, name })}`);
    return true;
  } catch (e) {
    toast(e.message);
    return false;
  }
}

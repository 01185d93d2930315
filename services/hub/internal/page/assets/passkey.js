// Passkeys: the credentials of the browser, in the form in which the server takes them.
import { api, byPasskey, Fault, isDevice, signedIn } from '/assets/api.js';

// place is the origin at which passkeys work, empty if nowhere.
export const place = document.body.dataset.passkeys;

// can: this page can make and use passkeys.
export const can = () => place === location.origin && !!window.PublicKeyCredential && !!navigator.credentials;
// elsewhere: another address of this server can.
export const elsewhere = () => !!place && place !== location.origin;

const bytes = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
const text = buffer => btoa(Array.from(new Uint8Array(buffer), b => String.fromCharCode(b)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const listed = ids => ids.map(id => ({ type: 'public-key', id: bytes(id) }));

// asked runs what asks the person, and says why it came to nothing.
async function asked(run) {
  try {
    return await run();
  } catch (e) {
    const why = { InvalidStateError: 'This device has a passkey of yours for here already.', SecurityError: `Passkeys work at ${place} alone.` }[e.name];
    throw new Fault(400, why || 'The passkey was not used: it was cancelled, took too long, or is not on this device.');
  }
}

// use asks for a passkey, and returns its signature.
export async function use(r) {
  const c = await asked(() => navigator.credentials.get({ publicKey: { challenge: bytes(r.challenge), rpId: r.rpId, allowCredentials: listed(r.allow),
    userVerification: 'required', timeout: r.timeoutMs } }));
  const a = c.response;
  return { id: text(c.rawId), clientDataJSON: text(a.clientDataJSON), authenticatorData: text(a.authenticatorData), signature: text(a.signature),
    userHandle: a.userHandle ? text(a.userHandle) : '' };
}

// make makes a passkey on this device, or on one that the person picks.
export async function make(r) {
  const c = await asked(() => navigator.credentials.create({ publicKey: { challenge: bytes(r.challenge), rp: { id: r.rpId, name: 'Parley' },
    user: { id: bytes(r.userId), name: r.userName, displayName: r.userName }, pubKeyCredParams: r.algorithms.map(alg => ({ type: 'public-key', alg })),
    excludeCredentials: listed(r.exclude), timeout: r.timeoutMs, attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' } } }));
  return { id: text(c.rawId), clientDataJSON: text(c.response.clientDataJSON), attestationObject: text(c.response.attestationObject),
    transports: c.response.getTransports?.() || [] };
}

// prove uses a passkey for one act: the answer to a question, or a change of the passkeys where body names none.
export const prove = async body => use((await api('/v1/passkeys/proofs', { body })).request);

// answer answers a question with a passkey.
export const answer = async (questionId, response) =>
  api('/v1/passkeys/answers', { body: { credential: await prove({ questionId, response }) } });

export const signIn = () => byPasskey(use);

// there opens this view at the address where passkeys work. A paired device pairs itself there by a link.
export async function there() {
  let link = '';
  if (signedIn() && isDevice()) link = `#link=${(await api('/v1/links', { body: { console: true } })).code}`;
  location.assign(place + location.pathname + link);
}

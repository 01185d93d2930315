package keys

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"time"
	"unicode"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// pairing is the document of a pairing: a client on a machine without a key asks for one, and a person approves. Its id is
// its user code. It belongs to no user, so that it is kept in the tenant [waitingRoom].
type pairing struct {
	// Device is the hash of the device code.
	Device    string    `json:"device"`
	Client    string    `json:"client"`
	Program   string    `json:"program"`
	Machine   string    `json:"machine"`
	Directory string    `json:"directory,omitempty"`
	Scopes    []string  `json:"scopes"`
	Address   string    `json:"address,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	PurgeAt   time.Time `json:"purgeAt"`
	// PolledAt is when the device last asked, as often as it may.
	PolledAt time.Time    `json:"polledAt,omitzero"`
	State    pairingState `json:"state"`
	// DecidedBy is the user of the person who approved or denied.
	DecidedBy string `json:"decidedBy,omitempty"`
	// Grant is the approved key.
	Grant *grant `json:"grant,omitempty"`
	// CollectedAt is when the key was first handed out.
	CollectedAt time.Time `json:"collectedAt,omitzero"`
}

// grant is the approval of a person: the key that the device will collect, the approver, and the assurance.
type grant struct {
	Program string   `json:"program"`
	Scopes  []string `json:"scopes"`
	Name    string   `json:"name"`
	By      string   `json:"by,omitempty"`
	// Stored means that By is a key in the store, and not another way to sign in.
	Stored    bool               `json:"stored,omitempty"`
	Assurance identity.Assurance `json:"assurance"`
	From      string             `json:"from,omitempty"`
	At        time.Time          `json:"at"`
	// Salt makes the key, with the device code. Neither tells anything about it alone.
	Salt string `json:"salt"`
}

// pairingState is how far a pairing has come.
type pairingState string

// The states of a pairing.
const (
	pairingPending  pairingState = "pending"
	pairingApproved pairingState = "approved"
	pairingDenied   pairingState = "denied"
)

// waitingRoom is the tenant of pairings and of their room. It is no valid name, so that no user has it.
const waitingRoom = "-pairings"

var pairings = store.Collection[pairing]{Name: "pairings", PartOf: "a pairing",
	Unindexed: []string{"device", "client", "program", "machine", "directory", "scopes", "address", "polledAt", "grant"}}

const (
	// pairingFor is the lifetime of a pairing, and collectFor the least time in which a device may collect the approved
	// key. A key that was collected is handed out again, to the same device, for repeatFor.
	pairingFor = 10 * time.Minute
	collectFor = 2 * time.Minute
	repeatFor  = time.Minute
	// pollEvery is the least time between two questions of a device whether its pairing was approved; pollSlack is the
	// part of it that the network may take.
	pollEvery = 2 * time.Second
	pollSlack = 500 * time.Millisecond
)

// The words of RFC 8628 for why a device has no key yet, or gets none.
const (
	wordPending = "authorization_pending"
	wordSlow    = "slow_down"
	wordDenied  = "access_denied"
	wordExpired = "expired_token"
)

// outcome returns a fault about the collection of a key, with the word of RFC 8628 for it.
func outcome(k fault.Kind, word, message string) *fault.Error {
	f := fault.New(k, "%s", message)
	f.Problems = []fault.Problem{{Path: "deviceCode", Message: word}}
	return f
}

var errDevice = fault.New(fault.Unauthenticated, "this device code is not known, or its pairing is over: start another")

// collectable returns nil if the device may have its key now, and otherwise why not. polled reports that the device asked
// in time.
func (p pairing) collectable(now time.Time) (polled bool, err error) {
	switch {
	case !p.CollectedAt.IsZero():
		if now.Sub(p.CollectedAt) < repeatFor {
			return false, nil
		}
		return false, errDevice
	case p.State == pairingDenied:
		return false, outcome(fault.Forbidden, wordDenied, "the person denied this pairing")
	case !now.Before(p.ExpiresAt):
		return false, outcome(fault.Precondition, wordExpired, "nobody approved this pairing in time: start another")
	case p.State == pairingApproved:
		return false, nil
	case now.Sub(p.PolledAt) < pollEvery-pollSlack:
		return false, outcome(fault.Exhausted, wordSlow, "this pairing waits for a person's approval, and is asked for too often").
			After(pollEvery)
	}
	return true, outcome(fault.Precondition, wordPending, "this pairing waits for a person's approval").After(pollEvery)
}

// undecided returns an error if nobody can decide about the pairing any more.
func (p pairing) undecided(now time.Time) error {
	switch {
	case p.State != pairingPending:
		return fault.New(fault.Precondition, "this pairing was %s already", p.State)
	case !now.Before(p.ExpiresAt):
		return fault.New(fault.Precondition, "this pairing expired: start another on the machine that asks")
	}
	return nil
}

// userCodeLetters are those of user codes, by RFC 8628: no vowels, which would spell words, and nothing that looks alike.
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// userCodeLength is the number of letters of a user code, of which there are 20^8 or 2.5e10.
const userCodeLength = 8

// newUserCode returns a random user code.
func newUserCode() string {
	const even = 256 - 256%len(userCodeLetters) // a greater byte would prefer some letters
	code := make([]byte, 0, userCodeLength)
	for b := make([]byte, 1); len(code) < userCodeLength; {
		if _, _ = rand.Read(b); int(b[0]) < even {
			code = append(code, userCodeLetters[int(b[0])%len(userCodeLetters)])
		}
	}
	return string(code)
}

// shownCode returns a user code as people read it.
func shownCode(code string) string { return code[:4] + "-" + code[4:] }

// parseUserCode returns a user code from the text of a person: its case, hyphens and spaces do not matter.
func parseUserCode(text string) (code string, err error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(text))
	if len(code) != userCodeLength || strings.Trim(code, userCodeLetters) != "" {
		return "", fault.Field("userCode", "must be a code of eight letters, such as BCDF-GHJK, as the machine shows it")
	}
	return code, nil
}

const devicePrefix = "pair_"

// newDeviceCode returns a secret of 256 random bits with the user code by which its pairing is found, and its hash.
func newDeviceCode(userCode string) (secret, id string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	secret = devicePrefix + strings.ToLower(userCode) + "_" + encoding.EncodeToString(b)
	return secret, hash(secret)
}

// parseDeviceCode returns the user code within a device code.
func parseDeviceCode(secret string) (userCode string, ok bool) {
	rest, ok := strings.CutPrefix(secret, devicePrefix)
	code, random, cut := strings.Cut(rest, "_")
	if !ok || !cut || len(random) != encoding.EncodedLen(32) || code != strings.ToLower(code) {
		return "", false
	}
	userCode, err := parseUserCode(code)
	return userCode, err == nil
}

// pairedSecret returns the key of a user that a device collects, and its id. It follows from the device code, which the
// server does not keep, and the salt, which it does not hand out, so that a device that asks again gets the same key.
func pairedSecret(user, deviceCode, salt string) (secret, id string, err error) {
	b, err := hkdf.Key(sha256.New, []byte(deviceCode), []byte(salt), "parley paired key", 32)
	if err != nil {
		return "", "", fault.Wrap(fault.Internal, err, "a key cannot be derived")
	}
	secret = keyPrefix + encoding.EncodeToString([]byte(user)) + "_" + encoding.EncodeToString(b)
	return secret, hash(secret), nil
}

// pairedScopes returns the sorted scopes of a paired key: those that were named, or else the usual ones. An empty list,
// which would name no right and give all, and scopes that would make the key more than an agent's are Invalid.
func (s *Service) pairedScopes(scopes, usual []string, what string) ([]string, error) {
	if scopes == nil {
		return usual, nil
	}
	if len(scopes) == 0 {
		return nil, fault.Field("scopes", "must not be empty; leave it out for %s", what)
	}
	allowed := append([]string{identity.ScopeRead, identity.ScopeWrite}, s.Toolsets()...)
	for _, scope := range scopes {
		if !slices.Contains(allowed, scope) {
			return nil, fault.Field("scopes", "%.40q is no scope of a paired agent; those are %s", scope, strings.Join(allowed, ", "))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(scopes))), nil
}

// oneLine returns a text without surrounding spaces, or Invalid for characters that are not printable, which would move
// the cursor of a terminal or hide a part of the text.
func oneLine(field, text string) (string, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", fault.Field(field, "must be one line of printable characters")
	}
	return strings.TrimSpace(text), nil
}

// name returns the name of the key, as connect names the keys that it makes.
func (p pairing) name() string {
	where := p.Directory
	if where == "" {
		where = "every directory"
	}
	return shortName(p.Client + " on " + p.Machine + " in " + where)
}

// maxName is the length of the longest name of a key, in characters.
const maxName = 100

// shortName returns a name without its middle if it is too long.
func shortName(name string) string {
	r := []rune(name)
	if len(r) <= maxName {
		return name
	}
	return string(r[:maxName/2-1]) + "…" + string(r[len(r)-maxName/2:])
}

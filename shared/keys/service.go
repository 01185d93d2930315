package keys

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Service implements the operations of keys. All methods are safe for concurrent use.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Toolsets returns the scopes beside those of [identity.Scopes].
	Toolsets func() []string
	// Revoked is called with the id of a key that was revoked or changed, so that caches can remove it. It may be nil.
	Revoked func(id string)
	// Changed is called with a user whose keys have changed. It may be nil.
	Changed func(user string)
	// Guarded reports whether a user has a passkey, so that no browser is paired by being the first. It may be nil.
	Guarded func(ctx context.Context, r store.Reader) (bool, error)
	// PublicURL is the address of the server for a person's browser, empty if it is not known.
	PublicURL string
	// Pairings is called with every change of a pairing, for the log. It may be nil.
	Pairings func(PairingChange)
	// Used is called by Lookup if the recorded use of the key is at least 10 minutes old. It
	// should return at once and call Touch later. It may be nil.
	Used func(identity.Caller)
}

// reserved lists names with another meaning as a target or source: any program, everyone with a
// session, the human, and the system.
var reserved = []string{"any", "all", "user", "parley"}

var teamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// usedEvery is the shortest time between two recorded uses of a key.
const usedEvery = 10 * time.Minute

var errUserName = fault.Field("user",
	"must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")

var errUnknown = fault.New(fault.Unauthenticated, "this key is not known")

// Lookup returns the caller of a key and the time at which the key expires, zero for never. It
// needs one read, and another for a key that a key has made. A key that is unknown, expired or revoked is Unauthenticated.
func (s *Service) Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error) {
	user, id, k, err := s.find(ctx, secret)
	if err != nil {
		return caller, until, err
	}
	if until, err = s.validUntil(ctx, s.DB.User(user), k); err != nil {
		return caller, until, err
	}
	caller = k.caller(user, id)
	if s.Used != nil && s.Now().Sub(k.LastUsedAt) >= usedEvery {
		s.Used(caller)
	}
	return caller, until, nil
}

// find returns the key of a secret, valid or not, with its user and its id. An unknown one is Unauthenticated.
func (s *Service) find(ctx context.Context, secret string) (user, id string, k Key, err error) {
	user, id, ok := parse(keyPrefix, secret)
	if !ok {
		return user, id, k, errUnknown
	}
	k, err = apiKeys.Get(ctx, s.DB.User(user), id)
	if fault.Is(err, fault.NotFound) {
		err = errUnknown
	}
	return user, id, k, err
}

// validUntil returns the time at which a key expires, zero for never, or Unauthenticated if the key or one of its
// ancestors was revoked or has expired. It needs a read for a key with ancestors.
func (s *Service) validUntil(ctx context.Context, r store.Reader, k Key) (time.Time, error) {
	now := s.Now()
	if err := k.valid(now); err != nil || len(k.Ancestors) == 0 {
		return k.ExpiresAt, err
	}
	above, fetches := make([]Key, len(k.Ancestors)), make([]*store.Fetch, len(k.Ancestors))
	for i, id := range k.Ancestors {
		fetches[i] = apiKeys.Fetch(id, &above[i])
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return time.Time{}, err
	}
	for i, f := range fetches {
		if !f.Found || above[i].valid(now) != nil {
			return time.Time{}, fault.New(fault.Unauthenticated, "the key that made this one was revoked or has expired")
		}
	}
	return k.ExpiresAt, nil
}

// Touch records the current time as the last use of the caller's key.
func (s *Service) Touch(ctx context.Context, c identity.Caller) error {
	return s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		apiKeys.Unlogged().Patch(tx, c.KeyID, store.Set("lastUsedAt", s.Now()))
		return nil
	})
}

// Create creates a child of the caller's key. Only its output contains the secret. A child is never more than its parent:
// its program, scopes and team are the parent's or narrower, and it expires no later. Fields that are left out are taken
// from the parent. A key of the kind human, or with the scope admin, requires a human caller and is Forbidden for others,
// as is all that the parent does not have; malformed fields are Invalid.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	if in.Kind == identity.Human && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can make a key of the kind human")
	}
	if slices.Contains(in.Scopes, identity.ScopeAdmin) && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can give the scope admin")
	}
	return s.issue(ctx, c, in)
}

// Issue creates a key for a user. It checks no caller: it is for the operator at a terminal.
// Malformed fields are Invalid.
func (s *Service) Issue(ctx context.Context, user string, in CreateInput) (CreateOutput, error) {
	return s.issue(ctx, identity.Caller{User: user, Kind: identity.Human}, in)
}

// issue creates a key, as a child of the caller's key if that is stored.
func (s *Service) issue(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if !identity.ValidName(c.User) {
		return out, errUserName
	}
	if in.Program != "" {
		if err := checkProgram(in.Program); err != nil {
			return out, err
		}
		var err error
		if in.Program, err = s.spelled(ctx, c.User, in.Program); err != nil {
			return out, err
		}
	}
	in = op.Fill(in)
	if in.Kind != identity.Agent && in.Kind != identity.Human {
		return out, fault.Field("kind", "must be agent or human")
	}
	if in.Kind == identity.Human && in.Program != "" {
		return out, fault.Field("program", "must be empty for a key of the kind human")
	}
	allowed := append(identity.Scopes(), s.Toolsets()...)
	for _, scope := range in.Scopes {
		if !slices.Contains(allowed, scope) {
			return out, fault.Field("scopes", "%q is not a scope; the scopes are %s", scope,
				strings.Join(allowed, ", "))
		}
	}
	now := s.Now()
	switch {
	case in.Team == "":
	case !slices.Contains(in.Scopes, identity.ScopeRunner):
		return out, fault.Field("team", "is allowed with the scope runner only")
	case !teamName.MatchString(in.Team):
		return out, fault.Field("team", "must be the name of a team: 1 to 64 letters, digits, hyphens and underscores")
	}
	k := Key{Name: in.Name, Kind: in.Kind, Program: in.Program, Team: in.Team,
		Scopes: slices.Compact(slices.Sorted(slices.Values(in.Scopes))), CreatedAt: now}
	if in.Expires > 0 {
		k.ExpiresAt = now.Add(time.Duration(in.Expires) * time.Second)
	}
	secret, id := mint(keyPrefix, c.User)
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		made := k
		if err := s.descend(ctx, tx, &made, c); err != nil {
			return err
		}
		if !made.ExpiresAt.IsZero() {
			made.PurgeAt = made.ExpiresAt.Add(keptRevoked)
		}
		apiKeys.Create(tx, id, made)
		k = made
		return nil
	})
	if err != nil {
		return out, err
	}
	s.changed(c.User)
	return CreateOutput{Key: secret, View: view(id, k)}, nil
}

// checkProgram returns Invalid if a key cannot be bound to a program of the name.
func checkProgram(name string) error {
	if !identity.ValidName(name) {
		return fault.Field("program",
			"must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")
	}
	if slices.Contains(reserved, strings.ToLower(name)) {
		return fault.Field("program", "%q is reserved as a target of tasks and messages; take another name", name)
	}
	return nil
}

// List returns a page of the user's keys, newest first, without secrets.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Keys: []View{}}
	page, err := apiKeys.Query(ctx, s.DB.User(c.User), store.Query{Order: []string{"createdAt desc"}, Limit: in.Limit,
		Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	for _, d := range page.Docs {
		out.Keys = append(out.Keys, view(d.ID, d.Value))
	}
	out.NextCursor = page.Next
	return out, nil
}

func (s *Service) changed(user string) {
	if s.Changed != nil {
		s.Changed(user)
	}
}

// Programs returns the sorted names of the programs of a user's valid keys. It reads all keys, because a program that it
// leaves out is one that any key without a program may act for.
func (s *Service) Programs(ctx context.Context, user string) ([]string, error) {
	now := s.Now()
	var out []string
	err := allKeys(ctx, s.DB.User(user), func(_ string, k Key) error {
		if k.Program != "" && k.valid(now) == nil {
			out = append(out, k.Program)
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// LastCalls returns the programs whose valid keys have been used, with the time of the last use, which is recorded at
// most every few minutes.
func (s *Service) LastCalls(ctx context.Context, user string) (map[string]time.Time, error) {
	now, out := s.Now(), map[string]time.Time{}
	err := allKeys(ctx, s.DB.User(user), func(_ string, k Key) error {
		if k.Program != "" && k.valid(now) == nil && k.LastUsedAt.After(out[k.Program]) {
			out[k.Program] = k.LastUsedAt
		}
		return nil
	})
	return out, err
}

// allKeys calls visit with each key of a user, newest first, until that returns an error.
func allKeys(ctx context.Context, r store.Reader, visit func(id string, k Key) error) error {
	q := store.Query{Order: []string{"createdAt desc"}, Limit: store.MaxLimit}
	for {
		page, err := apiKeys.Query(ctx, r, q)
		if err != nil {
			return err
		}
		for _, d := range page.Docs {
			if err := visit(d.ID, d.Value); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// CreateInput is the input of create_key.
type CreateInput struct {
	Name    string           `json:"name,omitempty" allow:"max=100" jsonschema:"what you call it"`
	Program string           `json:"program,omitempty" allow:"max=100,pattern=name" jsonschema:"the one program that it speaks for"`
	Kind    identity.KeyKind `json:"kind,omitempty" allow:"enum=agent|human,default=agent"`
	Scopes  []string         `json:"scopes,omitempty" allow:"max=20,each=40" jsonschema:"read, write, admin, answer, console, runner and names of toolsets; where left out, those of the calling key but admin"`
	Expires int64            `json:"expires,omitempty" allow:"over=0,max=315360000" jsonschema:"seconds until it expires; that of the calling key where left out"`
	Team    string           `json:"team,omitempty" allow:"max=64" jsonschema:"with the scope runner: the one team that it serves"`
}

// CreateOutput is the output of create_key.
type CreateOutput struct {
	Key string `json:"key" jsonschema:"the secret; it is shown this once"`
	View
}

// ListInput is the input of list_keys.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ListOutput is the output of list_keys.
type ListOutput struct {
	Keys       []View `json:"keys"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// RevokeInput is the input of revoke_key.
type RevokeInput struct {
	KeyID string `json:"keyId" allow:"nonempty,max=100,pattern=id"`
}

// GiveBackInput is the input of give_back_key.
type GiveBackInput struct {
	Key string `json:"key" allow:"nonempty,max=512" jsonschema:"the key itself"`
}

// View is a key without its secret.
type View struct {
	ID         string             `json:"id"`
	Name       string             `json:"name,omitempty"`
	Kind       identity.KeyKind   `json:"kind"`
	Assurance  identity.Assurance `json:"assurance,omitempty" jsonschema:"of a person's key: local for one on the machine, device for a paired browser, passkey for one that a passkey signed in"`
	Program    string             `json:"program,omitempty"`
	Scopes     []string           `json:"scopes"`
	Team       string             `json:"team,omitempty"`
	Member     string             `json:"member,omitempty" jsonschema:"the member of the team that it was made for"`
	ParentID   string             `json:"parentId,omitempty" jsonschema:"the key that made it, which is revoked with it"`
	CreatedAt  time.Time          `json:"createdAt"`
	ExpiresAt  time.Time          `json:"expiresAt,omitzero"`
	RevokedAt  time.Time          `json:"revokedAt,omitzero"`
	LastUsedAt time.Time          `json:"lastUsedAt,omitzero"`
	Paired     *Paired            `json:"paired,omitempty" jsonschema:"who approved it, for a machine that asked for it"`
}

func view(id string, k Key) View {
	scopes := k.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	return View{ID: id, Name: k.Name, Kind: k.Kind, Assurance: k.assured(), Program: k.Program, Scopes: scopes, Team: k.Team, Member: k.Member,
		ParentID: k.parent(), CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		LastUsedAt: k.LastUsedAt, Paired: k.Paired}
}

// Operations returns the operations of the toolset keys.
func (s *Service) Operations() []op.Op {
	const set = "keys"
	return append([]op.Op{
		op.New(op.Spec{Name: "create_key", Title: "Create a key", Toolset: set, Route: "POST /v1/keys",
			Effect: op.Write, Secret: true, For: op.Admins, Creates: true, Cases: createCases,
			Doc: "Make a bearer key for an agent or a person, bound to a program where one is named. It is never more than " +
				"the key that makes it, and is revoked with it. The secret is in the reply and nowhere else."}, s.Create),
		op.New(op.Spec{Name: "list_keys", Title: "List keys", Toolset: set, Route: "GET /v1/keys", Effect: op.Read,
			For: op.Admins, Cases: listCases,
			Doc: "List the keys, newest first: what each speaks for, its scopes, when it was last used and whether " +
				"it was revoked. Secrets are not shown."}, s.List),
		op.New(op.Spec{Name: "create_link", Title: "Pair another device", Toolset: set, Route: "POST /v1/links",
			Effect: op.Write, Secret: true, For: op.Humans, RESTOnly: true, Cases: linkCases,
			Scopes: []string{identity.ScopeAnswer, identity.ScopeConsole},
			Doc: "Make a link that pairs another browser or phone as a device of this person, once, within 10 minutes. " +
				"Only a paired device, or a person who signed in, makes one."}, s.CreateLink),
		op.New(op.Spec{Name: "revoke_key", Starts: op.Never, Title: "Revoke a key", Toolset: set, Route: "DELETE /v1/keys/{keyId}",
			Effect: op.Destroy, For: op.Admins, Cases: revokeCases,
			Doc: "End a key for good, with all keys that it made. They stop working within 60 seconds everywhere."},
			s.Revoke),
		op.New(op.Spec{Name: "give_back_key", Title: "Give back a key", Toolset: set, Route: "POST /v1/keys/revoke",
			Effect: op.Destroy, Open: true, RESTOnly: true, Cases: giveBackCases,
			Doc: "End the key that the call holds for good, with all keys that it made, as who holds it may. It needs no other key, " +
				"as in the revocation of tokens of RFC 7009, but takes JSON and refuses a key that is not known. A key that was ended " +
				"before stays so."}, s.GiveBack),
	}, s.pairingOperations(set)...)
}

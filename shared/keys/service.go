package keys

import (
	"context"
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
	// Toolsets returns the scopes beside read, write and admin.
	Toolsets func() []string
	// Revoked is called with the id of a revoked key, so that caches can remove it. It may be
	// nil.
	Revoked func(id string)
	// Changed is called with a user whose keys have changed. It may be nil.
	Changed func(user string)
	// Used is called by Lookup if the recorded use of the key is at least 10 minutes old. It
	// should return at once and call Touch later. It may be nil.
	Used func(identity.Caller)
}

// reserved lists names with another meaning as a target or source: any program, everyone with a
// session, the human, and the system.
var reserved = []string{"any", "all", "user", "parley"}

// usedEvery is the shortest time between two recorded uses of a key.
const usedEvery = 10 * time.Minute

var errUserName = fault.Field("user",
	"must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")

var errUnknown = fault.New(fault.Unauthenticated, "this key is not known")

// Lookup returns the caller of a key and the time at which the key expires, zero for never. It
// needs one read. A key that is unknown, expired or revoked is Unauthenticated.
func (s *Service) Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error) {
	user, id, ok := parse(keyPrefix, secret)
	if !ok {
		return caller, until, errUnknown
	}
	k, err := apiKeys.Get(ctx, s.DB.User(user), id)
	if fault.Is(err, fault.NotFound) {
		return caller, until, errUnknown
	}
	if err != nil {
		return caller, until, err
	}
	if err := k.valid(s.Now()); err != nil {
		return caller, until, err
	}
	caller = k.caller(user, id)
	if s.Used != nil && s.Now().Sub(k.LastUsedAt) >= usedEvery {
		s.Used(caller)
	}
	return caller, k.ExpiresAt, nil
}

// Touch records the current time as the last use of the caller's key.
func (s *Service) Touch(ctx context.Context, c identity.Caller) error {
	return s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		apiKeys.Patch(tx, c.KeyID, store.Set("lastUsedAt", s.Now()))
		return nil
	})
}

// Create creates a key. Only its output contains the secret. A key of the kind human, or with the
// scope admin, requires a human caller and is Forbidden for others; malformed fields are Invalid.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	if in.Kind == identity.Human && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can make a key of the kind human")
	}
	if slices.Contains(in.Scopes, identity.ScopeAdmin) && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can give the scope admin")
	}
	return s.Issue(ctx, c.User, in)
}

// Issue creates a key for a user. It checks no caller: it is for the operator at a terminal.
// Malformed fields are Invalid.
func (s *Service) Issue(ctx context.Context, user string, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if !identity.ValidName(user) {
		return out, errUserName
	}
	if in.Program != "" && !identity.ValidName(in.Program) {
		return out, fault.Field("program",
			"must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")
	}
	if slices.Contains(reserved, strings.ToLower(in.Program)) {
		return out, fault.Field("program", "%q is reserved as a target of tasks and messages; take another name",
			in.Program)
	}
	in = op.Fill(in)
	if in.Kind != identity.Agent && in.Kind != identity.Human {
		return out, fault.Field("kind", "must be agent or human")
	}
	if in.Kind == identity.Human && in.Program != "" {
		return out, fault.Field("program", "must be empty for a key of the kind human")
	}
	allowed := append([]string{identity.ScopeRead, identity.ScopeWrite, identity.ScopeAdmin}, s.Toolsets()...)
	for _, scope := range in.Scopes {
		if !slices.Contains(allowed, scope) {
			return out, fault.Field("scopes", "%q is not a scope; the scopes are %s", scope,
				strings.Join(allowed, ", "))
		}
	}
	now := s.Now()
	k := Key{Name: in.Name, Kind: in.Kind, Program: in.Program,
		Scopes: slices.Compact(slices.Sorted(slices.Values(in.Scopes))), CreatedAt: now}
	if in.Expires > 0 {
		k.ExpiresAt = now.Add(time.Duration(in.Expires) * time.Second)
		k.PurgeAt = k.ExpiresAt.Add(keptRevoked)
	}
	secret, id := mint(keyPrefix, user)
	err := s.DB.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		apiKeys.Create(tx, id, k)
		return nil
	})
	if err != nil {
		return out, err
	}
	s.changed(user)
	return CreateOutput{Key: secret, View: view(id, k)}, nil
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

// Revoke revokes a key: in this process at once, in others within 60 seconds. A repeated call
// changes nothing. A key that does not exist is NotFound.
func (s *Service) Revoke(ctx context.Context, c identity.Caller, in RevokeInput) (View, error) {
	var out View
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		k, err := apiKeys.Get(ctx, tx, in.KeyID)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "no key with id %q", in.KeyID)
		}
		if err != nil {
			return err
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt, k.PurgeAt = now, now.Add(keptRevoked)
			apiKeys.Put(tx, in.KeyID, k)
		}
		out = view(in.KeyID, k)
		return nil
	})
	if err != nil {
		return out, err
	}
	s.changed(c.User)
	if s.Revoked != nil {
		s.Revoked(in.KeyID)
	}
	return out, nil
}

func (s *Service) changed(user string) {
	if s.Changed != nil {
		s.Changed(user)
	}
}

// maxKnown is the largest number of keys that Programs reads.
const maxKnown = 200

// Programs returns the sorted names of the programs of a user's valid keys. It reads the newest
// 200 keys.
func (s *Service) Programs(ctx context.Context, user string) ([]string, error) {
	page, err := apiKeys.Query(ctx, s.DB.User(user), store.Query{Order: []string{"createdAt desc"}, Limit: maxKnown})
	if err != nil {
		return nil, err
	}
	now := s.Now()
	var out []string
	for _, d := range page.Docs {
		if d.Value.Program != "" && d.Value.valid(now) == nil {
			out = append(out, d.Value.Program)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// CreateInput is the input of create_key.
type CreateInput struct {
	Name    string           `json:"name,omitempty" allow:"max=100" jsonschema:"what you call it"`
	Program string           `json:"program,omitempty" allow:"max=100,pattern=name" jsonschema:"the one program that it speaks for"`
	Kind    identity.KeyKind `json:"kind,omitempty" allow:"enum=agent|human,default=agent"`
	Scopes  []string         `json:"scopes,omitempty" allow:"max=20,each=40" jsonschema:"read, write, admin and names of toolsets; none means reading and writing everywhere"`
	Expires int64            `json:"expires,omitempty" allow:"over=0,max=315360000" jsonschema:"seconds until it expires; never where left out"`
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

// View is a key without its secret.
type View struct {
	ID         string           `json:"id"`
	Name       string           `json:"name,omitempty"`
	Kind       identity.KeyKind `json:"kind"`
	Program    string           `json:"program,omitempty"`
	Scopes     []string         `json:"scopes"`
	CreatedAt  time.Time        `json:"createdAt"`
	ExpiresAt  time.Time        `json:"expiresAt,omitzero"`
	RevokedAt  time.Time        `json:"revokedAt,omitzero"`
	LastUsedAt time.Time        `json:"lastUsedAt,omitzero"`
}

func view(id string, k Key) View {
	scopes := k.Scopes
	if scopes == nil {
		scopes = []string{}
	}
	return View{ID: id, Name: k.Name, Kind: k.Kind, Program: k.Program, Scopes: scopes, CreatedAt: k.CreatedAt,
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt}
}

// Operations returns the operations of the toolset keys.
func (s *Service) Operations() []op.Op {
	const set = "keys"
	return []op.Op{
		op.New(op.Spec{Name: "create_key", Title: "Create a key", Toolset: set, Route: "POST /v1/keys",
			Effect: op.Write, For: op.Admins, Creates: true, Cases: createCases,
			Doc: "Make a bearer key for an agent or a person, bound to a program where one is named. The secret is " +
				"in the reply and nowhere else."}, s.Create),
		op.New(op.Spec{Name: "list_keys", Title: "List keys", Toolset: set, Route: "GET /v1/keys", Effect: op.Read,
			For: op.Admins, Cases: listCases,
			Doc: "List the keys, newest first: what each speaks for, its scopes, when it was last used and whether " +
				"it was revoked. Secrets are not shown."}, s.List),
		op.New(op.Spec{Name: "revoke_key", Title: "Revoke a key", Toolset: set, Route: "DELETE /v1/keys/{keyId}",
			Effect: op.Destroy, For: op.Admins, Cases: revokeCases,
			Doc: "End a key for good. It stops working within 60 seconds everywhere."}, s.Revoke),
	}
}

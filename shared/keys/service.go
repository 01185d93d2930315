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

// Service is the keys of all users.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Toolsets are the names that a scope may have beside read, write and admin.
	Toolsets func() []string
	// Revoked is told of a key's id once it is revoked, so that a cache can
	// forget it. Nil for nobody.
	Revoked func(id string)
	// Changed is told of a user whose keys changed. Nil for nobody.
	Changed func(user string)
	// Used is told of a caller whose key's last noted use is 10 minutes old, so
	// that it can be noted off the path of the call. Nil for nobody.
	Used func(identity.Caller)
}

// reserved are the names that no program has: whoever is free, everyone with a
// session, the human, and the system itself.
var reserved = []string{"any", "all", "user", "parley"}

// usedEvery is how often a key's use is noted at most.
const usedEvery = 10 * time.Minute

var errUserName = fault.Field("user",
	"must be 1 to 100 letters, digits, dots, underscores and hyphens, and begin with a letter or digit")

var errUnknown = fault.New(fault.Unauthenticated, "this key is not known")

// Lookup finds who a key is, by one read. A key that is unknown, expired or
// revoked is Unauthenticated. until is when the key expires, zero for never.
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
	if err := k.good(s.Now()); err != nil {
		return caller, until, err
	}
	caller = k.caller(user, id)
	if s.Used != nil && s.Now().Sub(k.LastUsedAt) >= usedEvery {
		s.Used(caller)
	}
	return caller, k.ExpiresAt, nil
}

// Touch notes that a key was used.
func (s *Service) Touch(ctx context.Context, c identity.Caller) error {
	return s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		apiKeys.Patch(tx, c.KeyID, store.Set("lastUsedAt", s.Now()))
		return nil
	})
}

// Create makes a key. The reply is the one place where its secret stands.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	if in.Kind == identity.Human && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can make a key of the kind human")
	}
	if slices.Contains(in.Scopes, identity.ScopeAdmin) && !c.IsHuman() {
		return CreateOutput{}, fault.New(fault.Forbidden, "only a human's key can give the scope admin")
	}
	return s.Issue(ctx, c.User, in)
}

// Issue makes a key for a user without asking who wants it: for the operator at
// a terminal.
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
		return out, fault.Field("program", "%q means something else to the queue and the mail; take another name",
			in.Program)
	}
	in = op.Fill(in)
	if in.Kind != identity.Agent && in.Kind != identity.Human {
		return out, fault.Field("kind", "must be agent or human")
	}
	if in.Kind == identity.Human && in.Program != "" {
		return out, fault.Field("program", "goes with a key of the kind agent")
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

// List reads a page of the keys, newest first, without secrets.
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

// Revoke ends a key: here at once, on other instances within 60 seconds.
// Revoking it again changes nothing.
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

// maxKnown bounds how many keys the programs are read from.
const maxKnown = 200

// Programs names the programs that a user's good keys speak for, sorted, of the
// newest 200 keys.
func (s *Service) Programs(ctx context.Context, user string) ([]string, error) {
	page, err := apiKeys.Query(ctx, s.DB.User(user), store.Query{Order: []string{"createdAt desc"}, Limit: maxKnown})
	if err != nil {
		return nil, err
	}
	now := s.Now()
	var out []string
	for _, d := range page.Docs {
		if d.Value.Program != "" && d.Value.good(now) == nil {
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

// CreateOutput is what create_key answers.
type CreateOutput struct {
	Key string `json:"key" jsonschema:"the secret; it is shown this once"`
	View
}

// ListInput is the input of list_keys.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// ListOutput is what list_keys answers.
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

// Operations lists what there is for keys.
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

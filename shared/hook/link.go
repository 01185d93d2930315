package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"time"

	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// link is the document of a session that a client's hooks keep. Its id is made from the session's address.
type link struct {
	Address string `json:"address"`
	Program string `json:"program"`
	// Began is the time at which the session began. Under the same address another session may follow it.
	Began         time.Time `json:"began"`
	Thread        string    `json:"thread"`
	Client        string    `json:"client"`
	ClientVersion string    `json:"clientVersion,omitempty"`
	Host          string    `json:"host,omitempty"`
	Directory     string    `json:"directory,omitempty"`
	Branch        string    `json:"branch,omitempty"`
	Worktree      string    `json:"worktree,omitempty"`
	Project       string    `json:"project,omitempty"`
	Model         string    `json:"model,omitempty"`
	Headless      bool      `json:"headless,omitempty"`
	// Permissions are those that the client told last.
	Permissions *wire.Permissions `json:"permissions,omitempty"`
	// Told are the claims that the session knows of. Asked are those of an output that was not confirmed yet, and Receipt
	// is that of the output.
	Told    []known   `json:"told,omitempty"`
	Asked   []known   `json:"asked,omitempty"`
	Receipt string    `json:"receipt,omitempty"`
	SeenAt  time.Time `json:"seenAt"`
	PurgeAt time.Time `json:"purgeAt"`
}

// known is a claim as a session knows it.
type known struct {
	TaskID string      `json:"taskId"`
	Token  int64       `json:"token"`
	Status task.Status `json:"status"`
}

// thread leads from a client's own id of its session to the session.
type thread struct {
	Address string    `json:"address"`
	PurgeAt time.Time `json:"purgeAt"`
}

var (
	links = store.Collection[link]{Name: "hookLinks", PartOf: "a session",
		Indexes:   []string{"project,seenAt desc", "seenAt desc"},
		Unindexed: []string{"told", "asked", "directory", "thread", "permissions"}}
	threads = store.Collection[thread]{Name: "hookThreads", PartOf: "a client's session"}
)

// kept is the time for which a link is kept after its last change.
const kept = 30 * 24 * time.Hour

// Defs declares the collections of links.
func (*Service) Defs() []*store.Def { return []*store.Def{links.Def(), threads.Def()} }

// linkID returns the id of a session's link.
func linkID(address string) string { return identity.NameID(address) }

// threadID returns the id of the document of a client's session.
func threadID(c identity.Caller, in wire.HookInput) string {
	sum := sha256.Sum256([]byte(identity.Fold(c.Program) + "\x00" + in.Client + "\x00" + in.Thread))
	return hex.EncodeToString(sum[:16])
}

// describe sets the client's fields that the input has, and reports whether that changed the link.
func (l *link) describe(in wire.HookInput) bool {
	before := *l
	for to, from := range map[*string]string{&l.Client: in.Client, &l.ClientVersion: in.ClientVersion, &l.Host: in.Host,
		&l.Directory: in.Directory, &l.Branch: in.Branch, &l.Worktree: in.Worktree, &l.Project: in.Project,
		&l.Model: in.Model} {
		if from != "" {
			*to = from
		}
	}
	l.Headless = l.Headless || in.Headless
	if in.Permissions != nil {
		l.Permissions = in.Permissions
	}
	same := before.Client == l.Client && before.ClientVersion == l.ClientVersion && before.Host == l.Host &&
		before.Directory == l.Directory && before.Branch == l.Branch && before.Worktree == l.Worktree &&
		before.Project == l.Project && before.Model == l.Model && before.Headless == l.Headless &&
		reflect.DeepEqual(before.Permissions, l.Permissions)
	return !same
}

// confirm notes that the output of a receipt arrived, and reports whether that is news.
func (l *link) confirm(receipt string) bool {
	if receipt == "" || l.Receipt != receipt {
		return false
	}
	l.Told, l.Asked, l.Receipt = l.Asked, nil, ""
	return true
}

// tells reports whether the session knows of exactly these claims.
func (l *link) tells(now []known) bool { return slices.Equal(l.Told, now) }

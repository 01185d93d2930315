package hook

import (
	"context"
	"time"

	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service serves hooks. Its methods may be called concurrently. All fields are required.
type Service struct {
	DB       *store.DB
	Now      func() time.Time
	NewID    func() string
	Sessions Sessions
	Mail     Mail
	Claims   Claims
	Files    Files
	Ledger   Ledger
	Teams    Teams
	Pauses   Pauses
}

// Seat is a session that a hook is of.
type Seat struct {
	Address string
	// Found means that the session is there, Live that it has not ended, and Mine that the caller may continue it.
	Found, Live, Mine bool
	State             string
	Doing             string
	// Began distinguishes the session from an earlier one with the same address.
	Began time.Time
	// Heard is the time of its last heartbeat.
	Heard time.Time
	// Beat writes a heartbeat and the session's activity. It reads nothing.
	Beat func(tx *store.Tx, doing string)
}

// Joining is a session that begins or goes on.
type Joining struct {
	// Address is the address of a session that goes on; without it the session is a new one.
	Address, Name, Doing, Project string
}

// Sessions keeps sessions.
type Sessions interface {
	// Seat prepares to read a session by [store.Load]; read gives it afterwards.
	Seat(c identity.Caller, address string) (fetches []*store.Fetch, read func() Seat)
	// Join begins or continues a session of the caller's program. It reads alone; write writes.
	Join(ctx context.Context, tx *store.Tx, c identity.Caller, in Joining) (seat Seat, write func(), err error)
	// Close ends a session and forwards its mail.
	Close(ctx context.Context, c identity.Caller, address string) error
	// Names returns the texts that name the session of an address in claims.
	Names(address string) []string
}

// Letter is a message in an inbox.
type Letter struct {
	ID string
	// From is where a reply reaches the sender, and Source its program. System means that the hub wrote it.
	From, Source                   string
	Verified, Human, System, Again bool
	Target, Type, Priority, Text   string
	ThreadID, ReplyTo              string
	At                             time.Time
	// Urgent means that it wants an answer or has the priority high.
	Urgent bool
}

// Mail has the inboxes.
type Mail interface {
	// Due returns the messages that are due in some inboxes, most urgent first.
	Due(ctx context.Context, r store.Reader, inboxes []string, limit int) ([]Letter, error)
	// Hand prepares to confirm a receipt and to hand over mail under the receipt next; each may be empty.
	Hand(c identity.Caller, inboxes []string, receipt, next string) Handing
	// WroteTo reports whether one program has lately written to another.
	WroteTo(ctx context.Context, user, source, target string) (bool, error)
	// WaitFor calls check at once and after changes of the inboxes, until it returns true or d is over.
	WaitFor(ctx context.Context, user string, inboxes []string, d time.Duration,
		check func(context.Context) (bool, error)) error
}

// Handing hands mail over in a transaction.
type Handing interface {
	// Read takes of the first width messages those that wanted accepts.
	Read(ctx context.Context, tx *store.Tx, width int, wanted func(Letter) bool) ([]Letter, error)
	Write(tx *store.Tx)
	// Undo takes back messages that were handed over to nobody.
	Undo(ctx context.Context) error
}

// Claims gives claims back.
type Claims interface {
	Release(ctx context.Context, c identity.Caller, taskID string, token int64, reason string) error
}

// Edit is a change of files.
type Edit struct {
	Project, Worktree, Branch string
	Paths                     []string
	SessionID                 string
}

// Files knows the reservations of files.
type Files interface {
	// Decide decides about an edit, and reserves its files where the project says so.
	Decide(ctx context.Context, c identity.Caller, e Edit) (wire.Files, error)
	// Changed tells the holders of files that were changed, and returns a line for each that is new.
	Changed(ctx context.Context, c identity.Caller, e Edit) ([]string, error)
	// Held returns the patterns that sessions hold in a project, by their addresses.
	Held(ctx context.Context, c identity.Caller, project string) (map[string][]string, error)
}

// Ledger counts the usage in clients' records, each record once.
type Ledger interface {
	Observe(ctx context.Context, c identity.Caller, sessionID string, usage []wire.Usage) error
}

// Teams knows the members of teams.
type Teams interface {
	// Share reports whether two programs are in one team.
	Share(ctx context.Context, user, a, b string) (bool, error)
}

// Pauses knows the pauses that people have set.
type Pauses interface {
	// Known returns the pauses of a user, of which a change may be a second old.
	Known(ctx context.Context, user string) ([]identity.Pause, error)
	// InForce returns the pauses as they are now.
	InForce(ctx context.Context, user string) ([]identity.Pause, error)
	// Wait calls check at once and after changes of the pauses, until it returns true or d is over.
	Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error
}

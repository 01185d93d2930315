package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Mode is the mode of a reservation: exclusive or shared.
type Mode string

// The modes. An exclusive reservation conflicts with all others that overlap it, a shared one with exclusive ones.
const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
)

// The bounds of a board.
const (
	// MaxReservations is the number of reservations of a project.
	MaxReservations = 500
	maxWaiters      = 100
	// maxBytes bounds the texts of a board, so that the document stays below 1 MiB.
	maxBytes = 900 << 10
	// perEntry is more than the bytes of a reservation's or waiter's other fields.
	perEntry = 400
)

// The times of reservations.
const (
	// Grace is the longest time for which a call that waited in vain keeps its place.
	Grace = 15 * time.Second
	// RenewEvery is the time that a renewal must add to be written.
	RenewEvery = time.Minute
	// Silence is the time without a sign of its holder after which any agent may break a reservation.
	Silence = 10 * time.Minute
	// Retention is the time for which a board is kept after its last change.
	Retention = 90 * 24 * time.Hour
)

// Reservation is one reserved pattern.
type Reservation struct {
	// Token is unique in the project, and higher than that of all reservations before.
	Token   int64
	Pattern string
	Mode    Mode
	Holder
	Reason, TaskID, Worktree, Branch string
	// Lease is the time in seconds that a renewal adds.
	Lease        int
	Since, Until time.Time
}

// heard returns the time of the last call that took or renewed the reservation.
func (r *Reservation) heard() time.Time { return r.Until.Add(-time.Duration(r.Lease) * time.Second) }

// bound reports whether the reservation ends with a session or a task.
func (r *Reservation) bound() bool { return r.TaskID != "" || r.Holder.Session != "" }

func (r *Reservation) bytes() int {
	return perEntry + len(r.Pattern) + len(r.Reason) + len(r.TaskID) + len(r.Worktree) + len(r.Branch) + r.Holder.bytes()
}

// Waiter is a call that waits for its turn. The waiters of a board are in the order of their turns.
type Waiter struct {
	Holder
	Mode     Mode      `json:"mode"`
	Patterns []string  `json:"patterns"`
	Worktree string    `json:"worktree,omitempty"`
	Since    time.Time `json:"since"`
	// Until is the time after which the turn passes to those behind.
	Until time.Time `json:"until"`
}

func (w *Waiter) bytes() int {
	n := perEntry + len(w.Worktree) + w.Holder.bytes()
	for _, p := range w.Patterns {
		n += len(p) + 1
	}
	return n
}

// Board is the document of a project's reservations.
type Board struct {
	Project string `json:"project"`
	// Token is the last token given.
	Token int64 `json:"token"`
	// Lines are the reservations as they are stored.
	Lines        []string      `json:"reservations"`
	Reservations []Reservation `json:"-"`
	Waiters      []Waiter      `json:"waiters"`
	UpdatedAt    time.Time     `json:"updatedAt"`
	// DueAt is the first time at which a reservation or a turn ends, zero if there are none.
	DueAt   time.Time `json:"dueAt,omitzero"`
	PurgeAt time.Time `json:"purgeAt"`
}

// Renewal is a later end of a reservation.
type Renewal struct {
	Token int64     `json:"token"`
	Until time.Time `json:"until"`
}

// Renewals are those since the last change of the board.
type Renewals struct {
	Later   []Renewal `json:"later"`
	PurgeAt time.Time `json:"purgeAt"`
}

// Settings are those that a person has given a project.
type Settings struct {
	Project string `json:"project"`
	Auto    bool   `json:"auto"`
	Strict  bool   `json:"strict"`
	// IgnoreCase means that paths that differ in case only are one.
	IgnoreCase bool `json:"ignoreCase"`
	// RefuseWorktrees means that reservations conflict across worktrees too.
	RefuseWorktrees bool      `json:"refuseWorktrees"`
	UpdatedAt       time.Time `json:"updatedAt,omitzero"`
}

var (
	boards = store.Collection[Board]{Name: "fileBoards", PartOf: "a project",
		Indexes: []string{"project"}, AllUsers: []string{"dueAt"},
		Unindexed: []string{"reservations", "waiters"},
		Log:       "files", Note: func(b *Board, _ string) store.Note { return store.Note{ID: b.Project, Line: b.Project} }}
	renewals = store.Collection[Renewals]{Name: "fileRenewals", Unindexed: []string{"later"}}
	projects = store.Collection[Settings]{Name: "fileProjects"}
)

// Defs declares the collections of reservations.
func (*Service) Defs() []*store.Def {
	return []*store.Def{boards.Def(), renewals.Def(), projects.Def(), incidents.Def()}
}

// idLength is the length of the id of a board, in hexadecimal digits.
const idLength = 32

// boardID returns the id of the documents of a project.
func boardID(project string) string {
	sum := sha256.Sum256([]byte(project))
	return hex.EncodeToString(sum[:])[:idLength]
}

// reservationID returns the id of a reservation, which leads to its board.
func reservationID(board string, token int64) string {
	return board + "." + strconv.FormatInt(token, 10)
}

// readID returns the board and the token of a reservation's id. Any other text is the id of no reservation.
func readID(id string) (board string, token int64, ok bool) {
	board, digits, _ := strings.Cut(id, ".")
	token, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(board) != idLength || reservationID(board, token) != id {
		return "", 0, false
	}
	return board, token, true
}

func errMissing(id string) error {
	return fault.New(fault.NotFound, "no reservation with id %q; it may have ended, list_reservations has those that hold",
		id)
}

// text describes a reservation in a message: the holder, the pattern, the end and the reason.
func (r *Reservation) text() string {
	out := fmt.Sprintf("%s holds %s (%s) until %s", r.who(), r.Pattern, r.Mode, r.Until.Format(time.RFC3339))
	if r.Reason != "" {
		out += fmt.Sprintf(": %q", r.Reason)
	}
	return out
}

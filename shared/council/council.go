package council

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Status is where a session stands.
type Status string

// The statuses.
const (
	Active Status = "active"
	Closed Status = "closed"
)

// RequestStatus is where a request stands.
type RequestStatus string

// The statuses of a request: it is open while its session is active.
const (
	RequestOpen   RequestStatus = "open"
	RequestClosed RequestStatus = "closed"
)

const (
	// Patience is how long an active council may go without a join, a response or a
	// ranking. Reading keeps it from nothing.
	Patience = 7 * 24 * time.Hour
	// Retention is how long a closed council can be read.
	Retention = 30 * 24 * time.Hour
	// MaxMembers is how many agents take part in a council.
	MaxMembers = 100

	abandoned = "abandoned: nothing happened here for 7 days"
	maxTitle  = 100
)

// Member is a participant as the session knows it.
type Member struct {
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Answers int64     `json:"answers"`
}

// Conclusion ends a council.
type Conclusion struct {
	Author    string    `json:"author"`
	Verified  bool      `json:"verified"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
}

// Session is a council.
type Session struct {
	// ID is the document's own, by which those who wait hear of it alone.
	ID        string    `json:"id"`
	Status    Status    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	Verified  bool      `json:"verified"`
	RequestID string    `json:"current_request_id"`
	Title     string    `json:"title"`
	// Responses is how many there are, and the number of the last.
	Responses int64 `json:"responses"`
	// Revision counts the changes that a summary shows.
	Revision   int64       `json:"revision"`
	Members    []Member    `json:"members"`
	Ranking    []Standing  `json:"ranking,omitempty"`
	Rankings   int         `json:"rankings,omitempty"`
	Conclusion *Conclusion `json:"conclusion,omitempty"`
	ClosedAt   time.Time   `json:"closed_at,omitzero"`
	Reason     string      `json:"reason,omitempty"`
	// DueAt is when the sweep looks: an active council is then abandoned, a closed one gone.
	DueAt time.Time `json:"due_at"`
}

// Request is what a council is asked.
type Request struct {
	ID        string        `json:"id"`
	Content   string        `json:"content"`
	CreatedBy string        `json:"created_by"`
	Verified  bool          `json:"verified" jsonschema:"whether the author is the program of the key"`
	CreatedAt time.Time     `json:"created_at"`
	Status    RequestStatus `json:"status"`
}

// Feedback is a response.
type Feedback struct {
	// ID is its number in the session: 1 for the first.
	ID        string    `json:"id"`
	Label     string    `json:"label" jsonschema:"its name in rankings"`
	RequestID string    `json:"request_id"`
	Author    string    `json:"author"`
	Verified  bool      `json:"verified" jsonschema:"whether the author is the program of the key"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
}

// Participant is what an agent has seen of a council.
type Participant struct {
	AgentName        string    `json:"agent_name"`
	Verified         bool      `json:"verified"`
	LastSeen         time.Time `json:"last_seen"`
	LastRequestSeen  string    `json:"last_request_seen,omitempty"`
	LastFeedbackSeen string    `json:"last_feedback_seen,omitempty"`
}

// seat is the council that an agent last started or joined.
type seat struct {
	SessionID string `json:"session_id"`
}

var (
	councils = store.Collection[Session]{Name: "councils",
		Indexes: []string{"created_at desc", "status,created_at desc"}, AllUsers: []string{"due_at"},
		Unindexed: []string{"members", "ranking", "conclusion", "title", "reason"}}
	// A session has one request and one document of rankings, under its own id.
	requests     = store.Collection[Request]{Name: "councilRequests", Unindexed: []string{"content"}}
	ballots      = store.Collection[Ballots]{Name: "councilBallots", Unindexed: []string{"votes"}}
	participants = store.Collection[Participant]{Name: "councils/*/councilParticipants"}
	responses    = store.Collection[Feedback]{Name: "councils/*/councilResponses", Unindexed: []string{"content"}}
	seats        = store.Collection[seat]{Name: "councilSeats"}
)

// Defs declares the collections of councils.
func (*Service) Defs() []*store.Def {
	return []*store.Def{councils.Def(), requests.Def(), ballots.Def(), participants.Def(), responses.Def(), seats.Def()}
}

func errNone() error { return fault.New(fault.Precondition, "No active session.") }

func errClosed() error { return fault.New(fault.Precondition, "Council session is closed.") }

func errMissing(id string) error { return fault.New(fault.NotFound, "no council with id %q", id) }

// Open is a new council with its opener in it.
func Open(id, requestID, content, by string, verified bool, now time.Time) (Session, Request) {
	s := Session{ID: id, Status: Active, CreatedAt: now, CreatedBy: by, Verified: verified, RequestID: requestID, Title: title(content)}
	s.seat(by, now)
	return s, Request{ID: requestID, Content: content, CreatedBy: by, Verified: verified, CreatedAt: now, Status: RequestOpen}
}

// title is a text on one short line.
func title(content string) string {
	words := strings.Join(strings.Fields(content), " ")
	if utf8.RuneCountInString(words) <= maxTitle {
		return words
	}
	return string([]rune(words)[:maxTitle-1]) + "…"
}

// touch notes a change, which gives the council more time.
func (s *Session) touch(now time.Time) {
	s.Revision++
	s.DueAt = now.Add(Patience)
}

func (s *Session) member(name string) *Member {
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Members[i]
}

func (s *Session) seat(name string, now time.Time) {
	s.Members = append(s.Members, Member{Name: name, At: now})
	s.touch(now)
}

// Join makes an agent a participant and says whether it was none before. A closed
// council and a full one are Precondition.
func (s *Session) Join(name string, now time.Time) (bool, error) {
	switch {
	case s.Status != Active:
		return false, errClosed()
	case s.member(name) != nil:
		return false, nil
	case len(s.Members) >= MaxMembers:
		return false, fault.New(fault.Precondition, "Council session is full: it has %d participants. A read-only key or endpoint reads it without joining.", MaxMembers)
	}
	s.seat(name, now)
	return true, nil
}

// Answer counts a response of a participant and returns its number. Without a
// request to answer, and in a closed council, it is Precondition.
func (s *Session) Answer(name string, now time.Time) (int64, error) {
	switch m := s.member(name); {
	case s.Status != Active:
		return 0, errClosed()
	case s.RequestID == "":
		return 0, fault.New(fault.Precondition, "No active request.")
	case m == nil:
		return 0, fault.New(fault.Internal, "%q answers a council without taking part", name)
	default:
		m.Answers++
	}
	s.Responses++
	s.touch(now)
	return s.Responses, nil
}

// Rank takes in what the ballots of all peers come to. A closed council is Precondition.
func (s *Session) Rank(b Ballots, now time.Time) error {
	if s.Status != Active {
		return errClosed()
	}
	s.Rankings, s.Ranking = len(b.Votes), b.best()
	s.touch(now)
	return nil
}

// Close ends the council with its conclusion. It is ended once; then it is Precondition.
func (s *Session) Close(c Conclusion, now time.Time) error {
	if s.Status != Active {
		return fault.New(fault.Precondition, "Council session is already closed.")
	}
	s.Conclusion = &c
	s.end(now)
	return nil
}

// Abandon ends an active council that nothing happened in for [Patience], and says
// whether it did.
func (s *Session) Abandon(now time.Time) bool {
	if s.Status != Active || now.Before(s.DueAt) {
		return false
	}
	s.Reason = abandoned
	s.end(now)
	return true
}

func (s *Session) end(now time.Time) {
	s.touch(now)
	s.Status, s.ClosedAt, s.DueAt = Closed, now, now.Add(Retention)
}

// Gone says whether a closed council can no longer be read, also where the sweep has
// not come by yet.
func (s *Session) Gone(now time.Time) bool { return s.Status == Closed && !now.Before(s.DueAt) }

// Pending is who joined and did not answer yet, without the opener and the one who asks.
func (s *Session) Pending(asking string) []string {
	out := []string{}
	for _, m := range s.Members {
		if m.Answers == 0 && m.Name != s.CreatedBy && m.Name != asking {
			out = append(out, m.Name)
		}
	}
	return out
}

// See notes what a participant has read: the current request, and the responses up to a number.
func (p *Participant) See(s *Session, verified bool, upTo int64, now time.Time) {
	p.LastSeen, p.LastRequestSeen, p.Verified = now, s.RequestID, verified
	if before, err := strconv.ParseInt(p.LastFeedbackSeen, 10, 64); upTo > 0 && (err != nil || before < upTo) {
		p.LastFeedbackSeen = number(upTo)
	}
}

// number is the id of a response.
func number(n int64) string { return strconv.FormatInt(n, 10) }

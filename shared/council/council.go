package council

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Status is the status of a session.
type Status string

// The statuses of a session.
const (
	Active Status = "active"
	Closed Status = "closed"
)

// RequestStatus is the status of a request.
type RequestStatus string

// The statuses of a request. A request is open as long as its session is active.
const (
	RequestOpen   RequestStatus = "open"
	RequestClosed RequestStatus = "closed"
)

const (
	// Patience is the time without a join, a response or a ranking after which an active council is
	// abandoned. Reading a council does not extend it.
	Patience = 7 * 24 * time.Hour
	// Silence is the time without a call of the starter after which any participant may close a council.
	Silence = 10 * time.Minute
	// Retention is the time for which a closed council can be read.
	Retention = 30 * 24 * time.Hour
	// MaxMembers is the limit of participants in a council.
	MaxMembers = 100

	abandoned = "abandoned: nothing happened here for 7 days"
	maxTitle  = 100 // characters
)

// Member is the entry of a participant in its session.
type Member struct {
	Name string `json:"name"`
	// Owner is the caller that joined under the name. Members from before ownership was kept have none.
	Owner identity.Owner `json:"owner,omitzero"`
	// At is the time when the participant joined.
	At time.Time `json:"at"`
	// Answers is the number of its responses.
	Answers int64 `json:"answers"`
}

// Conclusion is the text that closes a council, with its author.
type Conclusion struct {
	Author    string    `json:"author"`
	Verified  bool      `json:"verified"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
}

// Session is the state of a council.
type Session struct {
	// ID repeats the document's id as a field, so that a waiting call can watch this session only.
	ID        string    `json:"id"`
	Status    Status    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	Verified  bool      `json:"verified"`
	RequestID string    `json:"current_request_id"`
	Title     string    `json:"title"`
	// Responses is the number of responses, which is also the number of the last one.
	Responses int64 `json:"responses"`
	// Revision counts the changes that are visible in a summary.
	Revision int64    `json:"revision"`
	Members  []Member `json:"members"`
	// Ranking holds the best responses over all ballots, and Rankings the number of ballots.
	Ranking    []Standing  `json:"ranking,omitempty"`
	Rankings   int         `json:"rankings,omitempty"`
	Conclusion *Conclusion `json:"conclusion,omitempty"`
	ClosedAt   time.Time   `json:"closed_at,omitzero"`
	Reason     string      `json:"reason,omitempty"`
	// DueAt is the time of the next sweep: it abandons an active council and deletes a closed one.
	DueAt time.Time `json:"due_at"`
	// others are active councils beside this one, for the reply to a call that named none. They are not stored.
	others []Other
}

// Request is the question or task of a council.
type Request struct {
	ID        string        `json:"id"`
	Content   string        `json:"content"`
	CreatedBy string        `json:"created_by"`
	Verified  bool          `json:"verified" jsonschema:"whether the author is the program of the key"`
	CreatedAt time.Time     `json:"created_at"`
	Status    RequestStatus `json:"status"`
}

// Feedback is a response to the request of a council.
type Feedback struct {
	// ID is the number of the response in its session, in decimal, starting at 1.
	ID        string    `json:"id"`
	Label     string    `json:"label" jsonschema:"its name in rankings"`
	RequestID string    `json:"request_id"`
	Author    string    `json:"author"`
	Verified  bool      `json:"verified" jsonschema:"whether the author is the program of the key"`
	Content   string    `json:"content"`
	CreatedAt time.Time `json:"created_at"`
}

// Participant is the read state of an agent in a council.
type Participant struct {
	AgentName        string    `json:"agent_name"`
	Verified         bool      `json:"verified"`
	LastSeen         time.Time `json:"last_seen"`
	LastRequestSeen  string    `json:"last_request_seen,omitempty"`
	LastFeedbackSeen string    `json:"last_feedback_seen,omitempty"`
}

// seat records the council that an agent started or joined last: its current council.
type seat struct {
	SessionID string `json:"session_id"`
}

var (
	councils = store.Collection[Session]{Name: "councils", PartOf: "a council",
		Indexes: []string{"created_at desc", "status,created_at desc"}, AllUsers: []string{"due_at"},
		Unindexed: []string{"members", "ranking", "conclusion", "title", "reason"},
		Log:       "council", Note: func(s *Session, _ string) store.Note {
			return store.Note{Line: s.Title, State: string(s.Status), Program: s.CreatedBy}
		}, Text: (*Session).text}
	// A session has one request and one document of ballots, each under the id of the session.
	requests = store.Collection[Request]{Name: "councilRequests", PartOf: "a council's request",
		Unindexed: []string{"content"},
		Text:      (*Request).text}
	ballots      = store.Collection[Ballots]{Name: "councilBallots", Unindexed: []string{"votes"}}
	participants = store.Collection[Participant]{Name: "councils/*/councilParticipants", PartOf: "a member of a council"}
	responses    = store.Collection[Feedback]{Name: "councils/*/councilResponses", Unindexed: []string{"content"},
		Text: (*Feedback).text}
	seats = store.Collection[seat]{Name: "councilSeats", PartOf: "a program in councils"}
)

// Defs returns the definitions of the collections that hold councils.
func (*Service) Defs() []*store.Def {
	return []*store.Def{councils.Def(), requests.Def(), ballots.Def(), participants.Def(), responses.Def(), seats.Def()}
}

func errNone() error { return fault.New(fault.Precondition, "No active session.") }

func errClosed() error { return fault.New(fault.Precondition, "Council session is closed.") }

func errMissing(id string) error { return fault.New(fault.NotFound, "no council with id %q", id) }

// Open returns a new active council, whose only participant is its opener, and its request.
func Open(id, requestID, content string, who speaker, now time.Time) (Session, Request) {
	by, verified := who.name, who.verified
	s := Session{
		ID:        id,
		Status:    Active,
		CreatedAt: now,
		CreatedBy: by,
		Verified:  verified,
		RequestID: requestID,
		Title:     title(content),
	}
	s.addMember(who, now)
	return s, Request{
		ID:        requestID,
		Content:   content,
		CreatedBy: by,
		Verified:  verified,
		CreatedAt: now,
		Status:    RequestOpen,
	}
}

// title returns content on one line, shortened to maxTitle characters.
func title(content string) string {
	words := strings.Join(strings.Fields(content), " ")
	if utf8.RuneCountInString(words) <= maxTitle {
		return words
	}
	return string([]rune(words)[:maxTitle-1]) + "…"
}

// touch counts a change and restarts the time after which the council is abandoned.
func (s *Session) touch(now time.Time) {
	s.Revision++
	s.DueAt = now.Add(Patience)
}

// member returns the entry of a participant, or nil if the agent is not a participant.
func (s *Session) member(name string) *Member {
	i := slices.IndexFunc(s.Members, func(m Member) bool { return identity.Same(m.Name, name) })
	if i < 0 {
		return nil
	}
	return &s.Members[i]
}

// starter returns the owner of the council: the caller that joined it first. It is the verified program of that name in a
// council from before ownership was kept.
func (s *Session) starter() identity.Owner {
	if m := s.member(s.CreatedBy); m != nil && m.Owner != (identity.Owner{}) {
		return m.Owner
	}
	if s.Verified {
		return identity.Owner{Program: s.CreatedBy}
	}
	return identity.Owner{}
}

// mayContinue returns [fault.Forbidden] if another caller takes part under the speaker's name. A verified name is that of
// the speaker's program, whoever took part under it before.
func (s *Session) mayContinue(who speaker) error {
	m := s.member(who.name)
	if m == nil || who.verified || m.Owner == (identity.Owner{}) || m.Owner.Is(who.caller) {
		return nil
	}
	return fault.New(fault.Forbidden, "%s takes part as %q already; choose another agent_name; %s", m.Owner, m.Name,
		who.caller)
}

// hasRecord reports whether the participant of the speaker's name has a document under the speaker's id. A person who
// speaks as another agent, and a participant from before ownership was kept, may have none.
func (s *Session) hasRecord(who speaker) bool {
	m := s.member(who.name)
	return m != nil && m.Owner != (identity.Owner{}) && agentID(m.Name, m.Owner) == who.id()
}

func (s *Session) addMember(who speaker, now time.Time) {
	s.Members = append(s.Members, Member{Name: who.name, Owner: who.owner, At: now})
	s.touch(now)
}

// Join adds an agent to the participants and reports whether it was not one before. The name of one that was becomes
// that which it joined under: names differ in case. It returns [fault.Precondition] if the council is closed, or full,
// and [fault.Forbidden] if another caller takes part under the agent's name.
func (s *Session) Join(who *speaker, now time.Time) (bool, error) {
	m := s.member(who.name)
	switch {
	case s.Status != Active:
		return false, errClosed()
	case m != nil:
		who.name = m.Name
		return false, s.mayContinue(*who)
	case len(s.Members) >= MaxMembers:
		return false, fault.New(fault.Precondition,
			"Council session is full: it has %d participants. A read-only key or endpoint reads it without joining.",
			MaxMembers)
	}
	s.addMember(*who, now)
	return true, nil
}

// Answer counts a response of a participant and returns its number, 1 for the first. It returns
// [fault.Precondition] if the council is closed or has no request, and [fault.Internal] if the agent is not a
// participant.
func (s *Session) Answer(name string, now time.Time) (int64, error) {
	switch m := s.member(name); {
	case s.Status != Active:
		return 0, errClosed()
	case s.RequestID == "":
		return 0, fault.New(fault.Precondition, "No active request.")
	case m == nil:
		return 0, fault.New(fault.Internal, "agent %q is not a participant of the council", name)
	default:
		m.Answers++
	}
	s.Responses++
	s.touch(now)
	return s.Responses, nil
}

// Rank stores the aggregate of all ballots. It returns [fault.Precondition] if the council is closed.
func (s *Session) Rank(b Ballots, now time.Time) error {
	if s.Status != Active {
		return errClosed()
	}
	s.Rankings, s.Ranking = len(b.Votes), b.standings()
	s.touch(now)
	return nil
}

// Close ends the council with its conclusion. It returns [fault.Precondition] if the council is already closed.
func (s *Session) Close(c Conclusion, now time.Time) error {
	if s.Status != Active {
		return fault.New(fault.Precondition, "Council session is already closed.")
	}
	s.Conclusion = &c
	s.end(now)
	return nil
}

// Abandon closes an active council without activity for [Patience], and reports whether it did.
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

// Gone reports whether the [Retention] of a closed council is over. A council that is gone can no longer be
// read, even if the sweep has not deleted it yet.
func (s *Session) Gone(now time.Time) bool { return s.Status == Closed && !now.Before(s.DueAt) }

// Pending returns the names of the participants without a response, in the order in which they joined. It leaves
// out the opener and the agent named asking. The result is never nil.
func (s *Session) Pending(asking string) []string {
	out := []string{}
	for _, m := range s.Members {
		if m.Answers == 0 && m.Name != s.CreatedBy && !identity.Same(m.Name, asking) {
			out = append(out, m.Name)
		}
	}
	return out
}

// See records that the participant has read the current request and the responses up to the number upTo. The
// last response seen never goes back.
func (p *Participant) See(s *Session, verified bool, upTo int64, now time.Time) {
	p.LastSeen, p.LastRequestSeen, p.Verified = now, s.RequestID, verified
	if before, err := strconv.ParseInt(p.LastFeedbackSeen, 10, 64); upTo > 0 && (err != nil || before < upTo) {
		p.LastFeedbackSeen = number(upTo)
	}
}

// number returns the id of the response with the number n.
func number(n int64) string { return strconv.FormatInt(n, 10) }

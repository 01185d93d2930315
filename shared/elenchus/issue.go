package elenchus

import (
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// Severity is the severity of an issue.
type Severity string

// The severities of an issue.
const (
	Critical Severity = "CRITICAL"
	High     Severity = "HIGH"
	Medium   Severity = "MEDIUM"
	Low      Severity = "LOW"
)

// IssueStatus is the status of an issue.
type IssueStatus string

// The statuses of an issue. Unresolved is never stored; it is the status in which open issues are shown after the end
// of their verification.
const (
	IssueRaised IssueStatus = "RAISED"
	Challenged  IssueStatus = "CHALLENGED"
	Resolved    IssueStatus = "RESOLVED"
	Unresolved  IssueStatus = "UNRESOLVED"
	Dismissed   IssueStatus = "DISMISSED"
)

var (
	severities = []Severity{Critical, High, Medium, Low}
	statuses   = []IssueStatus{IssueRaised, Challenged, Resolved, Unresolved, Dismissed}
)

// maxTransitions is the number of latest changes that an issue keeps.
const maxTransitions = 10

// Transition is one change of an issue.
type Transition struct {
	Round  int         `json:"round"`
	Role   Role        `json:"role,omitempty" jsonschema:"left out where the end of the verification did it"`
	Status IssueStatus `json:"status"`
	At     time.Time   `json:"at"`
}

// Track is the part of an issue that rounds change.
type Track struct {
	Severity        Severity     `json:"severity"`
	Status          IssueStatus  `json:"status"`
	Open            bool         `json:"open"`
	ResolvedInRound int          `json:"resolvedInRound,omitempty"`
	Transitions     []Transition `json:"transitions"`
	// Changes counts all transitions; the list has the latest ten.
	Changes int `json:"changes"`
}

// Issue is an issue of a target, with the text of the round that raised it first.
type Issue struct {
	Category      string `json:"category"`
	Summary       string `json:"summary"`
	Location      string `json:"location,omitempty"`
	Description   string `json:"description,omitempty"`
	Evidence      string `json:"evidence,omitempty"`
	Number        int    `json:"number"`
	RaisedBy      Role   `json:"raisedBy"`
	RaisedInRound int    `json:"raisedInRound"`
	// RaisedAt is the time at which the issue was raised first, zero for an issue from before it was kept.
	RaisedAt time.Time `json:"raisedAt,omitzero"`
	Track
}

// Raise records that a round names the issue, and opens it. An open issue is challenged if the other role than the one
// that raised it first names it, and raised otherwise. An empty severity keeps the present one.
func (i *Issue) Raise(role Role, severity Severity, round int, now time.Time) {
	status := IssueRaised
	if i.Open && role != i.RaisedBy {
		status = Challenged
	}
	if severity != "" {
		i.Severity = severity
	}
	i.Open, i.ResolvedInRound = true, 0
	i.addTransition(Transition{round, role, status, now})
}

// Resolve closes an open issue, and reports whether it did. A challenged issue is dismissed if the challenging role
// closes it, and resolved otherwise.
func (i *Issue) Resolve(role Role, round int, now time.Time) bool {
	if !i.Open {
		return false
	}
	status := Resolved
	if i.Status == Challenged && role != i.RaisedBy {
		status = Dismissed
	}
	i.Open, i.ResolvedInRound = false, round
	i.addTransition(Transition{round, role, status, now})
	return true
}

func (i *Issue) addTransition(t Transition) {
	i.Status = t.Status
	i.Changes++
	i.Transitions = append(i.Transitions, t)
	if n := len(i.Transitions); n > maxTransitions {
		i.Transitions = i.Transitions[n-maxTransitions:]
	}
}

// In returns the issue as its verification shows it. An open issue is unresolved after the end.
func (i Issue) In(s *Session) Issue {
	if i.Open && s.Status == Completed {
		i.Transitions = append([]Transition{}, i.Transitions...)
		i.addTransition(Transition{Round: s.CurrentRound, Status: Unresolved, At: s.EndedAt})
	}
	return i
}

var categories = map[string]string{
	"SEC-": "SECURITY",
	"COR-": "CORRECTNESS",
	"REL-": "RELIABILITY",
	"MNT-": "MAINTAINABILITY",
	"PRF-": "PERFORMANCE",
}

// severityNames and categoryNames are the values that a round may give, in any case.
var (
	severityNames = []string{string(Critical), string(High), string(Medium), string(Low)}
	categoryNames = []string{"SECURITY", "CORRECTNESS", "RELIABILITY", "MAINTAINABILITY", "PERFORMANCE"}
)

// normalize writes the severity and the category of the issue with the given index in upper case, and returns a problem
// for each one that is unknown.
func (in *IssueInput) normalize(i int) (wrong []fault.Problem) {
	in.Severity, in.Category = Severity(strings.ToUpper(string(in.Severity))), strings.ToUpper(in.Category)
	for _, f := range []struct {
		name, value string
		known       []string
	}{{"severity", string(in.Severity), severityNames}, {"category", in.Category, categoryNames}} {
		if f.value != "" && !slices.Contains(f.known, f.value) {
			wrong = append(wrong, fault.Problem{Path: fieldPath("issuesRaised", i, f.name),
				Message: "must be one of " + strings.Join(f.known, ", ") + ", in any case"})
		}
	}
	return wrong
}

// categoryOf returns the category in the prefix of an id, or "" for any other prefix.
func categoryOf(id string) string {
	if len(id) < 4 {
		return ""
	}
	return categories[strings.ToUpper(id[:4])]
}

// Counts has the numbers of the issues of a verification.
type Counts struct {
	Total              int                 `json:"total"`
	BySeverity         map[Severity]int    `json:"bySeverity"`
	ByStatus           map[IssueStatus]int `json:"byStatus"`
	Unresolved         int                 `json:"unresolved" jsonschema:"open ones, raised or challenged"`
	CriticalUnresolved int                 `json:"criticalUnresolved"`
}

func newCounts() Counts {
	c := Counts{BySeverity: map[Severity]int{}, ByStatus: map[IssueStatus]int{}}
	for _, s := range severities {
		c.BySeverity[s] = 0
	}
	for _, s := range statuses {
		c.ByStatus[s] = 0
	}
	return c
}

// count adds n to the counts of an issue. A change of an issue counts -1 for the old track and 1 for the new one.
func (c *Counts) count(t Track, n int) {
	c.Total += n
	c.BySeverity[t.Severity] += n
	c.ByStatus[t.Status] += n
	if t.Open {
		c.Unresolved += n
		if t.Severity == Critical {
			c.CriticalUnresolved += n
		}
	}
}

// Summary returns the counts as the verification shows them. After the end, open issues count as unresolved.
func (s *Session) Summary() Counts {
	c := newCounts()
	c.Total, c.Unresolved, c.CriticalUnresolved = s.Counts.Total, s.Counts.Unresolved, s.Counts.CriticalUnresolved
	for k, n := range s.Counts.BySeverity {
		c.BySeverity[k] = n
	}
	for k, n := range s.Counts.ByStatus {
		if s.Status == Completed && (k == IssueRaised || k == Challenged) {
			k = Unresolved
			c.ByStatus[k] += n
			continue
		}
		c.ByStatus[k] += n
	}
	return c
}

package signal

import (
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// About is a category of pushes in the settings.
type About string

// The categories of pushes.
const (
	Questions About = "questions"
	Alerts    About = "alerts"
	Tasks     About = "tasks"
	Dreams    About = "dreams"
	Changes   About = "changes" // a task or a session that is blocked or has failed
	// Completions are tasks that are done and sessions that are complete. They send pushes only where On says so.
	Completions About = "completions"
)

// The upper limits of pushes in any hour, of all and of changes.
const (
	mostPerHour        = 100
	mostChangesPerHour = 20
)

// Settings is the document of a person's notification settings. They affect pushes only, not lists.
type Settings struct {
	// Off holds the categories without pushes.
	Off []About `json:"off"`
	// On holds the categories with pushes of those that have none by default.
	On []About `json:"on,omitempty"`
	// Quiet holds back alerts of the kinds info and success.
	Quiet *QuietHours `json:"quietHours,omitempty"`
	// PerHour and ChangesPerHour are the limits of pushes in any hour; nil means the upper limit.
	PerHour        *int      `json:"perHour,omitempty"`
	ChangesPerHour *int      `json:"changesPerHour,omitempty"`
	UpdatedAt      time.Time `json:"updatedAt,omitzero"`
}

// QuietHours is a part of each day. It spans midnight if To is before From.
type QuietHours struct {
	From     string `json:"from" allow:"nonempty,max=5" jsonschema:"HH:MM, when they begin"`
	To       string `json:"to" allow:"nonempty,max=5" jsonschema:"HH:MM, when they end"`
	TimeZone string `json:"timeZone,omitempty" allow:"max=64" jsonschema:"as Europe/Berlin; UTC where left out"`
}

var settings = store.Collection[Settings]{Name: "settings", PartOf: "a user",
	Unindexed: []string{"off", "on", "quietHours", "perHour", "changesPerHour", "updatedAt"}}

const notifications = "notifications"

func minutes(clock string) (int, error) {
	t, err := time.Parse("15:04", clock)
	return t.Hour()*60 + t.Minute(), err
}

// check returns Invalid for malformed times, an unknown time zone, and equal times.
func (q *QuietHours) check() error {
	var wrong []fault.Problem
	for _, end := range []struct{ path, clock string }{{"quietHours.from", q.From}, {"quietHours.to", q.To}} {
		if _, err := minutes(end.clock); err != nil {
			wrong = append(wrong, fault.Problem{Path: end.path, Message: "must be a time of day from 00:00 to 23:59"})
		}
	}
	if _, err := time.LoadLocation(q.TimeZone); err != nil || q.TimeZone == "Local" {
		wrong = append(wrong, fault.Problem{Path: "quietHours.timeZone",
			Message: "must be the name of a time zone, as Europe/Berlin"})
	}
	if len(wrong) == 0 && q.From == q.To {
		wrong = append(wrong, fault.Problem{Path: "quietHours.to",
			Message: "must differ from quietHours.from; to hold alerts back all day, put alerts into off"})
	}
	if len(wrong) > 0 {
		return fault.Problems(wrong...)
	}
	return nil
}

// quiet reports whether now is within the quiet hours. Malformed hours count as none: an app may
// have stored them, and a push too many is better than a missing one.
func (s *Settings) quiet(now time.Time) bool {
	if s.Quiet == nil || s.Quiet.check() != nil {
		return false
	}
	zone, _ := time.LoadLocation(s.Quiet.TimeZone)
	from, _ := minutes(s.Quiet.From)
	to, _ := minutes(s.Quiet.To)
	local := now.In(zone)
	at := local.Hour()*60 + local.Minute()
	if from < to {
		return from <= at && at < to
	}
	return from <= at || at < to
}

func (s *Settings) off(about About) bool {
	return slices.Contains(s.Off, about) || about == Completions && !slices.Contains(s.On, about)
}

// caps returns the limits of pushes in any hour, of all and of changes.
func (s *Settings) caps() (all, changes int) {
	all, changes = mostPerHour, mostChangesPerHour
	if s.PerHour != nil {
		all = min(all, max(0, *s.PerHour))
	}
	if s.ChangesPerHour != nil {
		changes = min(changes, max(0, *s.ChangesPerHour))
	}
	return all, changes
}

// quota is the document with the times of the pushes in the last hour.
type quota struct {
	Sent    []time.Time `json:"rung"`
	Changes []time.Time `json:"changes"` // the times in Sent of pushes about changes
	// Over is the number of pushes that were held back since the last one that was sent.
	Over int `json:"over"`
}

var quotas = store.Collection[quota]{Name: "pushQuotas", PartOf: "a user",
	Unindexed: []string{"rung", "changes", "over"}}

const hour = "hour"

// spend counts a push. If the limits and quiet hours allow it, ok is true and more is the number of
// pushes that were held back before it; else it is counted as held back.
func (q *quota) spend(s *Settings, r *notification, now time.Time) (more int, ok bool) {
	old := func(t time.Time) bool { return !t.After(now.Add(-time.Hour)) }
	q.Sent, q.Changes = slices.DeleteFunc(q.Sent, old), slices.DeleteFunc(q.Changes, old)
	all, changes := s.caps()
	full := len(q.Sent) >= all || (r.about == Changes && len(q.Changes) >= changes)
	if full || (r.quiet && s.quiet(now)) {
		q.Over++
		return 0, false
	}
	q.Sent = append(q.Sent, now)
	if r.about == Changes {
		q.Changes = append(q.Changes, now)
	}
	more, q.Over = q.Over, 0
	return more, true
}

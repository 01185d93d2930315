package files

import (
	"context"
	"time"

	"parley.internal/shared/store"
)

// The kinds of incidents.
const (
	Broken  = "broken"  // a reservation was ended by another than its holder
	Changed = "changed" // a file was changed that another held
)

// incident is something that went past a reservation. That of a changed file marks also that the holder and the editor
// were told; one of an earlier version has no more than its PurgeAt.
type incident struct {
	Kind    string    `json:"kind,omitempty"`
	Project string    `json:"project,omitempty"`
	Path    string    `json:"path,omitempty"`
	Pattern string    `json:"pattern,omitempty"`
	Holder  string    `json:"holder,omitempty"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at,omitzero"`
	PurgeAt time.Time `json:"purgeAt"`
}

var incidents = store.Collection[incident]{Name: "fileMeetings", Indexes: []string{"at desc", "project,at desc"},
	Log: "files", Note: func(i *incident, _ string) store.Note { return store.Note{ID: i.Project, Line: i.Project} }}

// broke is the incident of a broken reservation.
func broke(project string, r *Reservation, by Holder, reason string, now time.Time) incident {
	return incident{Kind: Broken, Project: project, Pattern: r.Pattern, Holder: r.Holder.label(), By: by.label(),
		Reason: reason, At: now, PurgeAt: now.Add(Retention)}
}

// changed is the incident of a changed file.
func changed(project string, u untold, by Holder, now time.Time) incident {
	held := Holder{Program: u.by.Holder, Session: u.by.SessionID}
	return incident{Kind: Changed, Project: project, Path: u.path, Pattern: u.by.Pattern, Holder: held.label(),
		By: by.label(), Reason: u.by.Reason, At: now, PurgeAt: now.Add(Retention)}
}

// The bounds of the incidents in a list.
const (
	recentTime  = 24 * time.Hour
	recentCount = 20
)

// recent returns the latest incidents of a project, or of all, the last first.
func (s *Service) recent(ctx context.Context, r store.Reader, project string) ([]Incident, error) {
	q := store.Query{Order: []string{"at desc"}, Limit: recentCount, Where: []store.Cond{store.Ge("at", s.Now().Add(-recentTime))}}
	if project != "" {
		q.Where = append(q.Where, store.Eq("project", project))
	}
	found, err := incidents.Query(ctx, r, q)
	if err != nil {
		return nil, err
	}
	out := make([]Incident, len(found.Docs))
	for i, d := range found.Docs {
		v := d.Value
		out[i] = Incident{Kind: v.Kind, Project: v.Project, Path: v.Path, Pattern: v.Pattern, Holder: v.Holder, By: v.By,
			Reason: v.Reason, At: v.At}
	}
	return out, nil
}

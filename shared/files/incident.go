package files

import (
	"context"
	"strings"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The kinds of incidents.
const (
	Broken  = "broken"  // a reservation was ended by another than its holder
	Changed = "changed" // a file was changed that another held
)

// incident is something that went past a reservation. A document without a time marks no more than that the holder and the
// editor were told of a changed file.
type incident struct {
	Kind    string `json:"kind,omitempty"`
	Project string `json:"project,omitempty"`
	// Path is the first of the changed files, and Paths are as many of them as there is room for, where there are several.
	Path  string   `json:"path,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// Files is the number of the changed files.
	Files   int       `json:"files,omitempty"`
	Pattern string    `json:"pattern,omitempty"`
	Holder  string    `json:"holder,omitempty"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at,omitzero"`
	PurgeAt time.Time `json:"purgeAt"`
}

var incidents = store.Collection[incident]{Name: "fileMeetings", PartOf: "a changed file",
	Indexes: []string{"at desc", "project,at desc"}, Unindexed: []string{"paths"},
	Log: "files", Note: func(i *incident, _ string) store.Note { return store.Note{ID: i.Project, Line: i.Project} }}

// broke is the incident of a broken reservation.
func broke(project string, r *Reservation, by Holder, reason string, now time.Time) incident {
	return incident{Kind: Broken, Project: project, Pattern: r.Pattern, Holder: r.Holder.label(), By: by.label(),
		Reason: reason, At: now, PurgeAt: now.Add(Retention)}
}

// changed is the incident of the files of one holder that one call has changed.
func changed(project string, p *past, by Holder, now time.Time) incident {
	v := p.first.by
	held := Holder{Program: v.Holder, Session: v.SessionID}
	out := incident{Kind: Changed, Project: project, Path: p.first.path, Files: len(p.paths), Pattern: v.Pattern,
		Holder: held.label(), By: by.label(), Reason: v.Reason, At: now, PurgeAt: now.Add(Retention)}
	if len(p.paths) > 1 {
		out.Paths = named(p.paths)
	}
	return out
}

// The bounds of the incidents in a list.
const (
	recentTime  = 24 * time.Hour
	recentCount = 20
	// recentEach is the number of incidents of one project by one program that go before those of others.
	recentEach = 5
)

// recent returns the latest incidents for the input of a list, the last first, and whether there were more. Those by one
// program do not hide those by others.
func (s *Service) recent(ctx context.Context, r store.Reader, in ListInput) (out []Incident, more bool, err error) {
	q := store.Query{Order: []string{"at desc"}, Limit: store.MaxLimit,
		Where: []store.Cond{store.Ge("at", s.Now().Add(-recentTime))}}
	if in.Project != "" {
		q.Where = append(q.Where, store.Eq("project", in.Project))
	}
	found, err := incidents.Query(ctx, r, q)
	if err != nil {
		return nil, false, err
	}
	var fit []incident
	for _, d := range found.Docs {
		if v := d.Value; in.Program == "" || identity.Same(in.Program, program(v.Holder)) ||
			identity.Same(in.Program, program(v.By)) {
			fit = append(fit, v)
		}
	}
	for i, is := range chosen(fit) {
		v := fit[i]
		if is {
			out = append(out, Incident{Kind: v.Kind, Project: v.Project, Path: v.Path, Paths: v.Paths, Files: v.Files,
				Pattern: v.Pattern, Holder: v.Holder, By: v.By, Reason: v.Reason, At: v.At})
		}
	}
	return out, len(out) < len(fit) || found.Next != "", nil
}

// chosen tells which incidents a list has room for: first at most [recentEach] of a project by a program, then the others.
func chosen(all []incident) []bool {
	type author struct{ project, program string }
	is, count, left := make([]bool, len(all)), map[author]int{}, recentCount
	for _, each := range []int{recentEach, len(all)} {
		for i, v := range all {
			by := author{v.Project, strings.ToLower(program(v.By))}
			if !is[i] && left > 0 && count[by] < each {
				is[i], left = true, left-1
				count[by]++
			}
		}
	}
	return is
}

// program returns the program of a label.
func program(label string) string {
	name, _, _ := strings.Cut(label, "/")
	return name
}

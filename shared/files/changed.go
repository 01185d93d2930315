package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The bounds of the reports of one call about changed files. The files beyond them are counted.
const (
	// maxChangedLines is the number of lines that the editor gets.
	maxChangedLines = 20
	// maxNames is the size of the names of the files in a message and in an incident, in bytes.
	maxNames = 2000
)

// untold is a changed file and a reservation of another that it is under.
type untold struct {
	id, path string
	by       View
}

// past are the files of one holder that one call has changed, each once.
type past struct {
	first untold
	paths []string
	box   string
}

// Changed compares files that have been changed with the reservations of others. Each holder and the editor get a message
// about all files that they were not told of before. It returns lines for the editor.
func (s *Service) Changed(ctx context.Context, c identity.Caller, e Edit) (lines []string, err error) {
	b, project, checked, _, err := s.checkEdit(ctx, c, e)
	if err != nil {
		return nil, err
	}
	met := meetings(Judge(checked, nil).Held)
	if len(met) == 0 {
		return nil, nil
	}
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh, err := unseen(ctx, tx, met)
		if err != nil {
			return err
		}
		fresh = bounded(fresh)
		all := byHolder(fresh)
		if err := s.boxes(ctx, tx, all); err != nil {
			return err
		}
		docs := map[string]incident{}
		for _, p := range all {
			docs[p.first.id] = changed(project, p, holderOf(c, e.SessionID), b.now)
			s.tellPast(tx, c, e, project, p, b)
		}
		for _, u := range fresh {
			doc, is := docs[u.id]
			if !is { // a mark
				doc = incident{Project: project, PurgeAt: b.now.Add(Retention)}
			}
			incidents.Put(tx, u.id, doc)
		}
		lines = linesOf(fresh)
		return nil
	})
	return lines, err
}

// meetings returns the files that others hold with their reservations: first one file of each reservation, then a second
// one, so that many files of one do not hide that of another.
func meetings(held []Checked) []untold {
	type ranked struct {
		untold
		rank int
	}
	var all []ranked
	ranks := map[string]int{}
	for _, f := range held {
		for _, v := range f.By {
			sum := sha256.Sum256([]byte(v.ReservationID + "\x00" + f.Path))
			u := untold{id: hex.EncodeToString(sum[:16]), path: f.Path, by: v}
			all = append(all, ranked{u, ranks[v.ReservationID]})
			ranks[v.ReservationID]++
		}
	}
	slices.SortStableFunc(all, func(x, y ranked) int { return cmp.Compare(x.rank, y.rank) })
	out := make([]untold, len(all))
	for i, r := range all {
		out[i] = r.untold
	}
	return out
}

// unseen returns those of which nobody was told, each once.
func unseen(ctx context.Context, tx *store.Tx, met []untold) (fresh []untold, err error) {
	seen, fetches := make([]incident, len(met)), make([]*store.Fetch, len(met))
	for i, u := range met {
		fetches[i] = incidents.Fetch(u.id, &seen[i])
	}
	if err := store.Load(ctx, tx, fetches...); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i, u := range met {
		if !fetches[i].Found && !known[u.id] {
			known[u.id] = true
			fresh = append(fresh, u)
		}
	}
	return fresh, nil
}

// bounded returns the first ones, as many as one transaction can record and tell of. The others count as unseen.
func bounded(fresh []untold) []untold {
	holders := map[string]bool{}
	for i, u := range fresh {
		holders[u.by.Who()] = true
		if i+1+2*len(holders) > store.MaxWrites { // a mark for each, and two messages for each holder
			return fresh[:i]
		}
	}
	return fresh
}

// byHolder returns the files of each holder.
func byHolder(fresh []untold) (all []*past) {
	known := map[string]*past{}
	for _, u := range fresh {
		who := u.by.Who()
		p := known[who]
		if p == nil {
			p = &past{first: u}
			known[who], all = p, append(all, p)
		}
		if !slices.Contains(p.paths, u.path) {
			p.paths = append(p.paths, u.path)
		}
	}
	return all
}

// boxes finds the inboxes of the holders.
func (s *Service) boxes(ctx context.Context, tx *store.Tx, all []*past) error {
	for _, p := range all {
		if s.Mail == nil || !identity.ValidName(p.first.by.Holder) {
			continue
		}
		var err error
		if p.box, err = s.Mail.Inbox(ctx, tx, p.first.by.Holder, p.first.by.SessionID); err != nil {
			return err
		}
	}
	return nil
}

// tellPast sends the two messages about the changed files of a holder.
func (s *Service) tellPast(tx *store.Tx, c identity.Caller, e Edit, project string, p *past, b *stand) {
	if s.Mail == nil {
		return
	}
	me, u := holderOf(c, e.SessionID), p.first
	if p.box != "" {
		s.Mail.Notify(tx, "changed-"+u.id+"-h", p.box, fmt.Sprintf("%s of %s, which you hold with %s, was changed%s "+
			"while a command of %s ran.%s", u.path, project, u.by.Pattern, within(e), me.who(), p.rest("your files")), b.now)
	}
	if mine := me.address(); mine != "" && !slices.Contains([]string{"", p.box}, mine) {
		s.Mail.Notify(tx, "changed-"+u.id+"-e", mine, fmt.Sprintf("%s of %s was changed while a command of yours "+
			"ran, and %s.%s Speak with the holder before you go on.", u.path, project, Tell(u.by), p.rest("its files")), b.now)
	}
}

// rest is a sentence about the files but the first, empty where there are none.
func (p *past) rest(whose string) string {
	more := p.paths[1:]
	if len(more) == 0 {
		return ""
	}
	names := named(more)
	text := fmt.Sprintf(" So were %d more of %s: %s", len(more), whose, strings.Join(names, ", "))
	if n := len(more) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + "."
}

// named returns the first paths, as many as fit in [maxNames] and at least one.
func named(paths []string) []string {
	size := 0
	for i, p := range paths {
		if size += len(p) + 2; size > maxNames && i > 0 {
			return paths[:i]
		}
	}
	return paths
}

// within says where an edit was made, as far as that is known.
func within(e Edit) string {
	switch {
	case e.Worktree != "":
		return " in " + place(e.Worktree, e.Branch)
	case e.Branch != "":
		return fmt.Sprintf(" on the branch %q", e.Branch)
	}
	return ""
}

// linesOf returns the lines for the editor. The last one has the number of files that no other line names.
func linesOf(fresh []untold) (lines []string) {
	shown, more := map[string]bool{}, map[string]bool{}
	for i, u := range fresh {
		if i < maxChangedLines {
			lines = append(lines, fmt.Sprintf("%s was changed, and %s", u.path, Tell(u.by)))
			shown[u.path] = true
		} else if !shown[u.path] {
			more[u.path] = true
		}
	}
	switch n := len(more); {
	case n == 1:
		lines = append(lines, "and 1 more held file")
	case n > 1:
		lines = append(lines, fmt.Sprintf("and %d more held files", n))
	}
	return lines
}

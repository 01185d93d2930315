package elenchus

import (
	"context"
	"slices"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// GetContext returns the shared context of a verification with a list of its files and the outputs of its latest rounds,
// or with one file and its content if the input has a path, or with more of the outputs if it has a cursor. It returns
// [fault.NotFound] if the context does not have that file.
func (s *Service) GetContext(ctx context.Context, c identity.Caller, in ContextInput) (ContextOutput, error) {
	t := s.DB.User(c.User)
	if in.Path != "" {
		return s.getFile(ctx, t, in)
	}
	from, err := parsePosition(in.Cursor)
	if err != nil {
		return ContextOutput{}, err
	}
	v, err := readSession(ctx, t, in.SessionID)
	if err != nil {
		return ContextOutput{}, err
	}
	out := contextOf(in.SessionID, &v)
	if out.Outputs, out.NextCursor, err = readOutputs(ctx, t, in.SessionID, &v, *in.Rounds, from); err != nil || from.tick > 0 {
		return out, err
	}
	page, err := files.Under(in.SessionID).Query(ctx, t, store.Query{Order: []string{"path"}, Limit: maxFiles})
	if err != nil {
		return out, err
	}
	for _, d := range page.Docs {
		out.Files = append(out.Files, FileView{Path: d.Value.Path, Layer: d.Value.Layer, Bytes: d.Value.Bytes})
	}
	return out, nil
}

func contextOf(id string, v *Session) ContextOutput {
	return ContextOutput{
		SessionID:     id,
		Target:        v.Target,
		Requirements:  v.Requirements,
		WorkingDir:    v.WorkingDir,
		Status:        v.Status,
		CurrentRound:  v.CurrentRound,
		NextRole:      v.NextRole(),
		Files:         []FileView{},
		Outputs:       []OutputView{},
		IssuesSummary: v.Summary(),
	}
}

func (s *Service) getFile(ctx context.Context, t *store.Tenant, in ContextInput) (ContextOutput, error) {
	var f File
	p, why := source.Clean(in.Path)
	if why != "" {
		return ContextOutput{}, fault.Field("path", "%s", why)
	}
	fetch := files.Under(in.SessionID).Fetch(fileID(p), &f)
	v, err := readSession(ctx, t, in.SessionID, fetch)
	if err != nil {
		return ContextOutput{}, err
	}
	out := contextOf(in.SessionID, &v)
	var text content
	if fetch.Found {
		got := contents.Under(in.SessionID).Fetch(contentID(f), &text)
		if err := store.Load(ctx, t, got); err != nil {
			return out, err
		}
		fetch = got
	}
	if !fetch.Found {
		return out, fault.New(fault.NotFound, "verification %s has no file %s; give it with elenchus_add_files",
			in.SessionID, p)
	}
	out.Files = append(out.Files, FileView{Path: p, Layer: f.Layer, Bytes: f.Bytes})
	out.Content = &text.Text
	return out, nil
}

// GetIssues returns a page of the issues of a verification, in the order in which they were raised.
func (s *Service) GetIssues(ctx context.Context, c identity.Caller, in IssuesInput) (IssuesOutput, error) {
	out := IssuesOutput{SessionID: in.SessionID, Issues: []IssueView{}}
	t := s.DB.User(c.User)
	v, err := readSession(ctx, t, in.SessionID)
	if err != nil {
		return out, err
	}
	q := store.Query{Order: []string{"number"}, Limit: in.Limit, Cursor: in.Cursor}
	switch in.Status {
	case "unresolved":
		q.Where = []store.Cond{store.Eq("open", true)}
	case "critical":
		q.Where = []store.Cond{store.Eq("severity", Critical), store.Eq("open", true)}
	}
	page, err := issues.Under(in.SessionID).Query(ctx, t, q)
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		out.Issues = append(out.Issues, issueView(d.ID, d.Value.In(&v)))
	}
	return out, nil
}

// End ends a verification with a verdict and returns its record. Open issues are unresolved from then on. Of concurrent
// calls one succeeds; later ones return [fault.Precondition]. It returns [fault.Forbidden] unless the caller started the
// verification or is a person.
func (s *Service) End(ctx context.Context, c identity.Caller, in EndInput) (Record, error) {
	now, t := s.Now(), s.DB.User(c.User)
	var v Session
	err := s.change(ctx, t, in.SessionID, now, func() (back *Rollback, err error) {
		err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			v, back = Session{}, nil
			f := sessions.Fetch(in.SessionID, &v)
			if err := store.Load(ctx, tx, f); err != nil {
				return err
			}
			if err := mustExist(f, &v, in.SessionID); err != nil {
				return err
			}
			if err := v.mayEnd(c, in.SessionID); err != nil {
				return err
			}
			if back = v.RollingBack; back != nil {
				return errUnfinished(back.Round)
			}
			if err := v.End(in.SessionID, in.Verdict, now); err != nil {
				return err
			}
			v.EndedBy = c.Actor()
			sessions.Put(tx, in.SessionID, v)
			return nil
		})
		return back, err
	})
	if err != nil {
		return Record{}, err
	}
	return record(ctx, t, in.SessionID, &v)
}

// maxShown limits a record to its latest rounds, including those that were rolled back.
const maxShown = 200

func record(ctx context.Context, t *store.Tenant, id string, v *Session) (Record, error) {
	out := Record{
		SessionView:   sessionView(id, v),
		Requirements:  v.Requirements,
		WorkingDir:    v.WorkingDir,
		Files:         v.Files,
		Bytes:         v.Bytes,
		IssuesSummary: v.Summary(),
		Convergence:   v.Convergence(),
		Checkpoints:   v.rounds(),
		Rounds:        []Round{},
	}
	page, err := rounds.Under(id).Query(ctx, t, store.Query{Order: []string{"tick desc"}, Limit: maxShown})
	if err != nil {
		return out, err
	}
	for _, d := range slices.Backward(page.Docs) {
		out.Rounds = append(out.Rounds, d.Value)
	}
	return out, nil
}

// Get returns the record of a verification.
func (s *Service) Get(ctx context.Context, c identity.Caller, id string) (Record, error) {
	t := s.DB.User(c.User)
	v, err := readSession(ctx, t, id)
	if err != nil {
		return Record{}, err
	}
	return record(ctx, t, id, &v)
}

// List returns a page of verifications, newest first.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Sessions: []SessionView{}}
	q := store.Query{Order: []string{"createdAt desc"}, Limit: in.Limit, Cursor: in.Cursor}
	if in.Status != "" {
		q.Where = []store.Cond{store.Eq("status", in.Status)}
	}
	page, err := sessions.Query(ctx, s.DB.User(c.User), q)
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		if !d.Value.Purging {
			out.Sessions = append(out.Sessions, sessionView(d.ID, &d.Value))
		}
	}
	return out, nil
}

// Resources returns the records of verifications as MCP resources.
func (s *Service) Resources() []op.Resource {
	return []op.Resource{{
		Scheme: "elenchus://sessions/", Name: "verification", Title: "Verification", Toolset: toolset,
		Doc: "The record of an adversarial verification: its rounds, what the last two wrote, issues in numbers, " +
			"convergence and verdict.",
		List: func(ctx context.Context, c identity.Caller, cursor string, limit int) (op.Listing, error) {
			page, err := s.List(ctx, c, ListInput{Cursor: cursor, Limit: limit})
			out := op.Listing{Items: []op.Item{}, Next: page.NextCursor}
			for _, v := range page.Sessions {
				out.Items = append(out.Items, op.Item{ID: v.SessionID, Title: v.title()})
			}
			return out, err
		},
		Read: func(ctx context.Context, c identity.Caller, id string) (any, error) { return s.document(ctx, c, id) },
	}}
}

// title returns the target, shortened to 80 characters, and the status.
func (v SessionView) title() string {
	const longest = 80
	title := []rune(v.Target)
	if len(title) > longest {
		title = append(title[:longest-1], '…')
	}
	return string(title) + " (" + string(v.Status) + ")"
}

func sessionView(id string, v *Session) SessionView {
	return SessionView{
		SessionID:    id,
		Target:       v.Target,
		Status:       v.Status,
		Verdict:      v.Verdict,
		CurrentRound: v.CurrentRound,
		MaxRounds:    v.MaxRounds,
		NextRole:     v.NextRole(),
		CreatedAt:    v.CreatedAt,
		UpdatedAt:    v.UpdatedAt,
		EndedAt:      v.EndedAt,
		EndedBy:      v.EndedBy,
		By:           v.By,
		Verified:     v.Verified,
	}
}

func issueView(id string, i Issue) IssueView {
	return IssueView{
		ID:              id,
		Category:        i.Category,
		Severity:        i.Severity,
		Summary:         i.Summary,
		Location:        i.Location,
		Description:     i.Description,
		Evidence:        i.Evidence,
		Status:          i.Status,
		RaisedBy:        i.RaisedBy,
		RaisedInRound:   i.RaisedInRound,
		ResolvedInRound: i.ResolvedInRound,
		Transitions:     i.Transitions,
		TransitionCount: i.Changes,
	}
}

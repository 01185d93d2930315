package elenchus

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// submission is a round that is being submitted.
type submission struct {
	id         string
	in         RoundInput
	resolved   []string
	files      []incoming
	references []source.Reference
	caller     identity.Caller
	now        time.Time
}

// SubmitRound adds a round of the next role. It returns [fault.Invalid] with a problem for each malformed field, and
// [fault.Forbidden] if another caller has taken the role, and [fault.Precondition] if it is the turn of the other role,
// if the verification accepts no more rounds, or if it would exceed its limits. Of concurrent rounds one succeeds.
func (s *Service) SubmitRound(ctx context.Context, c identity.Caller, in RoundInput) (RoundOutput, error) {
	var out RoundOutput
	r := &submission{id: in.SessionID, in: in, caller: c, now: s.Now()}
	if err := r.validate(); err != nil {
		return out, err
	}
	t := s.DB.User(c.User)
	if err := s.prepare(ctx, t, r); err != nil {
		return out, err
	}
	err := s.change(ctx, t, r.id, r.now, func() (back *Rollback, err error) {
		out, err = idempotency.Update(ctx, t, in, r.now,
			func(ctx context.Context, tx *store.Tx) (out RoundOutput, err error) {
				out, back, err = r.run(ctx, tx)
				return out, err
			})
		return back, err
	})
	return out, err
}

// validate checks the input and returns one fault for all problems.
func (r *submission) validate() error {
	var wrong []fault.Problem
	if dir := r.in.WorkingDir; dir != "" && !source.IsAbs(dir) {
		wrong = append(wrong, fault.Problem{Path: "workingDir", Message: "must be an absolute path"})
	}
	if len(r.in.Output) > maxOutput {
		wrong = append(wrong, fault.Problem{Path: "output", Message: "must be at most 512 KiB"})
	}
	r.in.IssuesRaised = slices.Clone(r.in.IssuesRaised)
	seen := map[string]bool{}
	for i, issue := range r.in.IssuesRaised {
		wrong = append(wrong, r.in.IssuesRaised[i].normalize(i)...)
		if seen[issue.ID] {
			wrong = append(wrong, fault.Problem{Path: fieldPath("issuesRaised", i, "id"), Message: "is listed twice"})
		}
		seen[issue.ID] = true
	}
	for _, id := range r.in.IssuesResolved {
		if seen[id] {
			wrong = append(wrong, fault.Problem{Path: "issuesResolved", Message: id + " is raised in the same round"})
		}
		if !slices.Contains(r.resolved, id) {
			r.resolved = append(r.resolved, id)
		}
	}
	var err error
	if r.files, err = readFiles(r.in.Files, Discovered); err != nil {
		wrong = append(wrong, fault.From(err).Problems...)
	}
	if len(wrong) > 0 {
		return fault.Problems(wrong...)
	}
	return nil
}

// prepare finds the files that the round refers to, and reads the new ones if the server can.
func (s *Service) prepare(ctx context.Context, t *store.Tenant, r *submission) error {
	v, err := sessions.Get(ctx, t, r.id)
	if fault.Is(err, fault.NotFound) || (err == nil && v.Purging) {
		return errMissing(r.id)
	}
	if err != nil {
		return err
	}
	text := r.in.Output
	for _, i := range r.in.IssuesRaised {
		text += "\n" + i.Location
	}
	for _, f := range r.files {
		v.recordPackage(f.Path, f.text)
	}
	r.references = source.References(text, v.WorkingDir, v.Modules)
	disk := s.disk(t.ID())
	if disk == nil || v.Over() {
		return nil
	}
	set := fileSetOf(r.id, append(pathsOf(r.references), pathsIn(r.files)...))
	if err := set.load(ctx, t); err != nil {
		return err
	}
	for i := range r.files {
		set.files[r.files[i].Path] = &r.files[i].File
	}
	c := &collector{
		from:       disk,
		workingDir: v.WorkingDir,
		layer:      Discovered,
		left:       maxPerCall - len(r.files),
		known:      set,
	}
	c.collect(ctx, r.references, v.Packages)
	r.files = slices.Concat(r.files, c.got)
	return nil
}

// roundIssues are the issues that a round names.
type roundIssues struct {
	byID   map[string]*Issue // nil for an unknown one
	before []issueBefore
}

// run is the transaction of the round. If a rollback must be finished first, it fails and returns that in back.
func (r *submission) run(ctx context.Context, tx *store.Tx) (out RoundOutput, back *Rollback, err error) {
	var v Session
	sf := sessions.Fetch(r.id, &v)
	set := fileSetOf(r.id, append(pathsOf(r.references), pathsIn(r.files)...))
	l, fetches := r.issues()
	if err := store.Load(ctx, tx, slices.Concat([]*store.Fetch{sf}, set.fetch, fetches)...); err != nil {
		return out, nil, err
	}
	set.dropMissing()
	ids := r.named()
	for i, f := range fetches {
		if !f.Found {
			l.byID[ids[i]] = nil
		}
	}
	if err := mustExist(sf, &v, r.id); err != nil {
		return out, nil, err
	}
	if err := v.mayPlay(r.caller, r.id, r.in.Role); err != nil {
		return out, nil, err
	}
	if v.RollingBack != nil {
		return out, v.RollingBack, errUnfinished(v.RollingBack.Round)
	}
	if err := v.MayTake(r.id, r.in.Role); err != nil {
		return out, nil, err
	}
	v.take(r.caller, r.in.Role)
	out, err = r.write(tx, &v, set, l)
	return out, nil, err
}

// named returns the ids of the issues that the round raises, then of those that it resolves.
func (r *submission) named() []string {
	var ids []string
	for _, i := range r.in.IssuesRaised {
		ids = append(ids, i.ID)
	}
	return append(ids, r.resolved...)
}

// issues returns the fetches of the issues that the round names, and the place where they are loaded.
func (r *submission) issues() (*roundIssues, []*store.Fetch) {
	l := &roundIssues{byID: map[string]*Issue{}}
	var fetches []*store.Fetch
	for _, id := range r.named() {
		l.byID[id] = new(Issue)
		fetches = append(fetches, issues.Under(r.id).Fetch(id, l.byID[id]))
	}
	return l, fetches
}

// write writes the round and its changes.
func (r *submission) write(tx *store.Tx, v *Session, set *fileSet, l *roundIssues) (RoundOutput, error) {
	round, tick := v.CurrentRound+1, v.Tick+1
	fresh, err := l.raise(v, r.in.Role, r.in.IssuesRaised, round, r.now)
	if err != nil {
		return RoundOutput{}, err
	}
	resolved, refused := l.resolve(v, r.in.Role, r.resolved, round, r.now)
	raised := r.named()[:len(r.in.IssuesRaised)]
	v.Take(raised, fresh, r.now)
	v.Recent[len(v.Recent)-1].Bytes = len(r.in.Output)
	put, err := v.place(r.id, set, r.files)
	if err != nil {
		return RoundOutput{}, err
	}
	v.Discovered = len(put.added)
	rec := Round{
		Number:         round,
		Tick:           tick,
		Role:           r.in.Role,
		By:             r.caller.Actor(),
		Verified:       r.caller.Bound(),
		OutputBytes:    len(r.in.Output),
		IssuesRaised:   raised,
		IssuesResolved: resolved,
		NewFiles:       put.added,
		Convergence:    v.Convergence(),
		Intervention:   v.arbitrate(put.added),
		At:             r.now,
	}
	if round%2 == 0 {
		v.takeCheckpoint(tx, r.id, r.now)
	}
	rounds.Under(r.id).Create(tx, tickID(tick), rec)
	outputs.Under(r.id).Create(tx, tickID(tick), output{r.in.Output})
	steps.Under(r.id).Create(tx, tickID(tick), step{Tick: tick, Round: true, Issues: l.before, Files: put.before})
	for _, id := range slices.Concat(raised, resolved) {
		issues.Under(r.id).Put(tx, id, *l.byID[id])
	}
	for _, w := range put.writes {
		w(tx)
	}
	sessions.Put(tx, r.id, *v)
	return RoundOutput{
		SessionID:          r.id,
		RoundNumber:        round,
		Role:               r.in.Role,
		Status:             v.Status,
		IssuesRaised:       len(raised),
		NewIssues:          fresh,
		IssuesResolved:     len(resolved),
		NotResolved:        refused,
		ContextExpanded:    len(put.added) > 0,
		NewFilesDiscovered: put.added,
		FilesWanted:        set.wanted(r.references, v.Packages),
		Convergence:        rec.Convergence,
		Intervention:       rec.Intervention,
		NextRole:           v.NextRole(),
	}, nil
}

// raise applies the issues that a round raises and returns the number of new ones. It returns [fault.Invalid] if a new
// issue is incomplete, and [fault.Precondition] if there are too many.
func (l *roundIssues) raise(v *Session, role Role, in []IssueInput, round int, now time.Time) (fresh int, err error) {
	var wrong []fault.Problem
	for i, given := range in {
		have := l.byID[given.ID]
		if have == nil {
			have = &Issue{
				Category:      given.Category,
				Summary:       given.Summary,
				Location:      given.Location,
				Description:   given.Description,
				Evidence:      given.Evidence,
				Number:        v.Counts.Total + 1,
				RaisedBy:      role,
				RaisedInRound: round,
				RaisedAt:      now,
			}
			if have.Category == "" {
				have.Category = categoryOf(given.ID)
			}
			wrong = append(wrong, missingFields(i, given, have.Category)...)
			l.byID[given.ID] = have
			l.before = append(l.before, issueBefore{ID: given.ID, New: true})
			fresh++
		} else {
			l.before = append(l.before, issueBefore{ID: given.ID, Track: have.Track})
			v.Counts.count(have.Track, -1)
		}
		have.Raise(role, given.Severity, round, now)
		v.Counts.count(have.Track, 1)
	}
	if len(wrong) > 0 {
		return 0, fault.Problems(wrong...)
	}
	if v.Counts.Total > maxIssues {
		return 0, fault.New(fault.Precondition,
			"a verification holds at most %d issues; with this round there would be %d", maxIssues, v.Counts.Total)
	}
	return fresh, nil
}

// missingFields returns a problem for each required field that a new issue lacks.
func missingFields(i int, given IssueInput, category string) []fault.Problem {
	var out []fault.Problem
	if given.Severity == "" {
		out = append(out,
			fault.Problem{Path: fieldPath("issuesRaised", i, "severity"), Message: "is required: the issue is new"})
	}
	if given.Summary == "" {
		out = append(out,
			fault.Problem{Path: fieldPath("issuesRaised", i, "summary"), Message: "is required: the issue is new"})
	}
	if category == "" {
		out = append(out, fault.Problem{
			Path:    fieldPath("issuesRaised", i, "category"),
			Message: "is required: the id begins with none of SEC-, COR-, REL-, MNT-, PRF-",
		})
	}
	return out
}

// resolve closes issues. It returns the unknown and the closed ones in refused.
func (l *roundIssues) resolve(
	v *Session, role Role, ids []string, round int, now time.Time,
) (resolved []string, refused []Refusal) {
	resolved, refused = []string{}, []Refusal{}
	for _, id := range ids {
		have := l.byID[id]
		if have == nil {
			refused = append(refused, Refusal{id, "no such issue"})
			continue
		}
		before := have.Track
		if !have.Resolve(role, round, now) {
			refused = append(refused, Refusal{id, "is already " + string(have.Status)})
			continue
		}
		l.before = append(l.before, issueBefore{ID: id, Track: before})
		v.Counts.count(before, -1)
		v.Counts.count(have.Track, 1)
		resolved = append(resolved, id)
	}
	return resolved, refused
}

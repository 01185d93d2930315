package search

import (
	"context"
	"time"
	"unicode/utf8"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/words"
)

// Service implements the search.
type Service struct {
	DB *store.DB
	// Searches returns the collections that are searched, of all domains.
	Searches func() []domain.Search
}

// Defs declares the index of the words.
func (*Service) Defs() []*store.Def { return []*store.Def{store.TextDef()} }

// Input is the input of search.
type Input struct {
	Q       string `json:"q" allow:"nonempty,max=400" jsonschema:"words that must all occur; \"a phrase\"; a beginning*"`
	Kind    string `json:"kind,omitempty" allow:"enum=task|question|message|council|fire|verification"`
	Program string `json:"program,omitempty" allow:"max=100" jsonschema:"its writer or recipient"`
	From    string `json:"from,omitempty" allow:"max=40,rare" jsonschema:"first day, as 2026-11-01, or a time"`
	To      string `json:"to,omitempty" allow:"max=40,rare" jsonschema:"last day, or a time"`
	Limit   int    `json:"limit,omitempty" allow:"min=1,max=50,default=20,rare"`
	Cursor  string `json:"cursor,omitempty" allow:"max=2000,rare" jsonschema:"a nextCursor"`
}

// Result is something that was found.
type Result struct {
	Kind     string    `json:"kind" allow:"enum=task|question|message|council|fire|verification"`
	ID       string    `json:"id" jsonschema:"of the task, the message, the council, the fire or the verification"`
	Title    string    `json:"title,omitempty"`
	Snippet  string    `json:"snippet,omitempty" jsonschema:"what was written, around the first match; matches are between ⟦ and ⟧"`
	At       time.Time `json:"at,omitzero"`
	Programs []string  `json:"programs,omitempty" jsonschema:"who wrote it and whom it is for"`
}

// Output is the output of search.
type Output struct {
	Results    []Result `json:"results" jsonschema:"newest first"`
	NextCursor string   `json:"nextCursor,omitempty" jsonschema:"there may be more, also after a short page"`
}

// maxTitle is the number of characters of a title in a result.
const maxTitle = 200

// Operations returns the operation search.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "search", Also: op.ForAgents, Title: "Search", Toolset: "search", Route: "GET /v1/search", Effect: op.Read,
			Cases: cases,
			Doc: "Full text search over the tasks, questions, messages and debates that you may read. Read the rest of a " +
				"result with the tool of its kind."},
			s.Search),
	}
}

// Sweeps adds documents to the index that were written before it was kept.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Tasks, Name: "texts",
		Run: func(ctx context.Context, a *store.Admin, limit int) (int, error) { return a.IndexTexts(ctx, limit) }}}
}

// Search returns a page of the objects that the query finds and the caller may read, newest first.
func (s *Service) Search(ctx context.Context, c identity.Caller, in Input) (Output, error) {
	out := Output{Results: []Result{}}
	q := store.Search{Kind: in.Kind, Program: in.Program, Limit: in.Limit, Cursor: in.Cursor}
	var err error
	if q.Terms, err = words.Parse(in.Q); err != nil {
		return out, err
	}
	if q.From, err = parseTime("from", in.From, 0); err != nil {
		return out, err
	}
	if q.To, err = parseTime("to", in.To, 24*time.Hour-time.Microsecond); err != nil {
		return out, err
	}
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return out, fault.Field("from", "must not be after to, which is %s", in.To)
	}
	if c.Bound() && !c.IsHuman() {
		q.Reader = c.Program
	}
	mayRead := map[string]func(identity.Caller, store.Hit) (bool, error){}
	for _, d := range s.Searches() {
		mayRead[d.Collection] = d.MayRead
	}
	hits, next, err := s.DB.User(c.User).Search(ctx, q, func(h store.Hit) (bool, error) {
		may := mayRead[h.Collection]
		if may == nil {
			return false, nil
		}
		return may(c, h)
	})
	for _, h := range hits {
		out.Results = append(out.Results, result(h, q.Terms))
	}
	out.NextCursor = next
	return out, err
}

// result returns the result of a hit: its snippet is the part of the body with a match, or else of the title.
func result(h store.Hit, terms []words.Term) Result {
	r := Result{Kind: h.Kind, ID: h.Text.ID, Title: h.Title, At: h.At, Programs: h.Programs}
	if utf8.RuneCountInString(r.Title) > maxTitle {
		r.Title = string([]rune(r.Title)[:maxTitle-1]) + "…"
	}
	body, inBody := words.Snippet(h.Body, terms)
	title, inTitle := words.Snippet(h.Title, terms)
	if r.Snippet = body; inTitle && !inBody {
		r.Snippet = title
	}
	return r
}

// parseTime returns a time, or that of a day with an addition. An empty text is the zero time.
func parseTime(field, text string, ofDay time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(ofDay), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fault.Field(field, "must be a date as 2026-11-01 or a time as 2026-11-01T08:00:00Z")
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

package ledger

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Retention is the time for which records are kept. The totals of the days are kept forever.
const Retention = 30 * 24 * time.Hour

// Record is the record of one call, or of an observation.
type Record struct {
	Tool       string    `json:"tool"`
	Transport  string    `json:"transport"`
	ProgramID  string    `json:"programId,omitempty"`
	KeyID      string    `json:"keyId,omitempty"`
	SessionID  string    `json:"sessionId,omitempty"`
	DurationMs float64   `json:"durationMs"`
	Success    bool      `json:"success"`
	ErrorKind  string    `json:"errorKind,omitempty"`
	TokensIn   int64     `json:"tokensIn,omitempty"`
	TokensOut  int64     `json:"tokensOut,omitempty"`
	CostUSD    float64   `json:"cost_usd,omitempty"`
	At         time.Time `json:"at"`
	// TokensCached and TaskID are those of an observation.
	TokensCached int64  `json:"tokensCached,omitempty"`
	TaskID       string `json:"taskId,omitempty"`
}

// Batch is the document of a batch of calls of one user, in the order of recording. Records is a
// JSON array of [Record]: no query uses it, and a text costs a fraction of structured values.
type Batch struct {
	At      time.Time       `json:"at"`
	PurgeAt time.Time       `json:"purgeAt"`
	Records json.RawMessage `json:"records"`
}

// Totals holds the sums of calls.
type Totals struct {
	Calls      int64   `json:"calls"`
	Errors     int64   `json:"errors"`
	DurationMs float64 `json:"durationMs"`
	TokensIn   int64   `json:"tokensIn"`
	TokensOut  int64   `json:"tokensOut"`
	CostUSD    float64 `json:"costUsd"`
}

// Daily holds the totals of a program on one day (UTC), as counted by one shard. The keys of
// Totals are "tool|transport".
type Daily struct {
	Day     string            `json:"day"`
	Program string            `json:"program"`
	Shard   int               `json:"shard"`
	Totals  map[string]Totals `json:"totals"`
}

var (
	batches = store.Collection[Batch]{Name: "ledger", PartOf: "a batch of records",
		Indexes: []string{"at desc"}, AllUsers: []string{store.PurgeField},
		Unindexed: []string{"records"}}
	dailies = store.Collection[Daily]{Name: "ledgerDaily", PartOf: "a program's day in a shard",
		Indexes: []string{"day"}, Unindexed: []string{"totals"}}
)

// Defs declares the collections of the ledger.
func (*Service) Defs() []*store.Def {
	return []*store.Def{batches.Def(), dailies.Def(), sightings.Def()}
}

const (
	keyIDLen   = 12
	sessionLen = 400 // bytes, of 100 characters
)

func recordOf(u op.Usage) Record {
	return Record{Tool: u.Op, Transport: u.Transport, ProgramID: u.Caller.Program,
		KeyID: first(keyIDLen, u.Caller.KeyID), SessionID: first(sessionLen, u.SessionID),
		DurationMs: float64(u.Took) / float64(time.Millisecond), Success: u.Fault == "", ErrorKind: u.Fault,
		TokensIn: u.TokensIn, TokensOut: u.TokensOut, CostUSD: u.CostUSD, At: u.At.UTC()}
}

// first returns at most n bytes of a text, cut between characters.
func first(n int, text string) string {
	if len(text) <= n {
		return text
	}
	end := 0
	for i := range text {
		if i > n {
			break
		}
		end = i
	}
	return text[:end]
}

func batchOf(records []Record) (Batch, error) {
	text, err := json.Marshal(records)
	if err != nil {
		return Batch{}, fault.Wrap(fault.Internal, err, "ledger")
	}
	b := Batch{At: records[0].At, Records: text}
	newest := b.At
	for _, r := range records {
		if r.At.Before(b.At) {
			b.At = r.At
		}
		if r.At.After(newest) {
			newest = r.At
		}
	}
	b.PurgeAt = newest.Add(Retention)
	return b, nil
}

func (r Record) totals() Totals {
	t := Totals{Calls: 1, DurationMs: r.DurationMs, TokensIn: r.TokensIn, TokensOut: r.TokensOut, CostUSD: r.CostUSD}
	if r.Transport == observed {
		t.Calls = 0
	}
	if !r.Success {
		t.Errors = 1
	}
	return t
}

func (t Totals) plus(o Totals) Totals {
	return Totals{t.Calls + o.Calls, t.Errors + o.Errors, t.DurationMs + o.DurationMs,
		t.TokensIn + o.TokensIn, t.TokensOut + o.TokensOut, t.CostUSD + o.CostUSD}
}

// tally sums records up by day and program, sorted by both.
func tally(records []Record, shard int) []Daily {
	type key struct{ day, program string }
	by := map[key]Daily{}
	for _, r := range records {
		k := key{r.At.Format(time.DateOnly), r.ProgramID}
		d, ok := by[k]
		if !ok {
			d = Daily{Day: k.day, Program: k.program, Shard: shard, Totals: map[string]Totals{}}
			by[k] = d
		}
		tool := r.Tool + "|" + r.Transport
		d.Totals[tool] = d.Totals[tool].plus(r.totals())
	}
	out := make([]Daily, 0, len(by))
	for _, d := range by {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Daily) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Program, b.Program))
	})
	return out
}

// id returns the document's id, which is unique for each day, shard and program.
func (d Daily) id() string {
	program := url.PathEscape(d.Program)
	switch program {
	case "":
		program = "-"
	case "-":
		program = "%2D"
	}
	return d.Day + "." + strconv.Itoa(d.Shard) + "." + program
}

// plus returns the totals added to those counted before.
func (d Daily) plus(before Daily) Daily {
	sum := Daily{Day: d.Day, Program: d.Program, Shard: d.Shard, Totals: map[string]Totals{}}
	for _, totals := range []map[string]Totals{before.Totals, d.Totals} {
		for tool, t := range totals {
			sum.Totals[tool] = sum.Totals[tool].plus(t)
		}
	}
	return sum
}

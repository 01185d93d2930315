package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/elenchus"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// The time of a late round of a verification must not exceed that of an early one by more than the factor
// verificationAtMost. Both rounds are the critic's, and both write a checkpoint.
const (
	earlyRound         = 2
	lateRound          = 50
	span               = 5 // the number of rounds timed from the early one on, and up to the late one
	verificationAtMost = 1.3
)

// roundStats are the measurements of rounds of verifications, by the number of the round: the time, and the size of the
// session's document after it.
type roundStats struct {
	took  map[int][]float64 // milliseconds
	bytes map[int][]float64 // bytes of JSON
}

// verificationBench submits and measures rounds of verifications.
type verificationBench struct {
	db       *store.DB
	elenchus *elenchus.Service
	roundStats
}

// verifications measures the early and the late rounds of n verifications on SQLite and writes the results.
func verifications(ctx context.Context, dir string, n int, out io.Writer) (err error) {
	d, err := sqlite.Open(ctx, filepath.Join(dir, "verifications.db"), app.Schema())
	if err != nil {
		return err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	stats := roundStats{map[int][]float64{}, map[int][]float64{}}
	t := &verificationBench{db, app.New(db, app.Ports{}).Elenchus, stats}
	if err := t.measure(ctx, n); err != nil {
		return err
	}
	return t.report(out)
}

// measure alternates the late rounds of each verification with the early ones of the next, each beside one of the same
// role, so that the size of the store and other load on the machine are the same for both. The first pair of
// verifications is not recorded.
func (t *verificationBench) measure(ctx context.Context, n int) error {
	old, err := t.start(ctx)
	if err != nil {
		return err
	}
	if err := t.rounds(ctx, old, 1, earlyRound+span-1); err != nil {
		return err
	}
	for pair := range n + 1 {
		if err := t.rounds(ctx, old, earlyRound+span, lateRound-span); err != nil {
			return err
		}
		next, err := t.start(ctx)
		if err != nil {
			return err
		}
		if err := t.rounds(ctx, next, 1, earlyRound-1); err != nil {
			return err
		}
		for i := range span {
			both := []turn{{old, lateRound - span + 1 + i}, {next, earlyRound + i}}
			if (pair+i)%2 == 1 {
				slices.Reverse(both)
			}
			for _, one := range both {
				if err := t.time(ctx, one, pair > 0); err != nil {
					return err
				}
			}
		}
		old = next
	}
	return nil
}

// turn identifies a round of a session.
type turn struct {
	session string
	round   int
}

var agent = identity.Caller{User: user, Program: "alpha", Kind: identity.Agent}

func (t *verificationBench) start(ctx context.Context) (string, error) {
	out, err := t.elenchus.Start(ctx, agent, op.Fill(elenchus.StartInput{Target: "internal/pay/pay.go",
		Requirements: messageText, WorkingDir: "/home/u/shop", MaxRounds: 2 * lateRound,
		Files: []elenchus.FileInput{
			{Path: "go.mod", Content: "module shop.example\n"},
			{Path: "internal/pay/pay.go", Content: code("pay")},
		}}))
	return out.SessionID, err
}

// rounds submits the rounds from first to last without timing them.
func (t *verificationBench) rounds(ctx context.Context, session string, first, last int) error {
	for n := first; n <= last; n++ {
		if err := t.submit(ctx, round(turn{session, n})); err != nil {
			return err
		}
	}
	return nil
}

// time submits a round and, if record is set, records its measurements.
func (t *verificationBench) time(ctx context.Context, one turn, record bool) error {
	in := round(one)
	begin := time.Now()
	if err := t.submit(ctx, in); err != nil {
		return err
	}
	took := time.Since(begin)
	if !record {
		return nil
	}
	size, err := t.size(ctx, one.session)
	t.took[one.round] = append(t.took[one.round], float64(took)/float64(time.Millisecond))
	t.bytes[one.round] = append(t.bytes[one.round], float64(size))
	return err
}

// submit submits a round. The verification must go on, with new issues and new files.
func (t *verificationBench) submit(ctx context.Context, in elenchus.RoundInput) error {
	out, err := t.elenchus.SubmitRound(ctx, agent, in)
	if err == nil && (out.Status != elenchus.Verifying || out.NewIssues == 0 || !out.ContextExpanded) {
		err = fmt.Errorf("round %d of a verification must add issues and files and go on; "+
			"it is %s with %d new issues and the files %q",
			out.RoundNumber, out.Status, out.NewIssues, out.NewFilesDiscovered)
	}
	return err
}

// session is elenchus's document, read for its size.
type session elenchus.Session

func (t *verificationBench) size(ctx context.Context, id string) (int, error) {
	s, err := store.Collection[session]{Name: "verifications"}.Get(ctx, t.db.User(user), id)
	if err != nil {
		return 0, err
	}
	b, err := json.Marshal(s)
	return len(b), err
}

// round returns the input of a round: 8 KiB of text that names three files, one of them new to the context, with a new
// issue and two known ones, the first and the last.
func round(t turn) elenchus.RoundInput {
	const size = 8 << 10
	path := fmt.Sprintf("internal/pay/part%02d.go", t.round)
	text := fmt.Sprintf("In %s:17 the sum is kept, which internal/pay/pay.go:12 reads as said in docs/pay%02d.md:3.\n\n"+
		"```go\n// %s\n%s```\n\n", path, t.round, path, code("part"))
	text += strings.Repeat(instructions+"\n", size/len(instructions))
	in := elenchus.RoundInput{SessionID: t.session, Role: elenchus.Verifier, Output: text[:size],
		Files:        []elenchus.FileInput{{Path: path, Content: code("part")}},
		IssuesRaised: []elenchus.IssueInput{newIssue(t.round)}}
	if t.round%2 == 0 {
		in.Role = elenchus.Critic
	}
	if t.round == 1 {
		in.IssuesRaised = append(in.IssuesRaised, newIssue(0))
		return in
	}
	in.IssuesRaised = append(in.IssuesRaised,
		elenchus.IssueInput{ID: issueID(0)}, elenchus.IssueInput{ID: issueID(t.round - 1)})
	return in
}

func issueID(n int) string { return fmt.Sprintf("COR-%03d", n) }

func newIssue(n int) elenchus.IssueInput {
	return elenchus.IssueInput{ID: issueID(n), Severity: elenchus.High, Summary: "the sum may overflow",
		Location: "internal/pay/pay.go:12", Description: instructions, Evidence: messageText}
}

// code returns a Go file of about 1 KiB.
func code(name string) string {
	return "package pay\n\nimport \"shop.example/internal/money\"\n\nvar " + name + " money.Sum\n\n" +
		strings.Repeat("// "+messageText+"\n", 5)
}

// report writes the measurements and whether the late round is within its limit.
func (a roundStats) report(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nROUND OF A VERIFICATION\tSTORE\tSESSIONS\tMEDIAN MS\tSESSION'S BYTES")
	line := func(name string, first, last int) {
		var took, size []float64
		for n := first; n <= last; n++ {
			took, size = append(took, a.took[n]...), append(size, a.bytes[n]...)
		}
		fmt.Fprintf(t, "%s\tsqlite\t%d\t%.2f\t%.0f\n", name, len(a.took[first]), median(took), median(size))
	}
	line(fmt.Sprint(earlyRound), earlyRound, earlyRound)
	line(fmt.Sprint(lateRound), lateRound, lateRound)
	line(fmt.Sprintf("%d to %d", earlyRound, earlyRound+span-1), earlyRound, earlyRound+span-1)
	line(fmt.Sprintf("%d to %d", lateRound-span+1, lateRound), lateRound-span+1, lateRound)
	if err := t.Flush(); err != nil {
		return err
	}
	ratio := median(a.took[lateRound]) / median(a.took[earlyRound])
	_, err := fmt.Fprintf(out, "round %d ÷ round %d: %.2f, limit %.1f  %s\n",
		lateRound, earlyRound, ratio, verificationAtMost, verdict(ratio <= verificationAtMost))
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/search"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
)

// A search must take at most searchAtMost in all but 5 of 100 calls.
const searchAtMost = 20 * time.Millisecond

// vocabulary is the number of different words of the searched documents. A few are in most of them, and most in few.
const vocabulary = 5_000

// searched are the searches, each with a description of its query.
var searched = []struct {
	name string
	in   search.Input
	who  identity.Caller
}{
	{"a rare word", search.Input{Q: word(4321)}, human},
	{"a word of every document", search.Input{Q: word(0)}, human},
	{"a rare and a common word", search.Input{Q: word(4321) + " " + word(0)}, human},
	{"two common words", search.Input{Q: word(3) + " " + word(7)}, human},
	{"a phrase", search.Input{Q: `"` + word(0) + " " + word(1) + `"`}, human},
	{"a beginning of 2 characters", search.Input{Q: word(2500)[:2] + "*"}, human},
	{"a beginning of 4 characters", search.Input{Q: word(2500)[:4] + "*"}, human},
	{"a common word, one kind and program", search.Input{Q: word(0), Kind: "task", Program: "program-007"}, human},
	{"a common word, by an agent", search.Input{Q: word(0)}, searcher},
	{"no document", search.Input{Q: "nowhere " + word(0)}, human},
}

// word returns a word of the vocabulary: six letters, of which many words share the first two and few the first four.
func word(i int) string {
	const syllables = "kalomitesunorivepagobedizucahoyexiwufajo" // 20
	out := ""
	for x, n := i*7919%8000, 0; n < 3; n++ { // 7919 is prime, so no two words are the same
		out, x = out+syllables[x%20*2:x%20*2+2], x/20
	}
	return out
}

var searcher = identity.Caller{User: user, Program: "program-007", Kind: identity.Agent}

var human = identity.Caller{User: user, Kind: identity.Human}

// searches measures n searches of each sort on SQLite with that number of documents, and writes the results.
func searches(ctx context.Context, dir string, documents, n int, out io.Writer) (err error) {
	d, err := sqlite.Open(ctx, filepath.Join(dir, "search.db"), app.Schema())
	if err != nil {
		return err
	}
	db := store.New(d, app.Schema())
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := seedTexts(ctx, db.User(user), documents); err != nil {
		return err
	}
	catalogue := app.New(db, app.Ports{}).Catalogue()
	took := make([][]time.Duration, len(searched))
	for i := range n + n/10 {
		for j, s := range searched {
			in, err := json.Marshal(s.in)
			if err != nil {
				return err
			}
			begin := time.Now()
			res, err := catalogue.Call(ctx, catalogue.Op("search"), op.Call{Caller: s.who, Input: op.Parse(in)})
			if err != nil {
				return err
			}
			if i >= n/10 { // the first calls warm the caches
				took[j] = append(took[j], time.Since(begin))
			}
			if found := strings.Contains(string(res.Data), `"id"`); !found && strings.HasPrefix(s.name, "a word") {
				return fmt.Errorf("the search for %s found nothing", s.name)
			}
		}
	}
	return reportSearches(out, documents, took)
}

// seedTexts writes tasks with random words.
func seedTexts(ctx context.Context, t *store.Tenant, n int) error {
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Now().Add(-24 * time.Hour)
	for from := 0; from < n; from += store.MaxWrites {
		err := t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for i := from; i < min(n, from+store.MaxWrites); i++ {
				v := task.Task{Type: task.Work, Title: randomWords(random, 6), Instructions: word(0) + " " + randomWords(random, 40),
					Status: task.Created, Priority: task.Normal, Source: "seeder", Target: programName(i),
					CreatedAt: begin.Add(time.Duration(i) * time.Millisecond)}
				v.Route()
				task.Tasks.Create(tx, fmt.Sprintf("t%06d", i), v)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// randomWords returns words, of which the first of the vocabulary are the most frequent.
func randomWords(random *rand.Rand, n int) string {
	out := make([]string, n)
	for i := range out {
		x := random.Float64()
		out[i] = word(int(x * x * x * vocabulary))
	}
	return strings.Join(out, " ")
}

// reportSearches writes the measurements and whether they are within their limit.
func reportSearches(out io.Writer, documents int, took [][]time.Duration) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nSEARCH\tSTORE\tDOCUMENTS\tFOR\tP50 MS\tP95 MS\tLIMIT OF P95\t")
	for i, each := range took {
		slices.Sort(each)
		p50, p95 := each[len(each)/2], each[len(each)*95/100]
		fmt.Fprintf(t, "\tsqlite\t%d\t%s\t%s\t%s\t%s\t%s\n", documents, searched[i].name, ms(p50), ms(p95), ms(searchAtMost),
			verdict(p95 <= searchAtMost))
	}
	return t.Flush()
}

package ledger

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

func TestARecordHasTheFieldsOfItsCall(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.Record(op.Usage{Op: "finish", Transport: "rest", Caller: alpha, SessionID: "alpha.1",
			Took: 1500 * time.Microsecond, TokensIn: 12, TokensOut: 7, CostUSD: 0.25,
			At: domaintest.Start.Add(time.Second)})
		b.Record(op.Usage{Op: "begin", Transport: "mcp", Caller: identity.Caller{User: "u", KeyID: "short"},
			Took: time.Millisecond, Fault: "FAILED_PRECONDITION", At: domaintest.Start})
		b.flush()
		docs := b.batches("u")
		want := []Record{
			{Tool: "finish", Transport: "rest", ProgramID: "alpha", KeyID: "0123456789ab", SessionID: "alpha.1",
				DurationMs: 1.5, Success: true, TokensIn: 12, TokensOut: 7, CostUSD: 0.25,
				At: domaintest.Start.Add(time.Second)},
			{Tool: "begin", Transport: "mcp", KeyID: "short", DurationMs: 1, ErrorKind: "FAILED_PRECONDITION",
				At: domaintest.Start},
		}
		if len(docs) != 1 || !docs[0].Value.At.Equal(domaintest.Start) ||
			!docs[0].Value.PurgeAt.Equal(domaintest.Start.Add(time.Second+30*24*time.Hour)) {
			t.Errorf("%+v", docs)
		}
		if got := b.records("u"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

func TestAnIDIsUniqueForDayShardAndProgram(t *testing.T) {
	t.Parallel()
	seen := map[string]Daily{}
	for _, day := range []string{"2026-03-01", "2026-03-02"} {
		for shard := range Shards {
			for _, program := range []string{"", "-", "--", "%2D", "alpha", "a/b", "a%2Fb", "a.b", ".", "..", "*",
				"__a__", "ü", "\xff", "0.a", strings.Repeat("ü", 100)} {
				d := Daily{Day: day, Program: program, Shard: shard}
				id := d.id()
				if other, dup := seen[id]; dup {
					t.Errorf("%+v and %+v are both %s", other, d, id)
				}
				if seen[id] = d; strings.ContainsAny(id, "/*\x00") || !utf8.ValidString(id) || len(id) > 1500 {
					t.Errorf("%q is not an id", id)
				}
			}
		}
	}
}

func TestALongSessionIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd", "abcü": "abc", "aüüü": "aü",
		"üüü": "üü", "€€": "€"} {
		if got := first(4, text); got != want {
			t.Errorf("%q was cut to %q", text, got)
		}
	}
}

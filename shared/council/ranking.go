package council

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
)

// maxStandings is how many responses an aggregate shows.
const maxStandings = 10

// Ballots are the orders of all peers of a council, best first, as numbers of
// responses. Participants and the length of a ballot are bounded, so this is too.
type Ballots struct {
	Votes map[string][]int64 `json:"votes"`
}

// Standing is what the peers think of a response, which has a label and no author here.
type Standing struct {
	Label    string  `json:"label"`
	MeanRank float64 `json:"mean_rank" jsonschema:"1 is best; over those who ranked it"`
	Votes    int     `json:"votes"`
}

// cast replaces a peer's ballot.
func (b *Ballots) cast(agent string, order []int64) {
	if b.Votes == nil {
		b.Votes = map[string][]int64{}
	}
	b.Votes[agent] = order
}

// best is the responses with the lowest mean rank; between equals the one that more
// have ranked, then the earlier.
func (b Ballots) best() []Standing {
	type sum struct{ n, ranks, votes int64 }
	by := map[int64]*sum{}
	for _, order := range b.Votes {
		for i, n := range order {
			if by[n] == nil {
				by[n] = &sum{n: n}
			}
			by[n].ranks += int64(i) + 1
			by[n].votes++
		}
	}
	sums := make([]*sum, 0, len(by))
	for _, s := range by {
		sums = append(sums, s)
	}
	slices.SortFunc(sums, func(a, b *sum) int {
		return cmp.Or(cmp.Compare(a.ranks*b.votes, b.ranks*a.votes), cmp.Compare(b.votes, a.votes), cmp.Compare(a.n, b.n))
	})
	out := make([]Standing, 0, maxStandings)
	for _, s := range sums[:min(len(sums), maxStandings)] {
		mean := math.Round(float64(s.ranks)/float64(s.votes)*100) / 100
		out = append(out, Standing{Label: label(s.n), MeanRank: mean, Votes: int(s.votes)})
	}
	return out
}

// label is the anonymous name of a response: A to Z, then AA.
func label(n int64) string {
	out := ""
	for ; n > 0; n = (n - 1) / 26 {
		out = string(rune('A'+(n-1)%26)) + out
	}
	return out
}

// longestLabel keeps a label's number far below what an int64 holds.
const longestLabel = 6

// parse is the number of the response that a label or an id names, 0 for what is neither.
func parse(s string) int64 {
	s = strings.ToUpper(strings.TrimSpace(s))
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return n
	}
	if len(s) > longestLabel {
		return 0
	}
	var n int64
	for _, r := range s {
		if r < 'A' || r > 'Z' {
			return 0
		}
		n = n*26 + int64(r-'A') + 1
	}
	return n
}

// order reads a ranking. What names no response, and one that stands twice, is Invalid.
func order(ranking []string) ([]int64, error) {
	var wrong []fault.Problem
	out := make([]int64, 0, len(ranking))
	for i, text := range ranking {
		n := parse(text)
		switch {
		case n == 0:
			wrong = append(wrong, unknown(i, text))
		case slices.Contains(out, n):
			wrong = append(wrong, fault.Problem{Path: at(i), Message: "names response " + label(n) + " a second time; rank each once"})
		}
		out = append(out, n)
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

func at(i int) string { return "ranking[" + strconv.Itoa(i) + "]" }

func unknown(i int, text string) fault.Problem {
	return fault.Problem{Path: at(i), Message: strconv.Quote(text) + " is no response of this council; give labels as get_current_session_data shows them"}
}

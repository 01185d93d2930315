package council

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
)

// maxStandings is the number of responses in an aggregate.
const maxStandings = 10

// Ballots holds the ranking of each peer of a council, by name: the numbers of the responses, best first. Its
// size is bounded, because the participants and the length of a ballot are.
type Ballots struct {
	Votes map[string][]int64 `json:"votes"`
}

// Standing is the aggregate rank of a response. It has the label of the response and not its author.
type Standing struct {
	Label    string  `json:"label"`
	MeanRank float64 `json:"mean_rank" jsonschema:"1 is best; over those who ranked it"`
	Votes    int     `json:"votes"`
}

// cast stores the ballot of a peer in place of its earlier one.
func (b *Ballots) cast(agent string, order []int64) {
	if b.Votes == nil {
		b.Votes = map[string][]int64{}
	}
	b.Votes[agent] = order
}

// standings returns the responses with the lowest mean rank. Of equal ones the response with more votes is
// first, then the earlier response.
func (b Ballots) standings() []Standing {
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
		return cmp.Or(cmp.Compare(a.ranks*b.votes, b.ranks*a.votes), cmp.Compare(b.votes, a.votes),
			cmp.Compare(a.n, b.n))
	})
	out := make([]Standing, 0, maxStandings)
	for _, s := range sums[:min(len(sums), maxStandings)] {
		mean := math.Round(float64(s.ranks)/float64(s.votes)*100) / 100
		out = append(out, Standing{Label: label(s.n), MeanRank: mean, Votes: int(s.votes)})
	}
	return out
}

// label returns the anonymous name of the response with the number n: A to Z, then AA and so on.
func label(n int64) string {
	out := ""
	for ; n > 0; n = (n - 1) / 26 {
		out = string(rune('A'+(n-1)%26)) + out
	}
	return out
}

// longestLabel keeps the number of a label far below the largest int64.
const longestLabel = 6

// parseNumber returns the number of a response from its label, in either case, or its id. It returns 0 if s is
// neither.
func parseNumber(s string) int64 {
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

// parseRanking returns the numbers of the responses in a ranking. It returns [fault.Invalid] with a problem for
// each entry that is not a label or an id, or that repeats an earlier one.
func parseRanking(ranking []string) ([]int64, error) {
	var wrong []fault.Problem
	out := make([]int64, 0, len(ranking))
	for i, text := range ranking {
		n := parseNumber(text)
		switch {
		case n == 0:
			wrong = append(wrong, unknownResponse(i, text))
		case slices.Contains(out, n):
			message := "names response " + label(n) + " twice; rank each response once"
			wrong = append(wrong, fault.Problem{Path: rankingPath(i), Message: message})
		}
		out = append(out, n)
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

func rankingPath(i int) string { return "ranking[" + strconv.Itoa(i) + "]" }

func unknownResponse(i int, text string) fault.Problem {
	const mend = " is not a response of this council; use the labels that get_current_session_data shows"
	return fault.Problem{Path: rankingPath(i), Message: strconv.Quote(text) + mend}
}

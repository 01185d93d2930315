package main

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"testing"
)

func TestAGreedyUserIsAtItsLimitsWhileItsNeighboursAreMeasured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := runNeighbours(t.Context(), quickOptions, &out, io.Discard); err != nil { // also if a neighbour is refused
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(\d+) were carried out and (\d+) refused:
  p99 of (\d+) and (\d+) calls: .*
  p99 of (\d+) and (\d+) wakes: .*
`).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("the report is %s", out.String())
	}
	for i, n := range found[1:] {
		if count, err := strconv.Atoi(n); count == 0 || err != nil {
			t.Errorf("the number %d is %s of\n%s", i, n, out.String())
		}
	}
}

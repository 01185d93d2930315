package main

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		in   []int
		q    float64
		want int
	}{
		{nil, 0.5, 0}, {[]int{7}, 0.01, 7}, {[]int{7}, 0.99, 7}, {[]int{1, 2}, 0.5, 1}, {[]int{1, 2, 3}, 0.5, 2},
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := quantile(c.in, c.q); got != c.want {
			t.Errorf("quantile %v of %d values: %d, want %d", c.q, len(c.in), got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.in, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

func TestQuotientsArePairwise(t *testing.T) {
	got := quotients([]time.Duration{20, 90, 7}, []time.Duration{10, 30})
	if len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("got %v", got)
	}
}

func TestAQuickRunMeasuresEverything(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), quickOptions, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		if n := strings.Count(out.String(), "\n"+o.name+" "); n < 8 {
			t.Errorf("%s has %d lines, want one for each transport, number of clients and size", o.name, n)
		}
	}
	for _, line := range []string{
		"woken by a message (3 times", "from a server's start to the answer to its first request",
		"a hook, 6 times, with one 100 ms away", "wakes: ", "beside it, ratio",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the report lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

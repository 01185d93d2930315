package main

import (
	"cmp"
	"math"
	"slices"
)

// quantile is the value that a share q of the sorted values does not exceed, by
// nearest rank; zero for no values.
func quantile[T cmp.Ordered](sorted []T, q float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, of an even number the mean of the middle two; NaN
// for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// quotients divides the numbers of two series, round by round.
func quotients[T ~int64 | ~float64](over, under []T) []float64 {
	out := make([]float64, min(len(over), len(under)))
	for i := range out {
		out[i] = float64(over[i]) / float64(under[i])
	}
	return out
}

package main

import (
	"cmp"
	"math"
	"slices"
)

// quantile returns the quantile q of sorted values by nearest rank, zero for no values.
func quantile[T cmp.Ordered](sorted []T, q float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median returns the median of the values, which need not be sorted; NaN for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// quotients divides the values of two series pairwise, up to the length of the shorter one.
func quotients[T ~int64 | ~float64](over, under []T) []float64 {
	out := make([]float64, min(len(over), len(under)))
	for i := range out {
		out[i] = float64(over[i]) / float64(under[i])
	}
	return out
}

//go:build !race

package app

const killEvery = 1

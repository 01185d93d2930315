package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// limitFlags declares the flags of the limits of users, beside those of a key's rate.
func (c *Config) limitFlags(f *pflag.FlagSet, env func(string) string) {
	f.Float64Var(&c.UserRate, "user-rate", parsed(c, env, "PARLEY_USER_RATE", -1, parseRate),
		"calls a second for a user over all keys, 0 for no limit; by default 200 unless the server listens on loopback alone "+
			"(PARLEY_USER_RATE)")
	f.IntVar(&c.UserBurst, "user-burst", parsed(c, env, "PARLEY_USER_BURST", cloudUserBurst, strconv.Atoi),
		"calls that a user may make at once (PARLEY_USER_BURST)")
	f.IntVar(&c.WaitsKey, "waits-key", parsed(c, env, "PARLEY_WAITS_KEY", waitsKey, strconv.Atoi),
		"calls of a key that may wait at once, 0 for no limit (PARLEY_WAITS_KEY)")
	f.IntVar(&c.WaitsUser, "waits-user", parsed(c, env, "PARLEY_WAITS_USER", waitsUser, strconv.Atoi),
		"calls of a user that may wait at once, 0 for no limit (PARLEY_WAITS_USER)")
	f.IntVar(&c.Waits, "waits", parsed(c, env, "PARLEY_WAITS", 0, strconv.Atoi),
		"calls that may wait at once in all; by default as many as fit into a quarter of the memory, at most 4096 (PARLEY_WAITS)")
	f.Int64Var(&c.QuotaDocuments, "quota-documents", parsed(c, env, "PARLEY_QUOTA_DOCUMENTS", -1, parseCount),
		"documents that a user may keep, 0 for no limit; by default 1000000 unless the server listens on loopback alone "+
			"(PARLEY_QUOTA_DOCUMENTS)")
	f.Int64Var(&c.QuotaBytes, "quota-bytes", parsed(c, env, "PARLEY_QUOTA_BYTES", -1, parseCount),
		"bytes that a user may keep, 0 for no limit; by default 10 GiB unless the server listens on loopback alone "+
			"(PARLEY_QUOTA_BYTES)")
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && n < 0 {
		err = strconv.ErrRange
	}
	return n, err
}

// checkNegative returns an error for a negative limit that was given; one that was not stands for a default.
func (c *Config) checkNegative() error {
	for _, l := range []struct {
		flag, of string
		negative bool
		def      bool // whether a negative number stands for the default
	}{
		{"rate", "calls a second, or 0 for no limit", c.Rate < 0, true},
		{"user-rate", "calls a second, or 0 for no limit", c.UserRate < 0, true},
		{"burst", "calls", c.Burst < 0, false},
		{"user-burst", "calls", c.UserBurst < 0, false},
		{"waits-key", "calls, or 0 for no limit", c.WaitsKey < 0, false},
		{"waits-user", "calls, or 0 for no limit", c.WaitsUser < 0, false},
		{"waits", "calls, or 0 for as many as fit", c.Waits < 0, false},
		{"quota-documents", "documents, or 0 for no limit", c.QuotaDocuments < 0, true},
		{"quota-bytes", "bytes, or 0 for no limit", c.QuotaBytes < 0, true},
	} {
		if l.negative && (!l.def || c.given != nil && c.given(l.flag)) {
			return fmt.Errorf("--%s must be a number of %s: it cannot be negative", l.flag, l.of)
		}
	}
	return nil
}

// checkLimits returns an error that names the flag of a limit that cannot be, and sets the defaults that depend on the
// address.
func (c *Config) checkLimits() error {
	if err := c.checkNegative(); err != nil {
		return err
	}
	for _, r := range []struct {
		flag      string
		rate      *float64
		burst     int
		burstFlag string
		cloud     float64
	}{
		{"--rate", &c.Rate, c.Burst, "--burst", cloudRate},
		{"--user-rate", &c.UserRate, c.UserBurst, "--user-burst", cloudUserRate},
	} {
		if math.IsNaN(*r.rate) || math.IsInf(*r.rate, 0) {
			return fmt.Errorf("%s must be a number of calls a second, not %v", r.flag, *r.rate)
		}
		if *r.rate < 0 {
			*r.rate = unlessLoopback(c, r.cloud)
		}
		if *r.rate > 0 && r.burst < 1 {
			return fmt.Errorf("%s must be at least 1 if there is a %s", r.burstFlag, r.flag)
		}
	}
	if c.QuotaDocuments < 0 {
		c.QuotaDocuments = unlessLoopback[int64](c, cloudDocuments)
	}
	if c.QuotaBytes < 0 {
		c.QuotaBytes = unlessLoopback[int64](c, cloudBytes)
	}
	return nil
}

// unlessLoopback returns a default that is no limit for a server that listens on loopback alone.
func unlessLoopback[N int64 | float64](c *Config, n N) N {
	if c.Loopback() {
		return 0
	}
	return n
}

// The memory for calls that wait.
const (
	// waitBytes is the memory of a call that waits: its connection's buffers, its request and its stacks.
	waitBytes = 64 << 10
	// mostWaits and fewestWaits bound the number that follows from the memory.
	mostWaits, fewestWaits = 4096, 256
)

// FitTo sets the number of waits, unless the operator chose one, to as many as a quarter of the memory, in bytes, can
// hold.
func (c *Config) FitTo(memory int64) {
	if c.Waits == 0 {
		c.Waits = int(min(max(memory/4/waitBytes, fewestWaits), mostWaits))
	}
}

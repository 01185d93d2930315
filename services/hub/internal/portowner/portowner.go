package portowner

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"
)

// patience is the time that a server has to answer the health check.
const patience = time.Second

// Describe returns who listens at a host and port, such as "a Parley server of version v1.2.0" or "the process 4711
// (node)". It returns "another program" where nothing is known.
func Describe(ctx context.Context, addr string) string {
	if v := parley(ctx, addr); v != "" {
		return "a Parley server of version " + v
	}
	if p := process(addr); p != "" {
		return "the process " + p
	}
	return "another program"
}

// parley returns the version of the Parley server at an address, empty if there is none.
func parley(ctx context.Context, addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/v1/health", nil)
	if err != nil {
		return ""
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	var a struct {
		Success bool
		Data    struct{ Status, Version string }
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 4096)).Decode(&a); err != nil || !a.Success || a.Data.Status != "ok" {
		return ""
	}
	return a.Data.Version
}

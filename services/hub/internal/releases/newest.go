package releases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"golang.org/x/mod/semver"
)

// The limits of one question. A document is a few hundred bytes.
const (
	Patience  = 10 * time.Second
	maxBytes  = 64 << 10
	redirects = 5
)

// Release is the newest release, as the document at the address of releases tells it.
type Release struct {
	// Version is a semantic version with a leading v.
	Version string `json:"version"`
	// Date is that of its commit.
	Date time.Time `json:"date"`
	// Notes is the https URL of a page about it, empty for none.
	Notes string `json:"notes,omitempty"`
}

// Newest reads the document at an address, which is https, or http on this machine alone.
func Newest(ctx context.Context, address string) (Release, error) {
	r, err := newest(ctx, address)
	if err != nil {
		return Release{}, fmt.Errorf("cannot tell the newest release: %w", err)
	}
	return r, nil
}

func newest(ctx context.Context, address string) (r Release, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return r, fmt.Errorf("the address of releases is no URL: %w", err)
	}
	if err := private(u); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return r, err
	}
	req.Header.Set("User-Agent", "parley")
	req.Header.Set("Accept", "application/json")
	client := http.Client{CheckRedirect: follow}
	res, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s answers %s: check the address", u.Redacted(), res.Status)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err != nil {
		return r, fmt.Errorf("%s: %w", u.Redacted(), err)
	}
	if len(text) > maxBytes {
		return r, fmt.Errorf("%s has more than %d KiB, so it is no releases document: check the address", u.Redacted(), maxBytes>>10)
	}
	if r, err = parse(text); err != nil {
		return Release{}, fmt.Errorf("%s is no releases document: %w: check the address", u.Redacted(), err)
	}
	return r, nil
}

// private returns an error if others could change the answers of an address.
func private(u *url.URL) error {
	switch {
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the address of releases must be like https://parley.example.org/releases/latest.json, not %q", u.Redacted())
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("%s is not https, so others could change the answer: use https", u.Redacted())
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func follow(req *http.Request, via []*http.Request) error {
	if len(via) > redirects {
		return fmt.Errorf("more than %d redirects", redirects)
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("a redirect leads to %s, which is not https", req.URL.Redacted())
	}
	return private(req.URL)
}

// parse returns the release of a document. Fields that it does not know are for newer versions.
func parse(text []byte) (Release, error) {
	var r Release
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	if !valid(r.Version) {
		return r, fmt.Errorf("its version is %.100q, which is not like v1.2.3", r.Version)
	}
	if r.Date.IsZero() {
		return r, errors.New("it has no date")
	}
	if u, err := url.Parse(r.Notes); r.Notes != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return r, fmt.Errorf("its notes are at %.100q, which is no https URL", r.Notes)
	}
	return r, nil
}

// valid reports whether a version is semantic and has all three numbers.
func valid(version string) bool {
	return semver.IsValid(version) && semver.Canonical(version)+semver.Build(version) == version
}

// State says how a program compares with the newest release.
type State string

// Current is the newest release or a newer version. Behind is older. Unknown has no version to compare.
const (
	Current State = "current"
	Behind  State = "behind"
	Unknown State = "unknown"
)

// described is a version by git: so many commits after a tag.
var described = regexp.MustCompile(`^(v.+?)(-\d+-g[0-9a-f]{7,})?(-dirty)?$`)

// Compare compares the version of a program with the newest release. A version of so many commits after a tag, such as
// v1.2.3-4-g0123abc, counts as that of the tag. A release that is a preview, such as v1.3.0-rc.1, is offered to programs
// that are previews themselves.
func Compare(version, newest string) State {
	if m := described.FindStringSubmatch(version); m != nil {
		version = m[1]
	}
	switch {
	case !valid(version):
		return Unknown
	case semver.Prerelease(newest) != "" && semver.Prerelease(version) == "":
		return Current
	case semver.Compare(version, newest) < 0:
		return Behind
	}
	return Current
}

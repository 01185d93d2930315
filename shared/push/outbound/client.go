package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// errAddress is the reason for which a connection is refused.
var errAddress = errors.New("the address is not allowed")

// The limits of a connection. The context of a request limits the whole of it.
const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
)

// Client returns a client for addresses that people gave. With private it also calls private and loopback addresses.
func Client(private bool) *http.Client {
	return &http.Client{
		Transport: schemes{
			"https": transport(func(ip netip.Addr) bool { return isPublic(ip) || private && isPrivate(ip) }),
			"http":  transport(func(ip netip.Addr) bool { return private && isPrivate(ip) }),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func transport(allowed func(netip.Addr) bool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(at.Addr().Unmap()) {
			return errAddress
		}
		return nil
	}}
	return &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout,
		ResponseHeaderTimeout: headerTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: 2}
}

// schemes chooses the transport by the scheme of the URL.
type schemes map[string]*http.Transport

// RoundTrip implements [http.RoundTripper].
func (s schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	t := s[r.URL.Scheme]
	if t == nil {
		return nil, errAddress
	}
	return t.RoundTrip(r)
}

// CloseIdleConnections closes the connections that are not in use; see [http.Client.CloseIdleConnections].
func (s schemes) CloseIdleConnections() {
	for _, t := range s {
		t.CloseIdleConnections()
	}
}

// special are the ranges that are neither public nor [isPrivate], beyond those that netip knows. Some of them embed
// addresses of other ranges.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

// shared is the range behind carriers' gateways, which private overlay networks use too.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate reports whether an address is in a network of the machine's owner, or on the machine itself.
func isPrivate(ip netip.Addr) bool { return ip.IsLoopback() || ip.IsPrivate() || shared.Contains(ip) }

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || isPrivate(ip) || ip.Zone() != "" {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// maxURL is the maximum length of an address, in bytes.
const maxURL = 1000

// CheckURL returns an error that completes a sentence such as "url …" if the text cannot be the address of a device.
func CheckURL(text string, private bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || len(text) > maxURL:
		return errors.New("must be a URL such as https://example.org/path, of at most 1000 characters")
	case u.User != nil:
		return errors.New("must have no user and no password")
	case u.Fragment != "":
		return errors.New("must have no fragment")
	case u.Scheme == "https" || u.Scheme == "http" && private:
		return nil
	case private:
		return errors.New("must begin with https://, or with http:// for an address in this network")
	}
	return errors.New("must begin with https://")
}

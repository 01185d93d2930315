package identity

import "net/netip"

// ParseAddress reads a network address, which some proxies write with a port. An IPv4 address that is written as IPv6
// becomes one of IPv4, and a zone is left out.
func ParseAddress(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		with, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = with.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// Network returns the range from which one machine may choose its address, as text: an IPv4 address, or a /64 network
// of IPv6. A text that is no address is returned as it is.
func Network(address string) string {
	addr, ok := ParseAddress(address)
	if !ok {
		return address
	}
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}

package egress

import (
	"fmt"
	"net/netip"
)

// addrKind says what an address is good for.
type addrKind int

const (
	addrPublic  addrKind = iota // anybody may be reached there
	addrPrivate                 // loopback and private networks: only if allowed
	addrNever                   // never the address of a provider
)

// prefixes4 are the special-purpose blocks of IPv4 (IANA IPv4 Special-Purpose
// Address Registry, RFC 6890 and its updates), plus multicast.
func prefixes4() map[string]addrKind {
	return map[string]addrKind{
		"0.0.0.0/8":       addrNever, // this host: reaches loopback on some systems
		"10.0.0.0/8":      addrPrivate,
		"100.64.0.0/10":   addrPrivate, // carrier-grade NAT, RFC 6598
		"127.0.0.0/8":     addrPrivate,
		"169.254.0.0/16":  addrNever, // link-local: cloud metadata
		"172.16.0.0/12":   addrPrivate,
		"192.0.0.0/24":    addrNever,
		"192.0.2.0/24":    addrNever,
		"192.88.99.0/24":  addrNever, // 6to4 relays, RFC 7526
		"192.168.0.0/16":  addrPrivate,
		"198.18.0.0/15":   addrNever,
		"198.51.100.0/24": addrNever,
		"203.0.113.0/24":  addrNever,
		"224.0.0.0/4":     addrNever,
		"240.0.0.0/4":     addrNever,
	}
}

// prefixes6 are the special-purpose blocks inside and outside of IPv6's global
// unicast space (IANA IPv6 Special-Purpose Address Registry). What lies outside
// 2000::/3 and is not listed is refused as well.
func prefixes6() map[string]addrKind {
	return map[string]addrKind{
		"::1/128":           addrPrivate,
		"fc00::/7":          addrPrivate,
		"fd00:ec2::/32":     addrNever, // metadata service of a large cloud
		"fd20:ce::/64":      addrNever, // metadata service of another
		"2001::/23":         addrNever, // protocol assignments, with Teredo
		"2001:db8::/32":     addrNever,
		"3fff::/20":         addrNever,
		"64:ff9b:1::/48":    addrNever, // local NAT64: the prefix length is unknown
		"2620:4f:8000::/48": addrNever, // AS112
		"2000::/3":          addrPublic,
		"::/0":              addrNever,
	}
}

// classify says whether ip may be connected to. An IPv6 address that carries an
// IPv4 address (mapped, NAT64, 6to4, ISATAP) counts as the worse of the two.
func classify(ip netip.Addr) addrKind {
	if !ip.IsValid() || ip.Zone() != "" {
		return addrNever // a zone means link-local, or somebody is playing
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return longest(ip, prefixes4(), addrPublic)
	}
	inner, carries, never := embedded(ip)
	switch {
	case never:
		return addrNever
	case carries && inNAT64(ip):
		return classify(inner)
	case carries:
		return max(classify(inner), longest(ip, prefixes6(), addrNever))
	}
	return longest(ip, prefixes6(), addrNever)
}

// longest returns the kind of the most specific prefix that holds ip.
func longest(ip netip.Addr, table map[string]addrKind, otherwise addrKind) addrKind {
	best, kind := -1, otherwise
	for p, k := range table {
		if prefix := netip.MustParsePrefix(p); prefix.Contains(ip) && prefix.Bits() > best {
			best, kind = prefix.Bits(), k
		}
	}
	return kind
}

func inNAT64(ip netip.Addr) bool {
	return netip.MustParsePrefix("64:ff9b::/96").Contains(ip)
}

// embedded returns the IPv4 address inside an IPv6 one. never is true for
// deprecated forms that no provider uses.
func embedded(ip netip.Addr) (inner netip.Addr, carries, never bool) {
	b := ip.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case inNAT64(ip): // RFC 6052
		return last, true, false
	case b[0] == 0x20 && b[1] == 0x02: // 6to4, RFC 3056
		return netip.AddrFrom4([4]byte(b[2:6])), true, false
	case (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214
		return last, true, false
	case netip.MustParsePrefix("::/96").Contains(ip) && ip != netip.IPv6Loopback(): // IPv4-compatible
		return last, true, true
	}
	return netip.Addr{}, false, false
}

// checkAddr refuses ip unless the policy lets it through.
func checkAddr(ip netip.Addr, allowPrivate, onlyPrivate bool) error {
	switch kind := classify(ip); {
	case kind == addrNever:
		return fmt.Errorf("%w: %s is a special-purpose address", ErrAddress, ip)
	case kind == addrPrivate && !allowPrivate:
		return fmt.Errorf("%w: %s is a private or loopback address; allow private addresses in the configuration if that is meant", ErrAddress, ip)
	case kind == addrPublic && onlyPrivate:
		return fmt.Errorf("%w: %s is public, and unencrypted HTTP is only for private addresses", ErrAddress, ip)
	}
	return nil
}
